"""Optional packages: whether they are installed, and the command that installs them. Standard library only."""

import importlib.metadata
import importlib.util
import re
import shlex
import shutil
import sys

_DISTRIBUTION = "keras-transformer-zoo"
_PACKAGES = {
    "PIL": "pillow",
    "griffe": "griffelib",
    "mlflow": "mlflow-skinny",
}  # Names of packages, where they differ from those of their modules.
_PREFERRED = {"nltk": "NLTK"}  # Names in sentences, where they differ from those of the packages.


def require(purpose: str, *modules: str) -> None:
    """Checks, without importing them, that the modules of optional packages are installed.

    Args:
        purpose: What needs them, as the subject of a sentence in the third person singular: "Drawing".
        modules: Names of the modules, such as "tensorflow_text".

    Raises:
        ImportError: If one is missing; the message contains the command that installs the missing ones.
    """
    # A module that is imported is not looked for.
    missing = [name for name in modules if sys.modules.get(name) is None and importlib.util.find_spec(name) is None]
    if missing:
        packages = " and ".join(_PREFERRED.get(name, _package(name)) for name in missing)
        raise ImportError(f"{purpose} needs {packages}. Install it: {install_command(*missing)}")


def exit_without(purpose: str, *modules: str) -> None:
    """Ends a script with one line, instead of a traceback, if a package is missing; arguments as for `require`."""
    try:
        require(purpose, *modules)
    except ImportError as error:
        raise SystemExit(f"error: {error}") from None


def install_command(*modules: str) -> str:
    """Returns the command that installs the packages of some modules into the environment of this process.

    It names those packages, not an extra of this one: that works wherever this package was installed from, without a
    copy of its source, and changes nothing else.
    """
    versions = _versions()
    names = map(_package, modules)
    packages = " ".join(shlex.quote(versions.get(name, name)) for name in names)
    python = "python" if shutil.which("python") == sys.executable else shlex.quote(sys.executable)
    return f"{python} -m pip install {packages}"


def _package(module):
    return _PACKAGES.get(module, module.replace("_", "-"))


def _versions():
    """Returns the requirement of each optional package by its name, such as "sacrebleu>=2.4"."""
    try:
        requirements = importlib.metadata.requires(_DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:  # A copy of the source that is not installed.
        return {}
    found = (text.partition(";")[0].strip() for text in requirements)
    return {re.match(r"[\w.-]+", text)[0].lower(): text for text in found}
