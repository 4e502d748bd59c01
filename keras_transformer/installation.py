"""Detection of another distribution with the import name `keras_transformer`; imports the standard library only."""

from importlib import metadata


def name_conflict() -> str | None:
    """Returns a message about the Keras 2 project `keras-transformer` if that is installed, with the way to fix it."""
    try:
        version = metadata.version("keras-transformer")
    except metadata.PackageNotFoundError:
        return None
    return (
        "Two packages claim the name `keras_transformer`: this one (distribution keras-transformer-zoo) and the Keras "
        f"2 project keras-transformer {version}, whose files may have overwritten this one's. Run `pip uninstall "
        "keras-transformer`, then `pip install --force-reinstall --no-deps keras-transformer-zoo`."
    )
