"""README.md and docs: their Python blocks run; commands, settings, names, files and links that they mention exist."""

import argparse
import ast
import dataclasses
import importlib
import pathlib
import re
import shlex
from typing import NamedTuple

import keras
import pytest
import strategies
import tensorflow as tf

import zoo
from zoo import config, detection_config, image_config, speech_config

ROOT = pathlib.Path(__file__).parents[1]
# The blocks of docs/adding-a-task.md are files of a task, which tests/test_adding_a_task.py runs.
TOP = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES = [*TOP, *(page for page in sorted(ROOT.glob("docs/*.md")) if page.name != "adding-a-task.md")]
TEXTS = {page: page.read_text("utf-8") for page in PAGES}
MODULES = ["zoo", *(f"zoo.{task}" for task in zoo.tasks())]
BLOCK = re.compile(r"^(?:<!-- (?P<mark>.*?) -->\n)?```(?P<language>\w*)\n(?P<code>.*?)^```$", re.M | re.S)
NOT_RUN = re.compile(r"not run: \w+(?: \S+){2,}")
ZOO_COMMAND = re.compile(r"python3? -m (zoo[\w.]*)(.*)")
SCRIPT = re.compile(r"(?:python|sh|pytest) ((?:benchmarks|examples|tests)/\S+)(.*)")


class Block(NamedTuple):
    """A fenced block of a page and the number of the line that it begins behind."""

    mark: str | None
    language: str
    code: str
    line: int


def blocks(page):
    text = TEXTS[page]
    return [Block(*found.groups(), text.count("\n", 0, found.start("code"))) for found in BLOCK.finditer(text)]


def spans(page):
    """What stands between backticks, blocks apart."""
    return re.findall(r"`([^`\n]+)`", BLOCK.sub("", TEXTS[page]))


def lines(page):
    """Lines of shell blocks, each with its continuations, and commands between backticks."""
    code = [block.code for block in blocks(page) if block.language in ("sh", "yaml")]
    return re.sub(r"\\\n\s*", " ", "\n".join(code)).splitlines() + spans(page)


def name(page):
    return page.relative_to(ROOT).as_posix()


def of_pages(pages=PAGES):
    return pytest.mark.parametrize("page", pages, ids=name)


def with_python():
    """Pages with Python blocks; those that load or train models are slow, and that which exports four long."""
    for page in PAGES:
        code = "".join(block.code for block in blocks(page) if block.language == "python" and not block.mark)
        if code:
            marks = [pytest.mark.slow] if re.search(r"zoo\.load|\.fit\(", code) else []
            yield pytest.param(page, marks=[*marks, pytest.mark.long] if page.stem == "serving" else marks)


@of_pages([*with_python()])
def test_python_blocks_run(page, tmp_path, monkeypatch, capsys):
    """One after the other, in one namespace and an empty folder; a block `output` has what the one before printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERAS_TRANSFORMER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tf.distribute, "MirroredStrategy", strategies.SharedStrategy)
    namespace, printed = {"__name__": page.stem}, ""
    for block in blocks(page):
        if block.language == "python" and not block.mark:
            exec(compile("\n" * block.line + block.code, page, "exec"), namespace)
            printed = capsys.readouterr().out
        elif block.language == "output":
            shown, real = ([line.rstrip() for line in text.strip("\n").splitlines()] for text in (block.code, printed))
            assert shown == real, f"{name(page)}, line {block.line}, does not have what is printed"


@of_pages()
def test_only_python_blocks_are_left_out_and_for_a_reason(page):
    marks = [block for block in blocks(page) if block.mark]
    comments = re.findall(r"^<!--", TEXTS[page], re.M)
    assert len(comments) == len(marks), "a comment that belongs to no block"
    for block in marks:
        assert block.language == "python" and NOT_RUN.fullmatch(block.mark), block
        for node in ast.walk(ast.parse(block.code)):
            if isinstance(node, ast.ImportFrom):
                assert all(resolved(f"{node.module}.{alias.name}") for alias in node.names), block


def commands_of(module):
    """What has the `parser` of a command line."""
    found = importlib.import_module(f"{module}.__main__")
    return getattr(found, "COMMANDS", found)


def check_command(module, arguments):
    """Parses arguments by the parser of the command, and its settings by those of the recipe."""
    commands = commands_of(module)
    options = commands.parser().parse_args(arguments)
    if module == "zoo" and arguments[0] == "estimate":
        commands = commands_of(f"zoo.{options.task}")
    if getattr(options, "set", None):
        commands.recipe(options)
    if module == "zoo" and arguments[0] == "plan":
        check_command(f"zoo.{options.task}", ["train", *options.arguments, "--output", "runs"])


def zoo_commands(page):
    """(module, arguments) of each `python -m zoo...`, without what the shell takes for itself."""
    for line in lines(page):
        for module, rest in ZOO_COMMAND.findall(line):
            rest = rest.removesuffix("'") if rest.count("'") % 2 else rest  # The end of a script in quotation marks.
            words = shlex.split(rest, comments=True)
            ends = [number for number, word in enumerate(words) if word in ("<", ">", "|")]
            yield module, words[: min(ends, default=len(words))]


@of_pages()
def test_commands_are_understood(page, capsys):
    for module, arguments in zoo_commands(page):
        try:
            check_command(module, arguments)
        except (SystemExit, ValueError, ImportError) as error:
            told = capsys.readouterr().err.strip().splitlines()[-1:] or [str(error)]
            pytest.fail(f"python -m {module} {shlex.join(arguments)}: {told[0]}")


def test_commands_are_found():
    """Every task and each of its commands is somewhere in the pages; the test above has something to do."""
    shown = {(module, arguments[0]) for page in PAGES for module, arguments in zoo_commands(page)}
    for module in MODULES:
        parser = commands_of(module).parser()
        (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
        assert {(module, command) for command in commands.choices} <= shown


def option_strings(parser):
    """All options of a parser and of its commands."""
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from option_strings(command)


@of_pages()
def test_options_and_settings_exist(page):
    known = {option for module in MODULES for option in option_strings(commands_of(module).parser())}
    fields = {
        "training": {field.name for field in dataclasses.fields(config.TrainingConfig)},
        "model": {
            field.name
            for module in (config, detection_config, image_config, speech_config)
            for value in vars(module).values()
            if isinstance(value, type) and issubclass(value, config.BlockConfig)
            for field in dataclasses.fields(value)
        },
    }
    for span in spans(page):
        if not (ZOO_COMMAND.search(span) or span.startswith("pip ") or span == "--editable"):
            assert {*re.findall(r"(?<!\S)--[a-z][a-z-]*", span)} <= known, span
        for part, setting in re.findall(r"\b(training|model)\.([a-z_]+)\b(?!\.)", span):
            file = setting in ("safetensors", "onnx", "tflite", "json")
            of_keras = part == "model" and (hasattr(keras.Model, setting) or file)
            of_library = "keras_transformer.training" in span
            assert setting in fields[part] or of_keras or of_library, span


@of_pages()
def test_scripts_targets_and_extras_exist(page):
    makefile, setup = ((ROOT / file).read_text("utf-8") for file in ("Makefile", "setup.py"))
    for line in lines(page):
        for script, rest in SCRIPT.findall(line):
            assert (ROOT / script).exists(), line
            source = (ROOT / script).read_text("utf-8") if (ROOT / script).is_file() else ""
            for word in shlex.split(rest, comments=True):
                if re.fullmatch("--[a-z-]+|[a-z]+", word):
                    assert word in source, line
        for target in re.findall(r"^make ([a-z-]+)", line):
            assert re.search(rf"^{target}:", makefile, re.M), line
        for extras in re.findall(r"'\.\[([\w,]+)\]'", line):
            assert all(f'"{extra}": ' in setup for extra in extras.split(",")), line


@of_pages()
def test_names_and_files_exist(page):
    for span in spans(page):
        for dotted in re.findall(r"^(?:keras_transformer|zoo)(?:\.[a-z]\w+)+", span):
            if not resolved(dotted):
                pytest.fail(f"{dotted} is neither a module nor in one")
        for path in re.findall(r"^(?:benchmarks|docs|examples|keras_transformer|tests|zoo)/[\w./-]*", span):
            assert (ROOT / path).exists(), path
        for variable in re.findall(r"KERAS_TRANSFORMER_\w+", span):
            assert any(variable in path.read_text("utf-8") for path in ROOT.glob("zoo/**/*.py")), variable


def resolved(dotted):
    module, *attributes = dotted.split(".")
    thing = importlib.import_module(module)
    for attribute in attributes:
        module = f"{module}.{attribute}"
        if not hasattr(thing, attribute):
            try:
                importlib.import_module(module)
            except ModuleNotFoundError:
                return False
        thing = getattr(thing, attribute)
    return True


def anchors(page):
    """The anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", page.read_text("utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@of_pages([*PAGES, ROOT / "docs/adding-a-task.md", ROOT / "benchmarks/README.md"])
def test_links_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)]*)\)", BLOCK.sub("", page.read_text("utf-8"))):
        if "://" not in target:
            place = page.parent / target if target else page
            assert place.exists(), target
            assert not anchor or anchor in anchors(place), f"{target}#{anchor}"


def test_the_readme_leads_to_every_page_and_is_short():
    text = TEXTS[ROOT / "README.md"]
    assert len(text.splitlines()) <= 150
    for page in ROOT.glob("docs/*.md"):
        assert f"](docs/{page.name}" in text, page


def test_the_readme_lists_what_is_shipped():
    """Its table has what `python -m zoo list` prints."""
    text = TEXTS[ROOT / "README.md"]
    for card in zoo.list():
        score = "{value:.2f} {metric}".format(**card["scores"][0]) if "scores" in card else "none"
        cells = f"`{card['name']}`", f"{card['parameters']:,}", str(card["megabytes"]), score, card["licence_short"]
        assert f"| {' | '.join(cells)} |\n" in text


def test_the_citation_has_the_version_of_the_package():
    (version,) = re.findall(r'version="([\d.]+)"', (ROOT / "setup.py").read_text("utf-8"))
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
