"""What evalb counts in 500 random trees and their damaged copies, for comparison.

    python tests/evalb_reference.py --evalb PROGRAM --output tests/fixtures/evalb.tsv

PROGRAM is evalb (Sekine and Collins, https://nlp.cs.nyu.edu/evalb, public domain), compiled from its C source, with
COLLINS.prm beside it; the wheel of allennlp 0.9.0 has both in allennlp/tools/EVALB. Writes a line for each pair: gold
tree, damaged tree, recall, precision and accuracy of tags; the last line has the scores of all pairs.
"""

import argparse
import pathlib
import random
import re
import subprocess
import tempfile

from nltk.tree import Tree

from zoo.parsing.trees import to_brackets, to_spans, to_tree

PUNCTUATION = [",", ":", "``", "''", "."]
LABELS = ["S", "NP", "VP", "PP", "ADVP", "PRT", "SBAR", "QP"]
TAGS = ["NN", "VB", "DT", "IN", "RB", "RP", "-LRB-", *PUNCTUATION]
SUMMARY = "Bracketing Recall", "Bracketing Precision", "Bracketing FMeasure", "Complete match", "Tagging accuracy"


def grown(rng: random.Random, words: int) -> Tree:
    """Returns a random tree over some words."""
    if words == 1:
        leaf = Tree(rng.choice(TAGS), ["w"])
        return Tree(rng.choice(LABELS), [leaf]) if rng.random() < 0.3 else leaf
    children, left = [], words
    while left:
        taken = rng.randint(1, left if children else left - 1)
        children.append(grown(rng, taken))
        left -= taken
    return Tree(rng.choice(LABELS), children)


def damaged(tree: Tree, rng: random.Random) -> Tree:
    """Returns the tree with random changes of labels, constituents and tags."""
    words, tags, labels = to_spans(tree)
    kept = {span: rng.choice(["NP", "ADVP PRT", label, label, label]) for span, label in labels.items()}
    kept = {span: label for span, label in kept.items() if rng.random() > 0.15}
    for _ in range(3):
        first, last = sorted(rng.sample(range(len(words) + 1), 2))
        if not any(a < first < b < last or first < a < last < b for a, b in kept):
            kept[first, last] = rng.choice(["PRT", "NP", "PP VP"])
    # Of different numbers of punctuation marks evalb says only that the lengths differ.
    tags = [tag if tag in PUNCTUATION or rng.random() > 0.1 else "NN" for tag in tags]
    return to_tree(words, tags, kept)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--evalb", type=pathlib.Path, required=True)
    arguments.add_argument("--output", type=pathlib.Path, required=True)
    options = arguments.parse_args()
    rng = random.Random(1)
    gold = [Tree("TOP", [Tree("S", [grown(rng, rng.randint(2, 14)), Tree("NN", ["w"])])]) for _ in range(500)]
    found = [damaged(tree, rng) for tree in gold]
    columns = [[*map(to_brackets, trees)] for trees in (gold, found)]
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder, name) for name in ("gold", "found")]
        for file, lines in zip(files, columns):
            file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        command = [options.evalb.resolve(), "-p", options.evalb.resolve().with_name("COLLINS.prm"), *files]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in printed.splitlines() if re.match(r" *\d+ +\d+ +0 ", line)]
    assert len(rows) == len(gold), f"evalb compared {len(rows)} of {len(gold)} pairs"
    lines = ["\t".join([*pair, row[3], row[4], row[-1]]) for *pair, row in zip(*columns, rows)]
    summary = dict(re.findall(r"(.*?) *= *([\d.]+)", printed[: printed.index("-- len<=40 --")]))
    lines.append("\t".join(summary[name] for name in SUMMARY))
    options.output.write_text("".join(f"{line}\n" for line in lines), "utf-8")


if __name__ == "__main__":
    main()
