"""Where the time of an update goes, from a trace of TensorFlow's profiler.

    python benchmarks/profile_updates.py --data train.tsv --recipe tiny

Trains a translator for a few updates and prints, for each update: its seconds, the seconds that it waits for its batch,
those that the thread beside it takes to make one, the bytes of a batch, which are what is copied to a GPU, and the
operations that take longest. Seconds of operations may add up to more than those of the update: some run at once.
"""

import argparse
import collections
import dataclasses
import pathlib
import re
import tempfile

import numpy as np
import tensorflow as tf

from zoo.corpora.batching import token_batches
from zoo.corpora.encoded_corpus import encode_corpus
from zoo.models.seq2seq import Seq2Seq
from zoo.text.tokenizer_training import train_tokenizer
from zoo.training.trainer import Trainer
from zoo.translation.data import open_pairs
from zoo.translation.predictor import Translator
from zoo.translation.recipes import RECIPES

WAITS, MAKES = "IteratorGetNextOp::DoCompute", "PrefetchProduce"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="pairs, separated by a tab")
    parser.add_argument("--recipe", default="tiny")
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--operations", type=int, default=12, help="how many are shown")
    options = parser.parse_args()
    recipe = RECIPES[options.recipe]
    pairs = [*open_pairs(data=pathlib.Path(options.data))]
    tokenizer = train_tokenizer([text for pair in pairs for text in pair], options.vocabulary)
    batches = [*token_batches(encode_corpus(pairs, tokenizer), recipe.training.batch_tokens, seed=1)]
    size = np.mean([sum(array.nbytes for array in batch.values()) for batch in batches])
    model = Seq2Seq(dataclasses.replace(recipe.model, vocabulary_size=tokenizer.vocabulary_size))
    model.build()
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(model, recipe.training, folder, split=Translator.split, pad_label=Translator.pad_label)
        trainer.measure(iter(batches), 1)  # Traces.
        tf.profiler.experimental.start(folder)
        try:
            seconds, _ = trainer.measure(iter(batches), options.updates)
        finally:
            tf.profiler.experimental.stop()
        found = events(pathlib.Path(folder))
    updates = options.updates + 2  # Two are not timed.
    print(f"an update takes {seconds:.3f} s and a batch {size:,.0f} bytes")
    for what, name in (("waits for its batch", WAITS), ("is made beside it", MAKES)):
        print(f"  {what}: {1000 * found[name] / updates:.2f} ms, {100 * found[name] / updates / seconds:.2f} %")
    operations = {name: spent for name, spent in found.items() if re.fullmatch(r"[A-Z]\w*", name)}
    for name, spent in collections.Counter(operations).most_common(options.operations):
        print(f"  {name}: {1000 * spent / updates:.1f} ms")


def events(folder: pathlib.Path) -> dict[str, float]:
    """Returns the seconds of all events of a trace by name; operations by their kind."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2  # The format of the profiler's files.

    (path,) = folder.rglob("*.xplane.pb")
    space, found = xplane_pb2.XSpace.FromString(path.read_bytes()), collections.Counter()
    for plane in space.planes:
        names = {number: kind.name for number, kind in plane.event_metadata.items()}
        for line in plane.lines:
            for event in line.events:
                name = names[event.metadata_id]
                found[name if "::" in name else name.rpartition(":")[2]] += event.duration_ps / 1e12
    return found


if __name__ == "__main__":
    main()
