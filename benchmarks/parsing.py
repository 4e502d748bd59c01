"""Sentences per second of a parser, 32 at a time in the order of the file; CKY's share; the peak of memory.

python benchmarks/parsing.py --checkpoint FOLDER --data dev.trees
"""

import argparse
import resource
import statistics
import time

import zoo
from zoo.extras import exit_without


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--checkpoint", required=True, help="name or folder")
    arguments.add_argument("--data", required=True, help="trees in brackets")
    arguments.add_argument("--batch", type=int, default=32, help="sentences handed in at a time")
    arguments.add_argument("--sentences", type=int, default=0, help="the first ones only; 0 for all")
    arguments.add_argument("--rounds", type=int, default=3)
    options = arguments.parse_args()
    exit_without("This benchmark", "nltk")
    from zoo.parsing import predictor as span_parser
    from zoo.parsing.data import TreeReader
    from zoo.parsing.predictor import TreeParser

    before = _peak()
    parser = zoo.load(options.checkpoint)
    sentences = [tree.leaves() for tree in TreeReader(options.data)]
    sentences = sentences[: options.sentences or len(sentences)]
    chart = Stopwatch(span_parser.best_trees)
    if isinstance(parser, TreeParser):
        span_parser.best_trees = chart
    parser.parse(sentences[: options.batch])  # Traced and warm.
    seconds, shares = [], []
    for _ in range(options.rounds):
        chart.seconds, start = 0.0, time.perf_counter()
        for first in range(0, len(sentences), options.batch):
            parser.parse(sentences[first : first + options.batch])
        seconds.append(time.perf_counter() - start)
        shares.append(100 * chart.seconds / seconds[-1])
    words = sum(map(len, sentences))
    print(f"{len(sentences):,} sentences of {words / len(sentences):.1f} words, {options.batch} at a time")
    rate = len(sentences) / statistics.median(seconds)
    print(f"{rate:.1f} sentences/s  [{min(seconds):.2f}..{max(seconds):.2f} s]")
    if chart.seconds:
        print(f"CKY: {statistics.median(shares):.1f} % of the time")
    print(f"peak of memory: {_peak():,} MB, of which {before:,} MB before the checkpoint was loaded")


class Stopwatch:
    """A function that adds up the seconds it takes."""

    def __init__(self, function):
        self._function, self.seconds = function, 0.0

    def __call__(self, *arguments):
        start = time.perf_counter()
        try:
            return self._function(*arguments)
        finally:
            self.seconds += time.perf_counter() - start


def _peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main()
