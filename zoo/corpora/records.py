"""TFRecord files of `tf.train.Example`, with an index that finds each record: one shard of a prepared corpus.

TensorFlow, Grain and others read the files from beginning to end; this module reads any record. It needs neither
TensorFlow nor protobuf: an example here has lists of token ids only, of which protobuf's encoding is short.
"""

import hashlib
import itertools
import json
import os
import struct
import zlib
from collections.abc import Callable, Sequence

import numpy as np
import safetensors
import safetensors.numpy

from zoo.corpora.token_rows import TokenRows

_FRAME = 12  # Bytes before the content of a record: its length, and the checksum of that.
_END = 4  # Bytes behind it: its checksum.

Checksum = Callable[[bytes], int]


def encode_examples(features: dict[str, TokenRows]) -> list[bytes]:
    """Encodes rows of non-negative integers: for each row, a serialized `tf.train.Example` with these features."""
    columns = []
    for name, rows in features.items():
        packed, key = _split_rows(rows), _field(1, name.encode())
        # Features.feature, a map from names to Feature.int64_list.value.
        columns.append([_field(1, key + _field(2, _field(3, _field(1, values)))) for values in packed])
    return [_field(1, b"".join(entries)) for entries in zip(*columns)]  # Example.features.


def decode_examples(contents: Sequence[bytes], names: Sequence[str]) -> list[list[np.ndarray]]:
    """Decodes what `encode_examples` returned: for each name, the values of each example.

    Raises:
        ValueError: If a content is none of `encode_examples`, or lacks a feature.
    """
    found = [[] for _ in names]
    for content in contents:
        values = dict(_entries(content))
        for name, rows in zip(names, found):
            if name not in values:
                raise ValueError(f"An example must have the feature {name!r}. Received: {', '.join(values) or 'none'}.")
            rows.append(values[name])
    return [_split_varints(rows) for rows in found]


def frame(content: bytes, checksum: Checksum) -> bytes:
    """Returns a content as a record of a TFRecord file; `checksum` computes CRC-32C."""
    length = struct.pack("<Q", len(content))
    return length + _masked(checksum(length)) + content + _masked(checksum(content))


def make_index(contents: Sequence[bytes], lengths: dict[str, np.ndarray], file: bytes) -> bytes:
    """Returns the index of a file with these contents, one record each.

    Args:
        contents: The contents, in order.
        lengths: Number of values `[records]` of each feature.
        file: The whole file, of which the index has the size and the SHA-256.
    """
    sizes = np.fromiter(map(len, contents), "int64", len(contents))
    starts = np.cumsum([_FRAME, *(sizes + _FRAME + _END)])[:-1]
    arrays = {"starts": starts, "sizes": sizes.astype("int32")}
    arrays["checksums"] = np.fromiter(map(zlib.crc32, contents), "uint32", len(contents))
    arrays |= {f"lengths of {name}": values.astype("int32") for name, values in lengths.items()}
    facts = {"bytes": len(file), "sha256": hashlib.sha256(file).hexdigest()}
    return safetensors.numpy.save(arrays, {"facts": json.dumps(facts)})  # One entry: of several, the order is random.


class RecordFile:
    """Reads records of one file by their numbers.

    Args:
        index: Content of the index, which `make_index` returned.
        open_file: Returns the path of the file on this machine; called when the first record is read.
        name: Name of the file in errors.

    Attributes:
        lengths: Number of values `[records]` of each feature.

    Raises:
        ValueError: If the index is damaged.
    """

    def __init__(self, index: bytes, open_file: Callable[[str], os.PathLike], name: str):
        try:
            arrays = safetensors.numpy.load(index)
            size = int.from_bytes(index[:8], "little")
            facts = _metadata(index[8 : 8 + size])
            self._starts, self._sizes, self._checksums = (arrays.pop(key) for key in ("starts", "sizes", "checksums"))
            self._bytes, self.sha256 = facts["bytes"], facts["sha256"]
        except (safetensors.SafetensorError, KeyError, ValueError) as error:
            raise ValueError(f"The index of {name} is damaged: {error}. Prepare the corpus again.") from error
        self.lengths = {key.removeprefix("lengths of "): values for key, values in arrays.items()}
        self._open, self._name, self._map = open_file, name, None

    def __len__(self):
        return len(self._starts)

    def contents(self, records: np.ndarray) -> list[bytes]:
        """Returns the contents of records.

        Raises:
            ValueError: If the file is truncated or a record was altered.
        """
        if self._map is None:
            path = self._open(self.sha256)
            if os.stat(path).st_size != self._bytes:
                raise ValueError(
                    f"{self._name} must have {self._bytes:,} bytes. Received: {os.stat(path).st_size:,}. Prepare the "
                    "corpus again, or fetch the file again."
                )
            self._map = np.memmap(path, "uint8", "r") if self._bytes else np.zeros(0, "uint8")
        ends = self._starts + self._sizes
        found = [self._map[self._starts[i] : ends[i]].tobytes() for i in records]
        for i, content in zip(records, found):
            if zlib.crc32(content) != self._checksums[i]:
                raise ValueError(
                    f"Record {i} of {self._name} was altered after it was written. Prepare the corpus again, or fetch "
                    "the file again."
                )
        return found


def _split_rows(rows):
    """Encodes each row as varints: 7 bits a byte, the lowest first; only the last byte of a number lacks bit 7."""
    values = np.asarray(rows.ids[rows.offsets[0] : rows.offsets[-1]], "uint64")
    count = max(1, -(-int(values.max(initial=0)).bit_length() // 7))
    parts = values[:, None] >> np.arange(0, 7 * count, 7, dtype="uint64")
    used = parts > 0
    used[:, :1] = True
    more = np.pad(used[:, 1:], ((0, 0), (0, 1)))
    flat = ((parts & np.uint64(127)).astype("uint8") | (more.astype("uint8") << 7))[used].tobytes()
    ends = np.concatenate([[0], np.cumsum(used.sum(1))])[rows.offsets - rows.offsets[0]].tolist()
    return [flat[first:end] for first, end in itertools.pairwise(ends)]


def _split_varints(rows):
    """Decodes the varints of several rows at once."""
    flat = np.frombuffer(b"".join(rows), "uint8")
    last = flat < 128
    ends = np.flatnonzero(last) + 1
    starts = np.concatenate([[0], ends[:-1]])[: len(ends)]
    places = np.arange(len(flat)) - np.repeat(starts, ends - starts)
    parts = (flat & 127).astype("int64") << (7 * places)
    values = np.add.reduceat(parts, starts) if len(starts) else np.zeros(0, "int64")
    counts = np.concatenate([[0], np.cumsum(last)])[np.cumsum([0, *map(len, rows)])]
    return [values[first:end] for first, end in zip(counts[:-1], counts[1:])]


def _field(number, content):
    """Returns a field of protobuf that has a length: a message, a text or packed numbers."""
    size = len(content)
    if size < 128:
        return bytes((8 * number + 2, size)) + content
    sizes = []
    while size:
        sizes.append((size & 127) | (128 if size > 127 else 0))
        size >>= 7
    return bytes((8 * number + 2, *sizes)) + content


def _fields(content):
    """Yields (number, content) of the fields of a message."""
    place = 0
    while place < len(content):
        key, place = _read_varint(content, place)
        size, place = _read_varint(content, place)
        if key & 7 != 2 or place + size > len(content):
            raise ValueError("A record must be a tf.train.Example with lists of integers. Received: another content.")
        yield key >> 3, content[place : place + size]
        place += size


def _read_varint(content, place):
    value = shift = 0
    while place < len(content):
        byte = content[place]
        value, shift, place = value | (byte & 127) << shift, shift + 7, place + 1
        if byte < 128:
            return value, place
    raise ValueError("A record must be a tf.train.Example with lists of integers. Received: a truncated one.")


def _entries(content):
    """Yields (name, packed numbers) of the features of an example."""
    for _, features in _fields(content):
        for _, entry in _fields(features):
            parts = dict(_fields(entry))
            (int64_list,) = [packed for number, packed in _fields(parts.get(2, b"")) if number == 3] or [b""]
            yield parts[1].decode(), b"".join(packed for _, packed in _fields(int64_list))


def _masked(checksum):
    """Masks a checksum, as TFRecord files have it."""
    return struct.pack("<I", (((checksum >> 15) | (checksum << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def _metadata(header):
    return json.loads(json.loads(header)["__metadata__"]["facts"])
