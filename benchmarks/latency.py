"""One sentence at a time: the translator's plain graph, its searches compiled by XLA, and those compiled as needed.

    python benchmarks/latency.py --checkpoint translation/multi30k-en-de --texts captions.en

Prints what warming up takes, the medians of three thirds and the longest time of single sentences, and the time of all
in one call. What was compiled before is not used. With `--exported`, SavedModels are measured instead, one by one.
"""

import argparse
import os
import time

import numpy as np

import zoo
from zoo.corpora.reading import read_lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", default="translation/multi30k-en-de", help="name or folder")
    parser.add_argument("--texts", required=True, help="text file, a sentence a line, gzip or not")
    parser.add_argument("--beam-sizes", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--alone", type=int, default=60, help="sentences translated one at a time")
    parser.add_argument("--together", type=int, default=500, help="sentences translated in one call")
    parser.add_argument("--exported", nargs="+", default=[], help="SavedModels to measure in their place")
    options = parser.parse_args()
    os.environ["KERAS_TRANSFORMER_XLA_CACHE"] = "0"
    texts = [*read_lines(options.texts)]
    for folder in options.exported:
        measure_exported(folder, texts[: options.alone])
    if options.exported:
        return
    translators = {name: zoo.load(options.checkpoint) for name in ("graph", "XLA", "auto")}
    for translator, jit_compile in zip(translators.values(), (False, True, "auto")):
        translator.jit_compile = jit_compile
    for beam_size in options.beam_sizes:
        for name, translator in translators.items():
            warm_up = 0.0 if name == "auto" else seconds(translator.warm_up, 1, 1, beam_size)
            alone = [seconds(translator.translate, [text], beam_size) for text in texts[: options.alone]]
            together = [seconds(translator.translate, texts[: options.together], beam_size) for _ in range(3)]
            print(
                f"beam {beam_size}, {name:5}: warm-up {warm_up:.1f} s; one sentence {' '.join(thirds(alone))} ms, "
                f"at most {1e3 * max(alone):.1f}; {options.together} sentences {min(together):.2f} s",
                flush=True,
            )


def measure_exported(folder, texts):
    import tensorflow as tf
    import tensorflow_text  # noqa: F401 (the operations that cut text into subwords)

    start = time.perf_counter()
    translate = tf.saved_model.load(folder).signatures["serving_default"]
    loaded = time.perf_counter() - start
    alone = [seconds(translate, tf.constant([text])) for text in texts]
    first, rest = alone[0], alone[len(alone) // 3 :]
    print(
        f"{folder}: loaded in {loaded:.1f} s, first call {first:.1f} s, at most {max(alone):.1f}; of the last two "
        f"thirds the median is {1e3 * np.median(rest):.1f} ms, at most {1e3 * max(rest):.1f}",
        flush=True,
    )


def thirds(times):
    """Returns the medians of the first, the second and the last third, in milliseconds."""
    return [f"{1e3 * np.median(part):.1f}" for part in np.array_split(times, 3)]


def seconds(function, *arguments):
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
