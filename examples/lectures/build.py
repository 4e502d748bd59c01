"""Runs the lectures, and writes each as a notebook and as a page.

    python examples/lectures/build.py --output lectures

The scripts are notebooks in jupytext's percent format, which editors open as such; `python 01_one_head.py` runs one
without pictures.
"""

import argparse
import pathlib

import rich.progress

from zoo.extras import exit_without


def main() -> None:
    """Writes NAME.ipynb and NAME.html of each lecture."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", required=True, help="folder to write to")
    parser.add_argument("names", nargs="*", help="numbers of lectures, such as 01; all by default")
    options = parser.parse_args()
    exit_without("This example", "jupytext", "nbconvert", "ipykernel", "matplotlib")
    import jupytext
    import nbconvert
    import nbformat
    from nbconvert.preprocessors import ExecutePreprocessor

    folder = pathlib.Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    scripts = [path for path in sorted(pathlib.Path(__file__).parent.glob("[0-9]*.py"))]
    scripts = [path for path in scripts if not options.names or path.name[:2] in options.names]
    for path in rich.progress.track(scripts, "lectures"):
        notebook = jupytext.read(path)
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        ExecutePreprocessor(timeout=3600).preprocess(notebook, {"metadata": {"path": str(folder)}})
        nbformat.write(notebook, folder / f"{path.stem}.ipynb")
        page, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
        (folder / f"{path.stem}.html").write_text(page, "utf-8")


if __name__ == "__main__":
    main()
