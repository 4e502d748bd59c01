"""Downloads of checkpoints: files are verified by their hashes, interrupted downloads resumed."""

import hashlib
import os
import pathlib
import re
import urllib.error
import urllib.parse
import urllib.request
import warnings
from collections.abc import Callable

from zoo.storage.lock import file_lock

SCHEMES = ("https", "http", "file")
_BLOCK = 1 << 20
_TIMEOUT = 60  # Seconds without a byte.
_ATTEMPTS = 3


def is_address(name: str) -> bool:
    """Returns whether a name is an address, such as `https://example.org/zoo/translation/en-de`."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", name) is not None


def cache_folder() -> pathlib.Path:
    """Returns the folder of downloads: `KERAS_TRANSFORMER_CACHE`, by default `~/.cache/keras_transformer`."""
    return pathlib.Path(os.environ.get("KERAS_TRANSFORMER_CACHE") or pathlib.Path.home() / ".cache/keras_transformer")


def program_cache_megabytes() -> float:
    """Returns the most that the cache of compiled programs takes: `KERAS_TRANSFORMER_XLA_CACHE`, by default 128."""
    text = os.environ.get("KERAS_TRANSFORMER_XLA_CACHE", "").strip() or "128"
    try:
        return float(text)
    except ValueError:
        raise ValueError(
            "KERAS_TRANSFORMER_XLA_CACHE must be a size in megabytes, 0 for no cache. "
            f"Received: {text!r}. Unset it for 128."
        ) from None


def fetch(address: str, card_name: str, files_of: Callable[[pathlib.Path], dict[str, str]]) -> pathlib.Path:
    """Downloads a checkpoint, if it is not in the cache, and returns its folder.

    Args:
        address: Address of the folder, `https://`, `http://` or `file://`, optionally followed by `#sha256=...`, the
            hash that the card must have.
        card_name: Name of the file that lists the others.
        files_of: Function `folder -> {file: SHA-256}` of the other files, called with a folder that has the card.

    A redirect to another host is followed with a warning, and without one if a hash is given. A redirect to http from
    https, or to anything but http and https, is an error.

    Raises:
        ValueError: If the address is invalid, or a file cannot be downloaded or has another hash than in the card. What
            was downloaded so far is kept for the next attempt, outside of the folder.
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
    if not place.exists():  # Otherwise nothing is written, so that the cache may be read-only.
        _install(base, place, card_name, pinned, files_of)
    found = _digest(place / card_name)
    if pinned not in (None, found):
        raise ValueError(
            f"The {card_name} from {base} must have the SHA-256 {pinned}. Received: {found}. Delete {place} to retry."
        )
    return place


def _install(base, place, card_name, pinned, files_of):
    """Downloads the files of a checkpoint and then moves them to `place`, unless another process does it first."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with file_lock(place.with_suffix(".lock"), wait=True):
            if place.exists():
                return
            part, told = place.with_suffix(".part"), set() if pinned is None else None
            part.mkdir(exist_ok=True)
            _download(f"{base}/{card_name}", part / card_name, pinned, told)
            for name, digest in files_of(part).items():
                _download(f"{base}/{urllib.parse.quote(name)}", part / name, digest, told)
            os.rename(part, place)
    except OSError as error:
        raise ValueError(f"{place.parent} cannot be written to: {error}. Set KERAS_TRANSFORMER_CACHE.") from error


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, and refuses those that end the encryption of https.

    Args:
        told: Other hosts that a warning was given for, to which more are added; None to give no warnings.
    """

    def __init__(self, told):
        self._told = told

    def redirect_request(self, request, file, code, message, headers, address):
        old, new = urllib.parse.urlsplit(request.full_url), urllib.parse.urlsplit(address)
        if new.scheme not in ("https", old.scheme):
            raise RefusedRedirect(
                f"a redirect must lead to https://, or stay at {old.scheme}://. Received: {address!r}; use an address "
                "without that redirect"
            )
        if self._told is not None and new.hostname not in (old.hostname, *self._told):
            self._told.add(new.hostname)
            warnings.warn(
                f"{old.hostname} redirects to {new.hostname}: {request.full_url} is downloaded from {address}. If you "
                "trust that host, add #sha256= and the hash of the card to the address.",
                stacklevel=2,
            )
        return super().redirect_request(request, file, code, message, headers, address)


class RefusedRedirect(ValueError):
    """Error of a redirect that is not followed."""


def _download(address, path, digest, told):
    """Downloads a file, resuming an earlier attempt; a card without a hash is downloaded again."""
    if path.exists() and digest is not None and _digest(path) == digest:
        return
    path.unlink(missing_ok=True)
    part, error = path.with_name(f"{path.name}.part"), None
    if digest is None:
        part.unlink(missing_ok=True)
    for _ in range(_ATTEMPTS):
        try:
            _append(address, part, told)
        except RefusedRedirect as refusal:
            raise ValueError(f"{address} cannot be downloaded: {refusal}.") from None
        except (OSError, ValueError) as failure:  # An unreachable server, a lost connection or an invalid address.
            error = failure
            continue
        found = _digest(part)
        if digest in (None, found):
            os.replace(part, path)
            return
        part.unlink()
        error = f"its SHA-256 is {found} instead of {digest}"
    raise ValueError(f"{address} cannot be downloaded: {error}. Complete files are kept for the next attempt.")


def _append(address, part, told):
    """Downloads the missing rest of `part`, or the whole file if the server cannot resume.

    Raises:
        OSError: If the server is unreachable, refuses, or stops before the end.
    """
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(address, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.build_opener(_Redirects(told)).open(request, timeout=_TIMEOUT) as response:
            resumed = have and response.status == 206
            expected = response.headers.get("Content-Length")
            received = 0
            with open(part, "ab" if resumed else "wb") as file, _progress_bar() as bar:
                task = bar.add_task(part.stem, total=int(expected) if expected else None)
                while block := response.read(_BLOCK):
                    received += file.write(block)
                    bar.update(task, completed=received)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 416 and have:  # Range not satisfiable: the file is complete, or has changed.
                return
            raise OSError(f"HTTP {error.code}, {error.reason}") from None
    if expected is not None and received < int(expected):
        raise OSError(f"the server stopped after {received:,} of {int(expected):,} bytes")


def _progress_bar():
    """Returns a progress bar on stderr, disabled if that is not a terminal."""
    import rich.console
    import rich.progress

    console = rich.console.Console(stderr=True)
    columns = "{task.description}", rich.progress.BarColumn(), rich.progress.DownloadColumn()
    return rich.progress.Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
