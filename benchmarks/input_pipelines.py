"""How fast are batches of a prepared corpus made, and how fast does training resume in the middle of an epoch?

    python -m zoo.translation prepare --data corpus.tsv.gz --output prepared
    python benchmarks/input_pipelines.py prepared

Beside the batches of this package, those of Grain (`pip install grain`) over the same files, with the same shuffle of
the whole corpus and the same decoding, and of tf.data, which shuffles within a buffer. Grain makes batches of the
rows as they come, tf.data of rows of similar length by buckets.
"""

import argparse
import importlib.util
import itertools
import os
import pathlib
import pickle
import sys
import tempfile
import time

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

from zoo.corpora.batching import BatchStream
from zoo.corpora.prepared_corpus import PreparedCorpus
from zoo.extras import exit_without
from zoo.tf.batch_service import BatchClient, BatchServer
from zoo.tf.pipeline import training_dataset

SEED = 1
BOUNDS = [8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256]


class Ours:
    """`BatchStream`; resumes by its number."""

    shuffle = "whole corpus"

    def __init__(self, folder, tokens):
        self.corpus, self.tokens = PreparedCorpus.open(folder), tokens

    def batches(self, state=None):
        start = (0, 0) if state is None else state
        stream = BatchStream(self.corpus, self.tokens, seed=SEED, start=start)
        for batch in training_dataset(stream).as_numpy_iterator():
            yield batch["source"], batch["target"][:, 1:]

    def state_at(self, batches):
        return 0, batches


class Served(Ours):
    """The same batches, from a data worker: here threads of this process, to see what the way costs."""

    def __init__(self, folder, tokens):
        super().__init__(folder, tokens)
        self.server = BatchServer(self.corpus, {})
        self.client = BatchClient(self.server.address, {}, (tokens, 1, SEED))

    def batches(self, state=None):
        for _, batch in self.client.open(*((0, 0) if state is None else state), 1):
            yield batch["source"], batch["target"][:, 1:]


class Grain:
    """Grain over the same records, read and decoded one by one; `workers` processes."""

    shuffle = "whole corpus"

    def __init__(self, folder, tokens, workers=0):
        self.folder, self.tokens, self.workers = folder, tokens, workers

    def dataset(self):
        import grain
        from absl import flags

        flags.FLAGS(sys.argv[:1])  # Processes of Grain need it.
        corpus = PreparedCorpus.open(self.folder)
        rows = max(1, int(self.tokens / (1 + np.mean(corpus.lengths()))))
        dataset = grain.MapDataset.source(Source(str(self.folder))).shuffle(SEED).to_iter_dataset()
        dataset = dataset.batch(rows, batch_fn=padded)
        return dataset.mp_prefetch(grain.MultiprocessingOptions(num_workers=self.workers)) if self.workers else dataset

    def batches(self, state=None):
        iterator = iter(self.dataset())
        if state is not None:
            iterator.set_state(state)
        yield from iterator

    def state_at(self, batches):
        iterator = iter(self.dataset())
        for _ in itertools.islice(iterator, batches):
            pass
        return iterator.get_state()


class Source:
    """The records of a prepared corpus, one by one, as Grain asks for them."""

    def __init__(self, folder):
        self.folder, self._corpus = folder, None

    @property
    def corpus(self):
        if self._corpus is None:
            self._corpus = PreparedCorpus.open(self.folder)
        return self._corpus

    def __getstate__(self):
        return {"folder": self.folder, "_corpus": None}

    def __repr__(self):
        return f"Source({self.folder})"

    def __len__(self):
        return len(self.corpus)

    def __getitem__(self, number):
        return [side.row(0) for side in self.corpus.token_rows(np.array([number]))]


def padded(examples):
    """Returns source and target of a batch, padded."""
    found = []
    for rows in zip(*examples):
        side = np.zeros((len(rows), 1 + max(map(len, rows))), "int32")
        for row, ids in zip(side, rows):
            row[: len(ids)], row[len(ids)] = ids, 1
        found.append(side)
    return tuple(found)


class TensorFlowData:
    """tf.data over the same files: shuffled within a buffer, in buckets of lengths; resumes by its checkpoint."""

    buffer = 10_000
    shuffle = f"buffer of {buffer:,}"

    def __init__(self, folder, tokens):
        self.files, self.tokens = sorted(map(str, pathlib.Path(folder).glob("*.tfrecord"))), tokens
        names = PreparedCorpus.open(folder).names
        self.features = {name: tf.io.RaggedFeature(tf.int64) for name in names}

    def dataset(self):
        files = tf.data.Dataset.from_tensor_slices(self.files).shuffle(len(self.files), seed=SEED)
        records = files.interleave(tf.data.TFRecordDataset, cycle_length=4).shuffle(self.buffer, seed=SEED)
        sizes = [max(1, self.tokens // bound) for bound in (*BOUNDS, 2 * BOUNDS[-1])]

        def parse(record):
            values = tf.io.parse_single_example(record, self.features)
            return tuple(tf.pad(tf.cast(ids, tf.int32), [[0, 1]], constant_values=1) for ids in values.values())

        return (
            records.map(parse, num_parallel_calls=tf.data.AUTOTUNE)
            .bucket_by_sequence_length(lambda a, b: tf.maximum(tf.size(a), tf.size(b)), BOUNDS, sizes)
            .prefetch(4)
        )

    def batches(self, state=None):
        iterator = iter(self.dataset())
        if state is not None:
            tf.train.Checkpoint(iterator=iterator).restore(str(state))
        for tensors in iterator:
            yield [tensor.numpy() for tensor in tensors]

    def state_at(self, batches):
        iterator = iter(self.dataset())
        for _ in range(batches):
            next(iterator)
        return tf.train.Checkpoint(iterator=iterator).write(f"{tempfile.mkdtemp()}/state")


def measure(pipeline, seconds):
    """Returns examples and tokens a second, the share of padding, and seconds to the first batch and after resuming."""
    began = time.perf_counter()
    batches = pipeline.batches()
    next(batches)
    first = time.perf_counter() - began
    for _ in range(20):
        next(batches)
    examples = real = positions = count = 0
    began = time.perf_counter()
    for source, target in batches:
        examples, count = examples + np.count_nonzero(source[:, 0]), count + 1
        real += np.count_nonzero(source) + np.count_nonzero(target)
        positions += source.size + target.size
        if time.perf_counter() - began > seconds:
            break
    taken = time.perf_counter() - began
    state = pipeline.state_at(count)
    del batches
    began = time.perf_counter()
    next(pipeline.batches(state))
    return examples / taken, real / taken, 1 - real / positions, first, time.perf_counter() - began, size_of(state)


def size_of(state):
    """Returns the bytes of a state: of its files, or pickled."""
    if isinstance(state, str):
        return sum(path.stat().st_size for path in pathlib.Path(state).parent.glob("state*"))
    return len(pickle.dumps(state))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="prepared corpus")
    parser.add_argument("--tokens", type=int, default=4096, help="positions of a batch, %(default)s by default")
    parser.add_argument("--seconds", type=float, default=10, help="for each pipeline, %(default)s by default")
    options = parser.parse_args()
    exit_without("This benchmark", "rich")
    from rich.console import Console
    from rich.table import Table

    given = options.folder, options.tokens
    pipelines = {"this package": Ours, "this package, data worker": Served, "tf.data": TensorFlowData}
    if importlib.util.find_spec("grain"):
        pipelines["Grain"] = Grain
        pipelines["Grain, 2 processes"] = lambda *given: Grain(*given, workers=2)
    else:
        print("Grain is left out; pip install grain", file=sys.stderr)
    right = {"justify": "right"}
    table = Table("", "shuffle", box=None)
    for name in ("examples/s", "tokens/s", "padding", "first batch, s", "resumed, s", "state, bytes"):
        table.add_column(name, **right)
    for name, make in pipelines.items():
        pipeline = make(*given)
        examples, tokens, padding, first, again, size = measure(pipeline, options.seconds)
        values = f"{examples:,.0f}", f"{tokens:,.0f}", f"{padding:.1%}", f"{first:.2f}", f"{again:.2f}", f"{size:,}"
        table.add_row(name, pipeline.shuffle, *values)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
