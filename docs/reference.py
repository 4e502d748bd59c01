"""Pages of the reference, in Markdown, from docstrings. The sources are read, not imported."""

import ast
import html
import pathlib
import re
from collections.abc import Iterator

import griffe

ROOT = pathlib.Path(__file__).resolve().parents[1]
SECTIONS = "Args", "Call arguments", "Attributes", "Returns", "Yields", "Raises"
_LISTS = "Args", "Call arguments", "Attributes", "Raises"
PAGES = {
    "keras_transformer": ("Layers", ["keras_transformer"]),
    "decoding": ("Decoding", ["keras_transformer.decoding"]),
    "losses": ("Training", ["keras_transformer.training"]),
    "verify": ("Verification", ["keras_transformer.verification"]),
    "visualize": ("Pictures", ["keras_transformer.visualize"]),
    "zoo": ("Zoo", ["zoo"]),
    "configuration": (
        "Configuration",
        ["zoo.config", "zoo.training_config", "zoo.image_config", "zoo.speech_config", "zoo.detection_config"],
    ),
    "predictors": (
        "Predictors",
        [
            *("zoo.serving.predictor", "zoo.serving.sentence_encoder", "zoo.translation.predictor"),
            *("zoo.classification.predictor", "zoo.labelling.predictor", "zoo.serving.word_predictor"),
            *("zoo.parsing.predictor", "zoo.language_modelling.predictor", "zoo.pretraining.predictor"),
            *("zoo.images.predictor", "zoo.detection.predictor", "zoo.recognition.predictor"),
        ],
    ),
    "tasks": ("Training runs", ["zoo.training.tasks", "zoo.training.scores", "zoo.reports.outcomes"]),
}


def write_reference(folder: pathlib.Path) -> list[str]:
    """Writes the pages of the reference to a folder; returns their names."""
    packages = {name: griffe.load(name, search_paths=[ROOT]) for name in ("keras_transformer", "zoo")}
    folder.mkdir(parents=True)
    for name, (title, modules) in PAGES.items():
        parts = [f"# {title}\n"]
        for module in modules:
            first, _, rest = module.partition(".")
            found = packages[first][rest] if rest else packages[first]
            parts += [f"## {module}\n", *_text(found.docstring), *_members(found)]
        (folder / f"{name}.md").write_text("\n".join(parts), "utf-8")
    return [*PAGES]


def write_house(folder: pathlib.Path) -> list[str]:
    """Writes a page for each folder of both packages, with a line for each file; returns their names."""
    names = []
    for package in ("keras_transformer", "zoo"):
        files = sorted((ROOT / package).rglob("*.py"))
        for inner in sorted({path.parent for path in files}):
            if inner.name == "weights":
                continue
            rows = [f"# {inner.relative_to(ROOT)}\n", "| file | has |\n|---|---|"]
            for path in files:
                if path.parent == inner and (text := _first_line(path)):
                    rows.append(f"| `{path.name}` | {_escaped(text)} |")
            names.append("-".join(inner.relative_to(ROOT).parts))
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{names[-1]}.md").write_text("\n".join(rows) + "\n", "utf-8")
    return names


def _first_line(path):
    return (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").partition("\n")[0].replace("|", "\\|")


def _members(module) -> Iterator[str]:
    """Yields the lines of the public classes and functions of a module, of `__all__` if there is one."""
    names = module.exports or [name for name, each in module.members.items() if not each.is_alias]
    for name in map(str, names):
        member = module.members.get(name)
        if member is None or name.startswith("_"):
            continue
        member = member.final_target if member.is_alias else member
        if member.is_module:  # Of the same name as the function in it, which the package exports.
            member = member.members.get(name, member)
        if member.docstring is None or not (member.is_class or member.is_function):
            continue
        yield f"### {name}\n"
        yield from _signature(name, member)
        yield from _text(member.docstring)
        if member.is_class:
            for method in member.members.values():
                if method.is_function and not method.name.startswith("_") and method.docstring:
                    yield f"#### {name}.{method.name}\n"
                    yield from _signature(method.name, method)
                    yield from _text(method.docstring)


def _signature(name, member) -> Iterator[str]:
    own = member.members.get("__init__", member) if member.is_class else member
    shown, star = [], False
    for each in own.parameters if hasattr(own, "parameters") else ():
        if each.name in ("self", "cls"):
            continue
        kind = each.kind.value if each.kind else ""
        prefix = {"variadic positional": "*", "variadic keyword": "**"}.get(kind, "")
        if kind == "keyword-only" and not star:
            shown.append("*")
        star = star or kind in ("keyword-only", "variadic positional")
        text = prefix + each.name + (f": {each.annotation}" if each.annotation else "")
        if each.default is not None and not prefix:
            text += f" = {each.default}" if each.annotation else f"={each.default}"
        shown.append(text)
    returns = f" -> {own.returns}" if member.is_function and own.returns else ""
    one_line = f"{name}({', '.join(shown)}){returns}"
    lines = one_line if len(one_line) < 90 else f"{name}(\n    " + ",\n    ".join(shown) + f",\n){returns}"
    yield f"```python\n{lines}\n```\n"


def _text(docstring) -> Iterator[str]:
    """Yields a docstring as Markdown; names and descriptions of its sections become lists."""
    if docstring is None:
        return
    title, lines = None, []
    for line in [*docstring.value.splitlines(), "Raises:"]:
        if line.rstrip(":") in SECTIONS and line.endswith(":"):
            if title:
                yield f"**{title}**\n"
            yield ("\n".join(_entries(lines)) if title in _LISTS else _paragraphs(lines)) + "\n"
            title, lines = line.rstrip(":"), []
        else:
            lines.append(line)


def _entries(lines) -> Iterator[str]:
    """Yields a list item for each entry `name: description`, whose further lines are indented more."""
    for line in lines:
        entry = re.match(r"    (\S[^:`]*): (.*)", line)
        if entry:
            names = ", ".join(f"`{name}`" for name in entry[1].split(", "))
            yield f"- {names}: {_escaped(entry[2])}"
        elif line.strip():
            yield f"  {_escaped(line.strip())}"


def _paragraphs(lines):
    """Returns text as it is, but for what HTML would take for a tag; formulas are indented, and so become code."""
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    least = min(indents, default=0)
    lines = [line[least:] for line in lines]
    return "\n".join(line if line.startswith("    ") else _escaped(line) for line in lines)


def _escaped(text):
    """Escapes what is not code."""
    parts = re.split(r"(`+[^`]*`+)", text)
    return "".join(part if part.startswith("`") else _plain(part) for part in parts)


def _plain(text):
    return re.sub(r"([*_\[\]$])", r"\\\1", html.escape(text, quote=False))
