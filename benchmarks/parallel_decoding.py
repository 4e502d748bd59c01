"""A non-autoregressive translator beside its teacher: BLEU and milliseconds for 1 and 32 sentences.

    python benchmarks/parallel_decoding.py --checkpoint runs/student/checkpoint --teacher runs/teacher/checkpoint \
        --source val.en --target val.de --tokenize none --lowercase

All systems run their plain graphs, in turns; the times are medians of the turns, with the lowest and the highest.
"""

import argparse
import time

import numpy as np

import zoo
from zoo.translation.data import open_pairs
from zoo.translation.metrics import bleu


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", required=True, help="the non-autoregressive translator")
    parser.add_argument("--teacher", required=True, help="an autoregressive translator")
    parser.add_argument("--source", help="text file, a sentence a line")
    parser.add_argument("--target", help="its translation, line for line")
    parser.add_argument("--data", help="instead: a tab-separated file")
    parser.add_argument("--iterations", type=int, nargs="+", default=[1, 4, 10])
    parser.add_argument("--lengths", type=int, nargs="+", default=[1, 5], help="numbers of lengths")
    parser.add_argument("--rounds", type=int, default=5, help="turns that are timed")
    parser.add_argument("--tokenize", default="13a", help="tokeniser of sacrebleu")
    parser.add_argument("--lowercase", action="store_true", help="score without case")
    options = parser.parse_args()
    pairs = [*open_pairs(options.source, options.target, options.data)]
    sources, references = map(list, zip(*pairs))
    student, teacher = zoo.load(options.checkpoint), zoo.load(options.teacher)
    teacher.jit_compile = False
    systems = {"teacher, greedy": (teacher, 1, None), "teacher, beam 4": (teacher, 4, None)}
    for iterations in options.iterations:
        for lengths in options.lengths:
            systems[f"T = {iterations}, lengths {lengths}"] = (student, lengths, iterations)
    scores = {
        name: bleu(run(sources, *system), references, tokenize=options.tokenize, lowercase=options.lowercase).value
        for name, system in systems.items()
    }
    middle = sorted(sources, key=len)[len(sources) // 2 - 16 :][:32]
    times = {name: [] for name in systems}
    for turn in range(options.rounds + 1):  # The first one warms up.
        for name, system in systems.items():
            measured = [seconds(texts, system) for texts in (middle[16:17], middle)]
            times[name] += [measured] if turn else []
    print(f"| system | BLEU, {len(pairs)} pairs | ms for 1 sentence | ms for 32 |\n|---|---:|---:|---:|")
    for name in systems:
        cells = [f"{np.median(t):.1f} [{min(t):.1f}..{max(t):.1f}]" for t in 1e3 * np.transpose(times[name])]
        print(f"| {name} | {scores[name]:.2f} | {cells[0]} | {cells[1]} |", flush=True)


def run(texts, translator, beam_size, iterations):
    if iterations is not None:
        translator.iterations = iterations
    return translator.translate(texts, beam_size=beam_size)


def seconds(texts, system):
    start = time.perf_counter()
    run(texts, *system)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
