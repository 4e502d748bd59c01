"""Readers of recordings with their texts: manifests, folders, tensorflow-datasets. No Keras."""

import os
import pathlib
import typing
import zipfile

import numpy as np

from zoo.corpora.byte_lines import PathLike, existing_path
from zoo.corpora.reading import DatasetRows, Reader, TableRows, read_lines, text_features
from zoo.corpora.reports import Report
from zoo.recognition.sound import NoSound, convert_samples, decode_sound, is_silent

SUFFIXES = ".wav", ".flac", ".ogg", ".mp3", ".aiff", ".aif"


class Example(typing.NamedTuple):
    """A recording, int16 `[S]` at the rate of the model, its text, and the name of its file."""

    samples: np.ndarray
    text: str
    name: str


class File(typing.NamedTuple):
    """A recording that is not read yet: `load(sampling_rate)` returns samples."""

    name: str
    text: str
    load: typing.Callable[[int], np.ndarray]


class SpeechReader(Reader):
    """Reads recordings with their texts; those that cannot be used are left out, and named in `report`.

    Args:
        files: Iterable of `File`, which can be iterated repeatedly.
        max_seconds: Longer recordings are left out.

    Attributes:
        sampling_rate: Samples a second of the examples; a task sets that of its model.
    """

    summary = "{recordings:,} recordings ({minutes:,} minutes) from {lines:,} entries"
    notes = "missing", "empty", "no_sound_file", "truncated", "not_finite", "silent", "too_long", "no_text"
    sampling_rate = 16_000

    def __init__(self, files: typing.Iterable[File], max_seconds: float = 30.0):
        super().__init__(files)
        if not max_seconds > 0:
            raise ValueError(f"`max_seconds` must be positive. Received: max_seconds={max_seconds}.")
        self.max_seconds = max_seconds

    def show(self, example):
        return f"{example.name}, {len(example.samples) / self.sampling_rate:.1f} s: {example.text}"

    def texts(self) -> typing.Iterator[str]:
        """Yields the texts of all entries, without reading recordings."""
        for file in self._rows:
            if file.text.strip() and (self.part is None or self.part(file.name)):
                yield " ".join(file.text.split())

    def numbered(self):
        self.report = report = Report(self.summary, *self.notes, of="file")
        samples_read = 0
        for number, file in enumerate(self._rows, start=1):
            report.lines = number
            if self.part is not None and not self.part(file.name):
                continue
            samples, reason = self._samples(file)
            if reason:
                getattr(report, reason).add(file.name)
                continue
            example = Example(samples, " ".join(file.text.split()), file.name)
            samples_read += len(samples)
            report.recordings += 1
            report.minutes = round(samples_read / self.sampling_rate / 60)
            report.first = report.first or (number, example)
            yield number, example

    def _samples(self, file):
        """Returns the samples of a file and "", or None and the note of the report that the file belongs to."""
        if not file.text.strip():
            return None, "no_text"
        try:
            samples = file.load(self.sampling_rate)
        except (FileNotFoundError, KeyError):
            return None, "missing"
        except NoSound as error:
            return None, error.reason
        if len(samples) > self.max_seconds * self.sampling_rate:
            return None, "too_long"
        return samples, "silent" if is_silent(samples) else ""


class ManifestFiles:
    """Yields the recordings that a table names, in its order.

    Args:
        path: A tab-separated or CSV file, with a header that has the columns `audio` and `text`, or with `columns`.
        columns: Numbers of the columns of the file's name and of the text, from 0, of a table without header.
        audio: Folder or zip file with the recordings; by default the folder of the table.
    """

    def __init__(self, path: PathLike, columns: typing.Sequence[int] | None = None, audio: PathLike | None = None):
        commas = os.fspath(path).removesuffix(".gz").endswith(".csv")
        self.header = columns is None
        if columns is None:
            columns = _named_columns(path, commas)
        self._rows = TableRows(path, columns, commas)
        self._audio = existing_path(path).parent if audio is None else existing_path(audio)
        if self._audio.is_file() and not zipfile.is_zipfile(self._audio):
            raise ValueError(f"`audio` must be a folder or a zip file. Received: {self._audio}. Pass one of both.")

    @property
    def columns(self) -> tuple[int, ...]:
        """The numbers of the columns that are read."""
        return self._rows.columns

    def __iter__(self):
        archive = zipfile.ZipFile(self._audio) if self._audio.is_file() else None
        for line, row in enumerate(self._rows):
            if row is None or line == 0 and self.header:
                continue
            name, text = (cell.decode("utf-8", "replace").strip() for cell in row)
            yield File(name, text, self._loader(name, archive))

    def _loader(self, name, archive):
        def load(sampling_rate):
            if archive is None:
                return decode_sound((self._audio / name).read_bytes(), sampling_rate)
            try:
                content = archive.read(name)
            except (zipfile.BadZipFile, RuntimeError):  # A wrong checksum, or encrypted.
                content = b""
            return decode_sound(content, sampling_rate)

        return load


class FolderFiles:
    """Yields the recordings of a folder, sorted by name, whose texts are beside them.

    The text of NAME.wav is in NAME.txt, or in a line "NAME text" of a file in the same folder that ends in
    `.trans.txt`, as in LibriSpeech. Recordings without a text have an empty one.
    """

    def __init__(self, path: PathLike):
        self._path = existing_path(path)

    def __iter__(self):
        texts = {}
        for path in sorted(self._path.rglob("*.trans.txt")):
            for line in read_lines(path):
                name, _, text = line.strip().partition(" ")
                texts[path.parent / name] = text
        for path in sorted(self._path.rglob("*")):
            if path.suffix.lower() in SUFFIXES and not any(part.startswith(".") for part in path.parts[-2:]):
                beside, text = path.with_suffix(".txt"), texts.get(path.with_suffix(""), "")
                if not text and beside.exists():
                    text = " ".join(read_lines(beside))
                yield File(os.fspath(path.relative_to(self._path)), text, _file_loader(path))


class DatasetFiles:
    """Yields the recordings of a data set of tensorflow-datasets that has a feature of audio and one of text."""

    def __init__(self, name: str, split: str, data_dir: PathLike | None):
        self._rows = DatasetRows(name, None, split, data_dir, "features", _audio_and_text)
        audio = self._rows._builder.info.features[self._rows.features[0]]
        self._rate = getattr(audio, "sample_rate", None) or 16_000

    def __iter__(self):
        for number, (samples, text) in enumerate(self._rows):
            yield File(str(number), text.decode("utf-8", "replace"), _array_loader(samples, self._rate))


def open_recordings(
    data: PathLike,
    *,
    columns: typing.Sequence[int] | None = None,
    audio: PathLike | None = None,
    split: str = "train",
    data_dir: PathLike | None = None,
    max_seconds: float = 30.0,
) -> SpeechReader:
    """Opens recordings with their texts.

    Args:
        data: A table as for `ManifestFiles`, a folder as for `FolderFiles`, or "tfds:NAME".
        columns, audio: As for `ManifestFiles`.
        split, data_dir: As for `zoo.corpora.reading.DatasetRows`.
        max_seconds: Longer recordings are left out.
    """
    if os.fspath(data).startswith("tfds:"):
        files = DatasetFiles(os.fspath(data).removeprefix("tfds:"), split, data_dir)
    elif pathlib.Path(data).is_dir():
        files = FolderFiles(data)
    else:
        files = ManifestFiles(data, columns, audio)
    return SpeechReader(files, max_seconds)


def _file_loader(path):
    return lambda sampling_rate: decode_sound(path.read_bytes(), sampling_rate)


def _array_loader(samples, rate):
    samples = np.asarray(samples)
    if samples.dtype.kind in "iu":  # tensorflow-datasets has 16-bit samples as int64.
        samples = samples.astype("int16")
    return lambda sampling_rate: convert_samples(samples, rate, sampling_rate)


def _named_columns(path, commas):
    """Returns the numbers of the columns `audio` and `text` of a table with a header."""
    first = next(iter(read_lines(path)), "")
    names = [name.strip().strip('"').lower() for name in first.split("," if commas else "\t")]
    if not {"audio", "text"} <= {*names}:
        raise ValueError(
            "A table of recordings must have a header with the columns `audio` and `text`. Received: "
            f"{first[:80]!r} in {path}. Add one, or select the columns of file and text by --columns, such as "
            "--columns 0 1."
        )
    return names.index("audio"), names.index("text")


def _audio_and_text(info):
    audio = [name for name, feature in info.features.items() if type(feature).__name__ == "Audio"]
    texts = text_features(info)
    return [audio[0], texts[0]] if len(audio) == len(texts) == 1 else []
