"""Tests of the advice for missing packages."""

import importlib.metadata
import pathlib
import re
import shlex
import sys

import pytest

from zoo import extras


def test_installed_modules_pass():
    extras.require("Counting", "numpy", "json")


def test_missing_modules_raise_with_a_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(ImportError, match="^Scoring needs sacrebleu and no-such. Install it: ") as error:
        extras.require("Scoring", "sacrebleu", "numpy", "no_such")
    *python, module, pip, install, first, second = shlex.split(str(error.value).partition("Install it: ")[2])
    assert (module, pip, install) == ("-m", "pip", "install") and python in ([sys.executable], ["python"])
    assert first.startswith("sacrebleu") and second == "no-such"


def test_versions_are_those_of_the_package(monkeypatch):
    requirements = ["numpy>=2", 'tensorflow-text==9.9.*; extra == "text"']
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: requirements)
    assert "tensorflow-text==9.9.*" in shlex.split(extras.install_command("tensorflow_text"))

    def unknown(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", unknown)
    assert shlex.split(extras.install_command("tensorflow_text"))[-1] == "tensorflow-text"


def test_advice_is_kept_in_one_place():
    """No other file of the package tells to install a package that the registry does not have, or an extra of it."""
    root = pathlib.Path(extras.__file__).parent
    texts = {path: path.read_text("utf-8") for path in root.glob("**/*.py") if path.name != "extras.py"}
    assert not [path for path, text in texts.items() if re.search("pip install", text)]
