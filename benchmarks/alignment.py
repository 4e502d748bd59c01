"""Which heads of the cross-attention align words best, by hand-aligned sentences?

    python benchmarks/alignment.py --checkpoint translation/en-de --links tests/fixtures/alignments.txt

A line of the file is `text ||| translation ||| 0-0 2-1`: pairs of word numbers, source and target, from 0. A target
word is right if its link is one of its pairs; words without a pair do not count. To all heads of the last layer, and to
none, others are added, one at a time, while the share of right words rises on the odd lines; the better set is chosen.
The even lines, which chose nothing, tell what that is worth: both shares are printed. `--save FOLDER` writes the
checkpoint with these `alignment_heads`.
"""

import argparse
import itertools
import pathlib

import zoo
from zoo.translation.alignment import STEPS, align_words, attention_function

MOST_ADDED = 3


def read_links(path: pathlib.Path, lowercase: bool) -> list[tuple[str, str, dict[int, set[int]]]]:
    """Reads (text, translation, source words of each target word) of each line."""
    rows = []
    for line in path.read_text("utf-8").splitlines():
        source, target, pairs = (part.lower() if lowercase else part for part in line.split(" ||| "))
        links = {}
        for s, t in (map(int, pair.split("-")) for pair in pairs.split()):
            links.setdefault(t, set()).add(s)
        rows.append((source, target, links))
    return rows


def share_right(translator, rows, heads) -> float:
    """Computes the percentage of the linked target words whose link is right."""
    sources, targets, links = zip(*rows)
    found = align_words(attention_function(translator.model, heads), translator.tokenizer, sources, targets)
    right = [s in wanted[t] for wanted, each in zip(links, found) for s, t in each.links if t in wanted]
    return 100 * sum(right) / len(right)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--checkpoint", default="translation/en-de", help="name or folder")
    arguments.add_argument("--links", type=pathlib.Path, required=True, help="hand-aligned sentences")
    arguments.add_argument("--lowercase", action="store_true", help="for a model of lower-cased text")
    arguments.add_argument("--save", help="folder for the checkpoint with the chosen heads")
    options = arguments.parse_args()
    translator, rows = zoo.load(options.checkpoint), read_links(options.links, options.lowercase)
    config, odd, even = translator.model.config, rows[::2], rows[1::2]
    layers, heads = range(config.num_decoder_layers), range(config.num_heads)

    def shares(chosen):
        return share_right(translator, odd, chosen), share_right(translator, even, chosen)

    def extended(chosen):
        """Adds heads while the share of the odd lines rises; returns it with the heads."""
        best = share_right(translator, odd, chosen) if chosen else 0.0
        for _ in range(MOST_ADDED):
            candidates = [head for head in itertools.product(layers, heads, STEPS) if head not in chosen]
            found = {head: share_right(translator, odd, [*chosen, head]) for head in candidates}
            head = max(found, key=found.get)
            if found[head] <= best:
                break
            best, chosen = found[head], [*chosen, head]
            print("with {}: {:.1f} {:.1f}".format(head, *shares(chosen)), flush=True)
        return best, chosen

    for layer in layers:
        whole = [(layer, head, "predicts") for head in heads]
        print("layer {}, all heads: {:.1f} {:.1f}".format(layer, *shares(whole)), flush=True)
    _, chosen = max((extended(whole), extended([])), key=lambda found: (found[0], -len(found[1])))  # As few as will do.
    print("chosen: {}: {:.1f} {:.1f}".format(chosen, *shares(chosen)))
    if options.save:
        translator.alignment_heads = tuple(chosen)
        translator.save(options.save)


if __name__ == "__main__":
    main()
