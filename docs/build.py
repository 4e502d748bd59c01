"""Builds the documentation as a site, which needs no network, neither to build nor to read.

    python docs/build.py --output build/site

Pages are those of this folder, which also read well as they are; the reference is made from docstrings.
"""

import argparse
import pathlib
import re
import shutil
import tempfile

from zoo.extras import exit_without

ROOT = pathlib.Path(__file__).resolve().parents[1]
OTHERS = {"CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "benchmarks/README.md"}
GROUPS = {
    "Start": "installation first-model which-recipe translation training",
    "Layers and models": "layers models families verification pictures quantization non-autoregressive",
    "Tasks": "robust-translators classification labelling parsing images detection speech language-models pretraining",
    "Run": "checkpoints several-machines wmt14 large-corpora serving web coming-from when-something-is-wrong",
    "Change": "inside development adding-a-task contributing security benchmarks changelog",
}
SETTINGS = """
project, html_title = "keras_transformer", "Keras Transformer"
extensions = ["myst_parser", "sphinx_copybutton"]
html_theme, html_show_copyright, html_show_sphinx = "furo", False, False
html_copy_source = html_show_sourcelink = False
myst_heading_anchors, myst_enable_extensions = 4, []
suppress_warnings = ["misc.highlighting_failure"]
"""


def main() -> int:
    """Builds the site; the status is that of Sphinx, which fails on warnings."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", required=True, type=pathlib.Path, help="folder to write")
    options = parser.parse_args()
    exit_without("The site", "sphinx", "myst_parser", "furo", "sphinx_copybutton", "griffe")
    from sphinx.cmd.build import main as sphinx_build

    if options.output.exists() and not (options.output / ".buildinfo").exists():  # Sphinx writes that file.
        parser.error(f"--output must be a new folder, or a site to replace. Received: {options.output}.")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "source"
        collect(source)
        shutil.rmtree(options.output, ignore_errors=True)
        arguments = ["-W", "--keep-going", "-q", "-n", "-j", "2", "-d", f"{folder}/trees"]
        return sphinx_build([*arguments, str(source), str(options.output)])


def collect(source: pathlib.Path) -> None:
    """Writes all pages, with their links changed to the places that they have there."""
    from reference import write_house, write_reference

    source.mkdir(parents=True)
    (source / "conf.py").write_text(SETTINGS, "utf-8")
    shutil.copy(ROOT / "LICENSE", source)
    for path in (ROOT / "docs").iterdir():
        if path.suffix == ".md":
            (source / path.name).write_text(moved_links(path.read_text("utf-8")), "utf-8")
        elif path.suffix in (".svg", ".png"):
            shutil.copy(path, source)
    for name in OTHERS:
        (source / f"{page_name(name)}.md").write_text(moved_links((ROOT / name).read_text("utf-8")), "utf-8")
    groups = [
        *GROUPS.items(),
        ("Reference", " ".join(f"reference/{name}" for name in write_reference(source / "reference"))),
    ]
    house = write_house(source / "house")
    inside = (source / "inside.md").read_text("utf-8")
    (source / "inside.md").write_text(inside + "\n" + tree("Folders", [f"house/{name}" for name in house]), "utf-8")
    trees = [tree(title, names.split()) for title, names in groups]
    readme = moved_links((ROOT / "README.md").read_text("utf-8"))
    (source / "index.md").write_text("\n".join([readme, *trees]), "utf-8")


def tree(title: str, names: list[str]) -> str:
    """Returns a table of contents that is only shown beside the pages."""
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {title}", "", *names, "```", ""])


def page_name(name: str) -> str:
    """Returns the name of a page that lies outside of the folder of the documentation."""
    return "benchmarks" if name.startswith("benchmarks/") else pathlib.Path(name).stem.lower()


def moved_links(text: str) -> str:
    """Returns a page with links to the places that pages have in the site."""

    def moved(match):
        target, _, part = match[1].partition("#")
        name = re.sub(r"^(\.\./)*", "", target)
        if name in OTHERS:
            name = f"{page_name(name)}.md"
        elif name == "README.md":
            name = "index.md"
        return f"]({name.removeprefix('docs/')}{'#' if part else ''}{part})"

    return re.sub(r"\]\(((?!https?:|#|mailto:)[^) ]+)\)", moved, text)


if __name__ == "__main__":
    raise SystemExit(main())
