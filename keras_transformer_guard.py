"""Refuses `import keras_transformer` where the Keras 2 project of that import name is installed beside this one.

Loaded at the start of Python by `keras_transformer_zoo.pth`, since the other project's files, installed later, would
otherwise take the place of ours and fail with an error of their own. Costs nothing until the name is imported.
"""

import sys

MESSAGE = (
    "Two packages claim the name `keras_transformer`: this one (distribution keras-transformer-zoo) and the Keras 2 "
    "project keras-transformer {version}, whose files may have overwritten ours. Run `pip uninstall "
    "keras-transformer`, then `pip install --force-reinstall --no-deps keras-transformer-zoo`."
)


def check() -> None:
    """Raises `ImportError` if a distribution named keras-transformer is installed."""
    from importlib import metadata

    try:
        version = metadata.version("keras-transformer")
    except metadata.PackageNotFoundError:
        return
    raise ImportError(MESSAGE.format(version=version))


class _Guard:
    @staticmethod
    def find_spec(name, path=None, target=None):
        """Looks at every import and only ever minds one."""
        if name == "keras_transformer":
            check()


def install() -> None:
    """Puts the guard before all other finders."""
    sys.meta_path.insert(0, _Guard)
