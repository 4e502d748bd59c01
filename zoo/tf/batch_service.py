"""Batches of a corpus that another process makes, by `tf.data.service`.

A data worker is one process with a dispatcher and a worker of `tf.data.service`. A trainer sends it the program "the
batches of this epoch, from this number on, every n-th", whose only step is a call of a function of the data worker by
its name. So each batch is made once, at its place, for whoever asks: nothing is divided by the service itself, which
promises "at most once" when a worker of it is lost.
"""

import functools
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, TimeoutError
from typing import Any

import numpy as np
import tensorflow as tf

from zoo.corpora.batching import Batch, BatchPlan, Corpus
from zoo.tf.pipeline import without_autotuning

_FACTS = "facts"  # Name of the data set that describes the batches.
_PLANS = 4  # Kept: of several trainers, or epochs.
_CONNECTION, _ANSWER = 2.0, 20.0  # Seconds that a data worker has for each.

service = tf.data.experimental.service


class BatchServer:
    """Makes the batches of a corpus for trainers, in threads of this process.

    Whoever reaches the port can read the corpus, and have programs of TensorFlow computed.

    Args:
        corpus: The corpus.
        identity: What the batches depend on, which trainers compare; JSON.
        port: Port; 0 for any free one.

    Attributes:
        address: `localhost:port`.
        made: Number of batches so far.
    """

    def __init__(self, corpus: Corpus, identity: Mapping[str, Any], port: int = 0):
        self.made, self._lock = 0, threading.Lock()
        self._plan = functools.lru_cache(_PLANS)(functools.partial(BatchPlan, corpus))
        epoch = corpus.epoch(0)
        first = epoch.gather(np.arange(1), [int(side[0]) for side in epoch.lengths()], 0)
        self._names = [*first]
        self._end = [np.zeros((0,) * array.ndim, array.dtype) for array in first.values()]
        self._function = tf.function(
            lambda place: tf.numpy_function(self._fetch, [place], [*(array.dtype for array in self._end), tf.bool])
        )
        graph = self._function.get_concrete_function(tf.TensorSpec([5], tf.int64)).graph
        (call,) = (operation for operation in graph.get_operations() if operation.type == "PyFunc")
        facts = {
            "identity": identity,
            "function": call.get_attr("token").decode(),
            "arrays": {name: [str(array.dtype), array.ndim] for name, array in first.items()},
        }
        self._dispatcher = service.DispatchServer(service.DispatcherConfig(port=port))
        self.address = self._dispatcher.target.removeprefix("grpc://")
        self._worker = service.WorkerServer(service.WorkerConfig(dispatcher_address=self.address))
        described = tf.data.Dataset.from_tensors(json.dumps(facts))
        service.register_dataset(self._dispatcher.target, described, dataset_id=_FACTS)

    def join(self) -> None:
        """Waits for ever."""
        self._dispatcher.join()

    def _fetch(self, place):
        """Returns the arrays of the batch at (batch_tokens, pad_multiple, seed, epoch, number), and if there is one."""
        *settings, number = map(int, place)
        with self._lock:  # Corpora are read by one thread at a time.
            plan = self._plan(*settings)
            if number >= len(plan):
                return *self._end, False
            batch = plan.gather(number)
            self.made += 1
        return *(batch[name] for name in self._names), True


class BatchClient:
    """Reads the batches of one data worker.

    Args:
        address: Its address, `host:port`.
        identity: What the batches must depend on.
        settings: `batch_tokens`, `pad_multiple` and the seed of the order.
    """

    def __init__(self, address: str, identity: Mapping[str, Any], settings: tuple[int, int, int]):
        self.address, self._identity, self._settings = address, identity, settings

    def answers(self) -> bool:
        """Returns whether something listens at the address."""
        host, _, port = self.address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), _CONNECTION).close()
        except OSError:
            return False
        return True

    def facts(self) -> dict:
        """Returns what the data worker tells of its batches.

        Raises:
            ConnectionError: If it does not within twenty seconds.
            ValueError: If its batches depend on something else than the identity.
        """
        found = Future()

        def read():
            source = "parallel_epochs", f"grpc://{self.address}", _FACTS, tf.TensorSpec((), tf.string)
            try:
                dataset = without_autotuning(service.from_dataset_id(*source))
                found.set_result(json.loads(next(iter(dataset)).numpy()))
            except Exception as error:
                found.set_exception(error)

        threading.Thread(target=read, name="data worker", daemon=True).start()
        try:
            facts = found.result(_ANSWER)
        except (TimeoutError, tf.errors.OpError) as error:
            raise ConnectionError(f"{self.address} is no data worker, or it hangs: {error}") from error
        names = [name for name, value in self._identity.items() if facts["identity"].get(name) != value]
        if names:
            raise ValueError(
                f"The data worker at {self.address} must make the batches of this training run. Received: one with "
                f"another {' and '.join(names)}. Start it with the arguments of this `train`."
            )
        return facts

    def open(self, epoch: int, first: int, step: int) -> Iterator[tuple[int, Batch]]:
        """Yields (number, batch) of an epoch, of the numbers `first`, `first + step` and so on.

        Raises:
            ConnectionError, ValueError: As `facts` does.
            tf.errors.OpError: If the data worker fails, or was started again. A lost one is waited for.
        """
        facts = self.facts()
        arrays = facts["arrays"]
        dtypes = [*(dtype for dtype, _ in arrays.values()), tf.bool]

        def make(number):
            place = tf.stack([*(tf.constant(value, tf.int64) for value in (*self._settings, epoch)), number])
            *tensors, more = tf.raw_ops.PyFunc(input=[place], token=facts["function"], Tout=dtypes)
            shaped = (tf.ensure_shape(tensor, [None] * rank) for tensor, (_, rank) in zip(tensors, arrays.values()))
            return tf.ensure_shape(more, ()), number, dict(zip(arrays, shaped))

        dataset = tf.data.Dataset.counter(first, step).map(make).take_while(lambda more, number, batch: more)
        remote = service.distribute(service.ShardingPolicy.OFF, f"grpc://{self.address}", max_outstanding_requests=1)
        for _, number, batch in without_autotuning(dataset.apply(remote)):
            yield int(number), {name: tensor.numpy() for name, tensor in batch.items()}
