"""Accuracy, size and speed of a classifier with float32 and with 8-bit weights.

    python benchmarks/quantization.py --checkpoint classification/sst2-small --data sst2/dev.tsv

Each is loaded anew, since a predictor compiles its model at the first prediction. Speed: the best of `--repeats` runs,
float32 and int8 in turn.
"""

import argparse
import pathlib
import sys
import tempfile
import time
import warnings

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import zoo
from zoo.classification.data import class_numbers, open_examples
from zoo.classification.task import evaluate


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--data", required=True, help="tab-separated: label, text")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    classifiers = {"float32": zoo.load(options.checkpoint), "int8": zoo.load(options.checkpoint)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Of layers that have nothing to quantise.
        classifiers["int8"].model.quantize("int8")
    data = open_examples(options.data)
    texts = [text for (text,) in class_numbers(data, classifiers["int8"].labels)[1]]
    probabilities = {name: classifier.probabilities(texts) for name, classifier in classifiers.items()}
    for name, classifier in classifiers.items():
        scores = ", ".join(f"{s.metric} {s.value:.2f}" for s in evaluate(classifier, data, resamples=2).scores)
        print(f"{name}: {scores}, weights file {megabytes(classifier.model):.2f} MB", flush=True)
    first, second = probabilities.values()
    changed = int((first.argmax(1) != second.argmax(1)).sum())
    print(
        f"{changed} answers of {len(first)} changed; probabilities differ by at most {np.abs(first - second).max():.4f}"
    )
    seconds = {name: [] for name in classifiers}
    for _ in range(options.repeats):
        for name, classifier in classifiers.items():
            start = time.perf_counter()
            classifier.probabilities(texts)
            seconds[name].append(time.perf_counter() - start)
    print("seconds:", ", ".join(f"{name} {min(times):.2f}" for name, times in seconds.items()))


def megabytes(model):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.weights.h5"
        model.save_weights(path)
        return path.stat().st_size / 1e6


if __name__ == "__main__":
    main()
