"""Checkpoints from an address: each file checked against its hash, a cut download resumed, all of them or none."""

import contextlib
import hashlib
import os
import pathlib
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator

SCHEMES = ("https", "http", "file")
_BLOCK = 1 << 20
_TIMEOUT = 60  # Seconds without a byte.
_TRIES = 3


def is_address(name: str) -> bool:
    """Whether a name is an address, such as `https://example.org/zoo/translation/en-de`."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", name) is not None


def cache_folder() -> pathlib.Path:
    """Where downloads are kept: `KERAS_TRANSFORMER_CACHE`, else `~/.cache/keras_transformer`."""
    return pathlib.Path(os.environ.get("KERAS_TRANSFORMER_CACHE") or pathlib.Path.home() / ".cache/keras_transformer")


def fetch(address: str, card_name: str, files_of: Callable[[pathlib.Path], dict[str, str]]) -> pathlib.Path:
    """The folder of a checkpoint at an address; downloaded once, then read from the cache without any network.

    Args:
        address: Of the folder, `https://`, `http://` or `file://`; with `#sha256=...` behind it, the hash that the
            card must have.
        card_name: The file that names the others.
        files_of: `folder -> {file: SHA-256}` of the files that a folder with a card has beside it.

    Raises:
        ValueError: If the address is none, a file has another hash than the card says, or a file cannot be had. What
            was downloaded by then is kept for the next try; nothing is half installed.
    """
    base, _, fragment = address.partition("#")
    pinned = fragment.removeprefix("sha256=") if fragment else None
    if base.split("://")[0].lower() not in SCHEMES or (fragment and not re.fullmatch("sha256=[0-9a-f]{64}", fragment)):
        known = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        raise ValueError(
            f"An address must begin with {known} and may end with #sha256= and 64 digits. Received: {address!r}."
        )
    base = base.rstrip("/")
    place = cache_folder() / hashlib.sha256(base.encode()).hexdigest()[:16]
    with _one_at_a_time(place):
        if not place.exists():
            part = place.with_suffix(".part")
            part.mkdir(exist_ok=True)
            _download(f"{base}/{card_name}", part / card_name, pinned)
            for name, digest in files_of(part).items():
                _download(f"{base}/{urllib.parse.quote(name)}", part / name, digest)
            os.rename(part, place)
    found = _digest(place / card_name)
    if pinned not in (None, found):
        raise ValueError(
            f"The {card_name} from {base} has not the SHA-256 {pinned} but {found}. Delete {place} to try again."
        )
    return place


def _download(address, path, digest):
    """Gets a file whole, going on where an earlier try stopped; a card without a hash is got anew."""
    if path.exists() and digest is not None and _digest(path) == digest:
        return
    path.unlink(missing_ok=True)
    part, error = path.with_name(f"{path.name}.part"), None
    if digest is None:
        part.unlink(missing_ok=True)
    for _ in range(_TRIES):
        try:
            _append(address, part)
        except (OSError, ValueError) as failure:  # A server that is away or cuts the line; an unreadable address.
            error = failure
            continue
        found = _digest(part)
        if digest in (None, found):
            os.replace(part, path)
            return
        part.unlink()
        error = f"its SHA-256 is {found} instead of {digest}"
    raise ValueError(f"{address} cannot be downloaded: {error}. What is whole is kept for the next try.")


def _append(address, part):
    """Adds to `part` what it lacks, or all if the server does not know how to go on.

    Raises:
        OSError: If the server is away, refuses, or stops before the end.
    """
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(address, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
            going_on = have and answer.status == 206
            expected = answer.headers.get("Content-Length")
            received = 0
            with open(part, "ab" if going_on else "wb") as file, _bar() as bar:
                task = bar.add_task(part.stem, total=int(expected) if expected else None)
                while block := answer.read(_BLOCK):
                    received += file.write(block)
                    bar.update(task, completed=received)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 416 and have:  # There is no more: it is whole, or another file by now.
                return
            raise OSError(f"HTTP {error.code}, {error.reason}") from None
    if expected is not None and received < int(expected):
        raise OSError(f"the server stopped after {received:,} of {int(expected):,} bytes")


def _bar():
    """A bar of bytes on stderr, if that is a terminal."""
    import rich.console
    import rich.progress

    console = rich.console.Console(stderr=True)
    columns = "{task.description}", rich.progress.BarColumn(), rich.progress.DownloadColumn()
    return rich.progress.Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _digest(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


@contextlib.contextmanager
def _one_at_a_time(place) -> Iterator[None]:
    """Processes that want the same checkpoint wait for each other, on systems with `flock`."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"{place.parent} cannot be made: {error}. Set KERAS_TRANSFORMER_CACHE to a folder.") from error
    try:
        import fcntl
    except ImportError:  # Windows.
        yield
        return
    with open(place.with_suffix(".lock"), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
