"""Tells whether another distribution claims the import name `keras_transformer`; imports the standard library only."""

from importlib import metadata


def name_conflict() -> str | None:
    """Describes the conflict with the Keras 2 project `keras-transformer` if that is installed, and how to end it."""
    try:
        version = metadata.version("keras-transformer")
    except metadata.PackageNotFoundError:
        return None
    return (
        "Two packages claim the name `keras_transformer`: this one (distribution keras-transformer-zoo) and the Keras "
        f"2 project keras-transformer {version}, whose files may have overwritten ours. Run `pip uninstall "
        "keras-transformer`, then `pip install --force-reinstall --no-deps keras-transformer-zoo`."
    )
