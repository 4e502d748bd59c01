"""Lets the bench, which looks for adapters in a folder of its own, find ours by the name adapters.keras_transformer."""

import importlib.util
import pathlib
import sys


class _Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "adapters.keras_transformer":
            return importlib.util.spec_from_file_location(name, pathlib.Path(__file__).parents[1] / "adapter.py")
        return None


sys.meta_path.append(_Finder)
