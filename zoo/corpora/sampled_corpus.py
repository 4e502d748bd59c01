"""Corpora that are encoded again in every epoch, the next one while the current one is trained on. NumPy only."""

import functools
import os
import pathlib
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future

from zoo.corpora.batching import Corpus
from zoo.corpora.encoded_corpus import EncodedCorpus, encode_corpus
from zoo.corpora.numbering import Pairs, check_repeatable, numbered


class SampledCorpus(Corpus):
    """Pairs that are encoded again in every epoch, with BPE-dropout or from changed texts.

    Args:
        pairs: Can be iterated repeatedly in the same order, such as a list or a reader of `zoo.translation.data`. If it
            has a method `epoch`, as `zoo.corpora.augmentation.AugmentedPairs` does, that returns the pairs of an epoch.
        tokenizer, max_tokens: As for `encode_corpus`.
        dropout: Probability of skipping a merge.
        seed: Seed, which together with the number of the epoch determines every encoding.
        folder: Folder for the files of the current epoch and of one that is being prepared; others are deleted. None to
            keep the current epoch in memory, and to prepare none.
    """

    def __init__(
        self,
        pairs: Pairs,
        tokenizer,
        *,
        dropout: float,
        seed: int,
        max_tokens: int = 0,
        folder: str | os.PathLike | None = None,
    ):
        if not hasattr(pairs, "epoch"):
            check_repeatable(pairs)
        self._pairs = pairs
        self._encode = functools.partial(encode_corpus, tokenizer=tokenizer, max_tokens=max_tokens, dropout=dropout)
        self._seed, self._folder, self._current = seed, folder and pathlib.Path(folder), (None, None)
        self._ahead: _Preparation | None = None

    def epoch(self, epoch: int) -> EncodedCorpus:
        """Returns the corpus of this epoch."""
        if self._current[0] != epoch:
            self._current = (None, None)  # Frees the memory of the last epoch first.
            if self._ahead is not None and self._ahead.epoch == epoch:
                corpus, self._ahead = self._ahead.result(), None
            else:
                self.close()
                self._delete_all_but(None)
                corpus = self._encoded(epoch, self._pairs_of(epoch))
            self._delete_all_but(epoch)
            self._current = epoch, corpus
        return self._current[1]

    def prepare(self, epoch: int) -> None:
        """Begins to encode an epoch in a thread, for the call of `epoch` that will need it."""
        if self._folder and self._ahead is None and self._current[0] != epoch:
            self._ahead = _Preparation(epoch, self._pairs_of(epoch), functools.partial(self._encoded, epoch))

    def close(self) -> None:
        """Stops the preparation of an epoch."""
        if self._ahead is not None:
            self._ahead.stop()
            self._ahead = None

    def _pairs_of(self, epoch):
        return self._pairs.epoch(epoch) if hasattr(self._pairs, "epoch") else self._pairs

    def _encoded(self, epoch, pairs):
        return self._encode(pairs, seed=(self._seed, epoch), folder=self._folder and self._path(epoch))

    def _path(self, epoch):
        return self._folder / f"epoch-{epoch}"

    def _delete_all_but(self, epoch):
        for old in self._folder.glob("epoch-*") if self._folder else ():
            if epoch is None or old != self._path(epoch):
                shutil.rmtree(old)


class _Preparation:
    """Encodes the pairs of an epoch in a thread of its own, which does not keep the process from ending."""

    def __init__(self, epoch, pairs, encode):
        self.epoch, self._pairs, self._encode = epoch, pairs, encode
        self._future, self._stopped = Future(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def result(self) -> EncodedCorpus:
        """Waits for the corpus; raises the error of its encoding if there is one."""
        return self._future.result()

    def stop(self) -> None:
        """Ends the thread, which then leaves no file."""
        self._stopped.set()
        self._thread.join()

    def numbered(self) -> Iterator:
        """Yields (line, pair) for `encode_corpus` until the thread is to end."""
        for line, pair in numbered(self._pairs):
            if self._stopped.is_set():
                raise CancelledError
            yield line, pair

    def _run(self):
        try:
            self._future.set_result(self._encode(self))
        except BaseException as error:
            self._future.set_exception(error)
