"""Data workers: processes that make batches for trainers, where a batch takes longer to make than to train on.

A trainer makes any batch itself that a data worker does not bring, since both know the order from the seed. So each is
trained on once, at its place, whatever happens to the data workers.
"""

import contextlib
import json
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from zoo.corpora.batching import Batch, BatchPlan, BatchStream, Corpus
from zoo.extras import require

ADDRESSES = "KERAS_TRANSFORMER_DATA_WORKERS"
CHANGES = (
    *("seed", "max_tokens", "augment", "image_augment", "box_augment", "sound_augment", "denoising"),
    *("placeholders", "subword_dropout", "token_dropout"),
)
"""Settings of training that batches depend on, beside the corpus and the vocabulary."""
_AHEAD = 4  # Batches.
_PATIENCE = 60.0  # Seconds after which a data worker that brings nothing is not waited for any more.
_AGAIN = 5.0  # Seconds between two tries to reach a data worker.
_POLL = 0.2

_port: int | None = None


@contextlib.contextmanager
def serving(port: int) -> Iterator[None]:
    """Inside the block, `zoo.training.runs.train_model` serves the batches at a port for ever instead of training."""
    global _port
    _port = port
    try:
        yield
    finally:
        _port = None


def is_data_worker() -> bool:
    """Returns whether this process is to serve batches instead of training."""
    return _port is not None


def serve(corpus: Corpus, identity: dict[str, Any], log: Callable[[str], None]) -> None:
    """Serves the batches of a corpus for ever, at the port of `serving`."""
    from zoo.tf.batch_service import BatchServer

    server = BatchServer(corpus, identity, _port)
    log(f"serving batches at {server.address}; Ctrl-C ends")
    server.join()


def given_addresses() -> list[str]:
    """Returns the addresses in `KERAS_TRANSFORMER_DATA_WORKERS`, separated by commas.

    Raises:
        ValueError: If one is not `host:port`.
    """
    found = [address.strip() for address in os.environ.get(ADDRESSES, "").split(",") if address.strip()]
    for address in found:
        host, _, port = address.rpartition(":")
        if not (host and port.isdecimal()):
            raise ValueError(
                f"{ADDRESSES} must be addresses host:port, separated by commas. Received: {address!r}. Correct it."
            )
    return found


def identity(corpus_digest: str, settings: Any, vocabulary: Any) -> dict[str, Any]:
    """Returns what batches depend on, as JSON: corpus, settings of the training run, vocabulary or None."""
    found = {name: getattr(settings, name) for name in CHANGES}
    found |= {"corpus": corpus_digest, "vocabulary": vocabulary and vocabulary.digest}
    return json.loads(json.dumps(found, default=vars))


def open_stream(
    corpus: Corpus, identity: dict[str, Any], log: Callable[[str], None], batch_tokens: int, **options: Any
) -> BatchStream:
    """Returns the batches of a training run, made by the data workers of `KERAS_TRANSFORMER_DATA_WORKERS` if it is set.

    Args:
        corpus: The corpus, with its noise.
        identity: What the function `identity` returned.
        log: Called with lines that report what happens.
        batch_tokens, options: Of `BatchStream`.

    Raises:
        ValueError: If a data worker that answers has another corpus or other settings.
    """
    addresses = given_addresses()
    if not addresses:
        return BatchStream(corpus, batch_tokens, **options)
    require("Reading from data workers", "tensorflow")
    from zoo.tf.batch_service import BatchClient

    settings = batch_tokens, options["pad_multiple"], options["seed"]
    clients = [BatchClient(address, identity, settings) for address in addresses]
    lanes = [Lane(client, number, len(clients), log) for number, client in enumerate(clients)]
    return ServedStream(lanes, log, corpus, batch_tokens, **options)


class ServedStream(BatchStream):
    """A stream whose batches come from data workers in turn, and from this process where they do not.

    Args:
        lanes: The batches of each data worker.
        log: Called at the end with a line that says who made how many.
        arguments, options: Of `BatchStream`.
    """

    def __init__(self, lanes: Sequence["Lane"], log: Callable[[str], None], *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self._lanes, self._log = lanes, log
        self.served = self.made = 0

    def batches(self, plan: BatchPlan, epoch: int, first: int) -> Iterator[Batch]:
        """Returns the batches of an epoch from the number `first` on."""
        for number in range(first, len(plan)):
            batch = self._lanes[number % len(self._lanes)].take(epoch, number)
            self.served, self.made = self.served + (batch is not None), self.made + (batch is None)
            yield plan.gather(number) if batch is None else batch

    def close(self) -> None:
        """Leaves the data workers."""
        for lane in self._lanes:
            lane.close()
        self._log(f"batches made by data workers: {self.served:,}; here: {self.made:,}")


class Lane:
    """The batches of one data worker, a few ahead, in a thread.

    Args:
        client: Such as a `zoo.tf.batch_service.BatchClient`.
        index, count: The data worker brings the batches `index`, `index + count` and so on of each epoch.
        log: Called with lines that report what happens.
        patience: Seconds that a batch is waited for.
        again: Seconds between two tries to reach the data worker.

    Raises:
        ValueError: If the data worker is one of other batches.
    """

    def __init__(
        self,
        client: Any,
        index: int,
        count: int,
        log: Callable[[str], None],
        patience: float = _PATIENCE,
        again: float = _AGAIN,
    ):
        self._client, self._index, self._count, self._log = client, index, count, log
        self._patience, self._again = patience, again
        self._made: queue.Queue | None = None  # None while there is no thread.
        self._stop, self._tried, self._told = threading.Event(), -again, False
        try:
            if not client.answers():
                raise ConnectionError(f"nothing listens at {client.address}")
            client.facts()
        except ConnectionError as error:
            self._leave(str(error))

    def take(self, epoch: int, number: int) -> Batch | None:
        """Returns a batch, or None if this process is to make it."""
        if self._made is None and not self._begin(epoch, number):
            return None
        began = time.monotonic()
        while True:
            try:
                place, batch, error = self._made.get(timeout=_POLL)
            except queue.Empty:
                if not self._client.answers():
                    return self._leave("it does not answer any more")
                if time.monotonic() - began > self._patience:
                    return self._leave(f"it brought nothing for {self._patience:g} s")
                continue
            if error is not None:
                return self._leave(str(error).splitlines()[0][:200])
            if place == (epoch, number):
                return batch
            if place > (epoch, number):
                return self._leave(f"it brought batch {place}, not {(epoch, number)}")

    def close(self) -> None:
        """Ends the thread."""
        self._stop.set()
        self._made = None

    def _begin(self, epoch, number):
        """Starts the thread if the data worker answers, which is tried every few seconds only."""
        if time.monotonic() - self._tried < self._again:
            return False
        self._tried = time.monotonic()
        if not self._client.answers():
            return False
        self._made, self._stop = queue.Queue(_AHEAD), threading.Event()
        arguments = self._made, self._stop, epoch, number
        threading.Thread(target=self._read, args=arguments, name="data worker", daemon=True).start()
        if self._told:
            self._log(f"data worker {self._client.address} answers again")
        self._told = False
        return True

    def _leave(self, reason):
        """Leaves the thread to itself until the data worker answers; it may wait for a lost connection for long."""
        self.close()
        self._tried = time.monotonic()
        if not self._told:
            self._log(f"data worker {self._client.address}: {reason}; its batches are made here until it answers")
        self._told = True

    def _read(self, made, stop, epoch, first):
        def put(item):
            while not stop.is_set():
                with contextlib.suppress(queue.Full):
                    return made.put(item, timeout=_POLL)

        try:
            while not stop.is_set():
                for number, batch in self._client.open(epoch, first, self._count):
                    put(((epoch, number), batch, None))
                    if stop.is_set():
                        return
                epoch, first = epoch + 1, self._index
        except Exception as error:
            put((None, None, error))
