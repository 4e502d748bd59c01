"""The files of a folder or of a zip file. Standard library only."""

import zipfile

from zoo.corpora.byte_lines import PathLike, existing_path


class FileArchive:
    """The files of a folder or of a zip file, without hidden ones.

    Nothing of a zip file is unpacked, so names cannot lead anywhere.

    Args:
        path: The folder or the zip file.

    Raises:
        FileNotFoundError: If nothing exists there.
        ValueError: If it is neither.
    """

    def __init__(self, path: PathLike):
        self._path = existing_path(path)
        self.is_zip = not self._path.is_dir()
        if self.is_zip and not zipfile.is_zipfile(self._path):
            raise ValueError(f"{path} must be a zip file or a folder. Received: another file. Pass one of both.")
        self._zip = zipfile.ZipFile(self._path) if self.is_zip else None

    def names(self) -> list[str]:
        """Returns the names of all files, in order, with "/" between folders."""
        if self._zip is not None:
            found = (name for name in self._zip.namelist() if not name.endswith("/"))
        else:
            files = (path for path in self._path.rglob("*") if path.is_file())
            found = ("/".join(path.relative_to(self._path).parts) for path in files)
        return sorted(name for name in found if not _is_hidden(name))

    def read(self, name: str) -> bytes:
        """Returns the content of a file; nothing for a damaged or encrypted one of a zip file."""
        if self._zip is None:
            return (self._path / name).read_bytes()
        try:
            return self._zip.read(name)
        except (zipfile.BadZipFile, RuntimeError, OSError):  # A wrong checksum, or encrypted.
            return b""


def _is_hidden(name):
    return any(part.startswith((".", "__MACOSX")) for part in name.split("/"))
