"""Detection of another distribution with the import name `keras_transformer`; imports the standard library only."""

import json
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
        f"keras-transformer`, then `pip install --force-reinstall --no-deps {_origin()}."
    )


def _origin():
    """Returns what to install this package from: the address that pip has noted (PEP 610), such as a folder."""
    try:
        noted = json.loads(metadata.distribution("keras-transformer-zoo").read_text("direct_url.json"))
    except (metadata.PackageNotFoundError, TypeError):  # Not installed, or not from an address.
        return "FOLDER` with the folder of this package's source"
    return f"{'--editable ' * noted.get('dir_info', {}).get('editable', False)}{noted['url']}`"
