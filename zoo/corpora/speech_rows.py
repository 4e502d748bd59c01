"""Recordings with their texts as the rows of a corpus. NumPy only."""

import pathlib
import typing
from dataclasses import dataclass

import numpy as np

from zoo.config import START_ID
from zoo.corpora.batching import Corpus
from zoo.corpora.token_rows import TokenRows, append_rows
from zoo.storage.arrays import write_errors


@dataclass(frozen=True, eq=False)
class SpeechRows(Corpus):
    """Recordings with texts. Positions are the steps of the encoder, or the tokens if these are more.

    Args:
        samples: Int16 samples, one row for each recording.
        target: Ids of the texts, without special ids.
        samples_per_step: Samples from one step of the encoder to the next.
    """

    samples: TokenRows
    target: TokenRows
    samples_per_step: int

    def __len__(self):
        return len(self.target.offsets) - 1

    def arrays(self) -> list[np.ndarray]:
        """Returns samples and ids, which identify the corpus."""
        return [*self.samples, *self.target]

    def lengths(self) -> list[np.ndarray]:
        """Returns the number of steps of the encoder and of the decoder, `[rows]` each."""
        return [-(-self.samples.lengths // self.samples_per_step), self.target.lengths + 1]

    def gather(self, rows: np.ndarray, widths: list[int], fill: int) -> dict[str, np.ndarray]:
        """Returns the chosen rows, followed by `fill` rows of padding.

        `samples` int16 `[B, S]`; `num_samples` int32 `[B]`; `target` int32 `[B, T + 1]`: START_ID, ids and END_ID.
        """
        return speech_batch(self, [self.samples.row(row) for row in rows], rows, widths, fill)


def speech_batch(
    corpus: SpeechRows, recordings: list[np.ndarray], rows: np.ndarray, widths: list[int], fill: int
) -> dict[str, np.ndarray]:
    """Returns what `SpeechRows.gather` does, of these recordings, int16 `[S]` each, with the texts of the rows."""
    target = np.pad(corpus.target.padded_with_end(rows, widths[1]), ((0, 0), (1, 0)), constant_values=START_ID)
    samples = np.zeros((len(rows) + fill, widths[0] * corpus.samples_per_step), "int16")
    for row, recording in zip(samples, recordings):
        row[: len(recording)] = recording
    count = append_rows(np.array([*map(len, recordings)], "int32"), fill)
    return {"samples": samples, "num_samples": count, "target": append_rows(target, fill)}


def store_samples(recordings: typing.Iterable[np.ndarray], path: pathlib.Path) -> TokenRows:
    """Writes recordings, int16 `[S]` each, to a file, and returns them as rows that are mapped into memory."""
    lengths = [0]
    with write_errors(path), open(path, "wb") as file:
        for samples in recordings:
            file.write(samples.astype("<i2").tobytes())
            lengths.append(len(samples))
    offsets = np.cumsum(lengths, dtype="int64")
    return TokenRows(
        np.memmap(path, "<i2", "r", shape=(int(offsets[-1]),)) if offsets[-1] else np.zeros(0, "<i2"), offsets
    )


def teacher_forced_speech(batch: dict) -> tuple[dict, np.ndarray]:
    """Splits a batch for a decoder, which reads `target[:, :-1]` and predicts `target[:, 1:]`, `[B, T]` each."""
    return {**batch, "target": batch["target"][:, :-1]}, batch["target"][:, 1:]
