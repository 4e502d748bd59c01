"""How do times grow with the batch, the length, the vocabulary, the beams, the size of a checkpoint, and the corpus?

    python benchmarks/growth.py --output growth.png

Prints the seconds of each size, the least of three calls after one that compiles (a call of more than a minute is not
repeated), and the exponent b of the line through the logarithms of the largest four sizes, seconds ~ size^b: 1 is
linear. Draws all curves. The models are small encoder-decoders (2 + 2 layers) of random weights; `--smoke` takes the
smallest sizes only.
"""

import argparse
import pathlib
import tempfile
import time
from collections.abc import Callable

import keras
import numpy as np

import zoo
from keras_transformer.decoding import beam_search, greedy_search
from zoo.config import PAD_ID, START_ID, ModelConfig
from zoo.corpora.encoded_corpus import teacher_forced
from zoo.extras import exit_without
from zoo.models.compiling import compile_function
from zoo.models.seq2seq import Seq2Seq
from zoo.preparation.inputs import open_inputs
from zoo.preparation.pipeline import prepare
from zoo.text.tokenizer_training import train_tokenizer
from zoo.training.optimizers import make_loss
from zoo.training_config import TrainingConfig
from zoo.translation.predictor import Translator

LONG = 60  # Seconds of a call that is not repeated; compiling takes less.
WORDS = "the a house tree of sleeps runs green in and is two cats dogs never here".split()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=[*CURVES], default=[*CURVES], help="curves to measure")
    parser.add_argument("--smoke", action="store_true", help="the two smallest sizes of each curve")
    parser.add_argument("--most-pairs", type=int, default=1_000_000, help="pairs of the largest corpus")
    parser.add_argument("--output", default="growth.png", help="the picture")
    options = parser.parse_args()
    exit_without("This benchmark", "matplotlib")
    curves = {}
    for name in options.only:
        unit, make, sizes = CURVES[name]
        sizes = [size for size in sizes if name != "corpus" or size <= options.most_pairs]
        curve = []
        for size in sizes[:2] if options.smoke else sizes:
            with tempfile.TemporaryDirectory() as folder:
                call = make(size, pathlib.Path(folder))
                first = seconds(call)
                curve.append((size, first if first > LONG else min(seconds(call) for _ in range(3))))
        curves[name] = curve
        found = "  ".join(f"{size:,}: {taken:.4g}" for size, taken in curve)
        print(f"{name}, {unit}: exponent {exponent(curve):.2f}; seconds {found}", flush=True)
    draw(curves, options.output)


def seconds(call: Callable) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def exponent(curve: list[tuple[int, float]]) -> float:
    """The slope of the line through the logarithms of the largest four sizes."""
    sizes, times = np.log(np.array(curve[-4:])).T
    return float(np.polyfit(sizes, times, 1)[0])


def make_model(vocabulary_size=8000, width=256):
    sizes = {"num_encoder_layers": 2, "num_decoder_layers": 2, "hidden_dim": width, "intermediate_dim": 2 * width}
    keras.utils.set_random_seed(1)
    model = Seq2Seq(ModelConfig(**sizes, num_heads=4, vocabulary_size=vocabulary_size))
    model.build()
    return model


def random_ids(rows, length, vocabulary_size=8000):
    return np.random.default_rng(1).integers(4, vocabulary_size, (rows, length)).astype("int32")


def training_step(rows, length):
    model = make_model()
    model.compile("adam", make_loss(TrainingConfig(), 0))
    inputs, labels = teacher_forced({"source": random_ids(rows, length), "target": random_ids(rows, length + 1)})
    return lambda: model.train_on_batch(inputs, labels)


def encoding(length):
    model = make_model()
    call = compile_function(model, model.encode)
    ids = random_ids(1, length)
    return lambda: keras.ops.convert_to_numpy(call(ids))


def decoding(beam_size, vocabulary_size=8000):
    """A search of 8 rows and 32 steps."""
    model = make_model(vocabulary_size)

    def search(source):
        step, state = model.step_function(beam_size), model.init_state(source, beam_size)
        options = {
            "max_lengths": np.full(8, 32, "int32"),
            "start_id": START_ID,
            "end_id": None,
            "pad_id": PAD_ID,
            "max_length": 32,
        }
        if beam_size == 1:
            return greedy_search(step, state, **options).ids
        return beam_search(step, state, beam_size=beam_size, **options).ids

    call, source = compile_function(model, search), random_ids(8, 16, vocabulary_size)
    return lambda: keras.ops.convert_to_numpy(call(source))


def storing(width, folder):
    tokenizer = train_tokenizer([" ".join(WORDS)] * 9, 300)
    translator = Translator(make_model(tokenizer.vocabulary_size, width), tokenizer)
    count = iter(range(99))

    def save_and_load():
        part = folder / str(next(count))
        translator.save(part)
        zoo.load(part)

    return save_and_load


def preparing(pairs, folder):
    rng, count = np.random.default_rng(1), iter(range(99))
    lines = [" ".join(rng.choice(WORDS, 8)) for _ in range(1000)]
    tokenizer = train_tokenizer(lines, 300)

    path = folder / f"{pairs}.tsv"
    with open(path, "w") as file:
        file.writelines(f"{lines[i % 1000]}\t{lines[i * 7 % 1000]}\n" for i in range(pairs))

    def prepare_once():
        prepare(open_inputs(str(path), columns=(0, 1)), tokenizer, folder / str(next(count)), max_tokens=64)

    return prepare_once


CURVES = {
    "batch": (
        "rows of a training step",
        lambda n, _: training_step(n, 32),
        [1 << i for i in range(10)],
    ),
    "length": ("positions of an encoder's input", lambda n, _: encoding(n), [1 << i for i in range(4, 12)]),
    "vocabulary": ("pieces, greedy search of 8 rows", lambda n, _: decoding(1, n), [1000 << i for i in range(7)]),
    "beams": ("beams of a search of 8 rows", lambda n, _: decoding(n), [1, 2, 4, 8, 16]),
    "checkpoint": ("width of a model that is saved and loaded", storing, [64, 128, 256, 512, 1024]),
    "corpus": ("pairs that `prepare` encodes", preparing, [10_000, 30_000, 100_000, 300_000, 1_000_000, 10_000_000]),
}


def draw(curves, path):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, -(-len(curves) // 2), figsize=(4 * -(-len(curves) // 2), 7), squeeze=False)
    for axis, (name, curve) in zip(axes.flat, curves.items()):
        sizes, times = zip(*curve)
        axis.loglog(sizes, times, "o-", color="#1f5fa8")
        axis.set_title(f"{name}: exponent {exponent(curve):.2f}")
        axis.set_xlabel(CURVES[name][0])
        axis.set_ylabel("seconds")
        axis.grid(alpha=0.3)
    for axis in axes.flat[len(curves) :]:
        axis.remove()
    figure.tight_layout()
    figure.savefig(path)


if __name__ == "__main__":
    main()
