"""Texts per second of a classifier: in chunks of like length, as it works, and in chunks in the order of the file.

python benchmarks/classification.py --checkpoint NAME_OR_FOLDER --data dev.tsv.gz
"""

import argparse
import statistics
import time

import numpy as np

import zoo
from zoo.classification.data import class_numbers, open_examples
from zoo.models.compiling import compile_function


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", required=True, help="name or folder")
    parser.add_argument("--data", required=True, help="as for `python -m zoo.classification evaluate`")
    parser.add_argument("--columns", type=int, nargs="+", default=(0, 1))
    parser.add_argument("--rounds", type=int, default=3, help="turns of each way")
    options = parser.parse_args()
    classifier = zoo.load(options.checkpoint)
    classes, examples = class_numbers(open_examples(options.data, columns=options.columns), classifier.labels)
    texts = [text for (text,) in examples]
    ways = {"by length": classifier.probabilities, "file order": in_order(classifier)}
    for way in ways.values():
        way(texts[:200])  # Traced and warm.
    seconds, found = {name: [] for name in ways}, {}
    for _ in range(options.rounds):
        for name, way in ways.items():
            start = time.perf_counter()
            found[name] = way(texts)
            seconds[name].append(time.perf_counter() - start)
    lengths = classifier.rows(texts)[0].lengths
    print(f"{len(texts):,} texts of {lengths.mean():.0f} tokens, {lengths.max()} at most, tokenised in the time given")
    for name, values in seconds.items():
        median = statistics.median(values)
        accuracy = 100 * np.mean(found[name].argmax(1) == classes)
        print(
            f"{name:10}  {len(texts) / median:7.1f} texts/s  [{min(values):.1f}..{max(values):.1f} s]  {accuracy:.2f} %"
        )
    print(f"by length is {statistics.median(a / b for a, b in zip(*[*seconds.values()][::-1])):.2f} times as fast")


def in_order(classifier):
    """Probabilities of texts, as many at a time as fit if all were the longest."""
    graph = compile_function(classifier.model, classifier.softmax)

    def probabilities(texts):
        tokens, _, _ = classifier.rows(texts)
        size, found = max(1, classifier.batch_tokens // int(tokens.lengths.max())), []
        for start in range(0, len(texts), size):
            rows = np.arange(start, min(start + size, len(texts)))
            found.append(np.asarray(graph(tokens.padded(rows, int(tokens.lengths[rows].max())))))
        return np.concatenate(found)

    return probabilities


if __name__ == "__main__":
    main()
