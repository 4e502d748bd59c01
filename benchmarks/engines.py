"""One translator, computed in several ways and by CTranslate2: seconds, BLEU, and how many translations are the same.

    python benchmarks/engines.py --data dev.tsv --limit 500
    python benchmarks/engines.py --data dev.tsv --limit 1000 --beam-size 1

All take the texts through the same steps before and after the search, in the same chunks of similar lengths, in turns
in one process. The first turn, which traces, compiles and warms up, is not counted. With a beam of 1 the translations
of CTranslate2 in float32 have to be the same; its beam search is another one (`zoo.conversion.to_ctranslate2`).
"""

import argparse
import os
import pathlib
import statistics
import tempfile
import time

from rich.console import Console
from rich.table import Table

import zoo
from zoo.conversion.to_ctranslate2 import ctranslate2_search, write_ctranslate2
from zoo.translation.data import open_pairs
from zoo.translation.metrics import bleu


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--checkpoint", default="translation/en-de", help="name or folder")
    arguments.add_argument("--data", required=True, help="tab-separated pairs")
    arguments.add_argument("--columns", type=int, nargs=2, help="source and target column; 0 1 by default")
    arguments.add_argument("--limit", type=int, help="use the first pairs only")
    arguments.add_argument("--beam-size", type=int, default=4)
    arguments.add_argument("--rounds", type=int, default=3, help="turns of each way")
    arguments.add_argument("--threads", type=int, default=os.cpu_count(), help="of CTranslate2")
    arguments.add_argument("--ways", nargs="+", help="some of them; all by default")
    options = arguments.parse_args()
    pairs = [*open_pairs(data=options.data, columns=options.columns)][: options.limit]
    sources, references = map(list, zip(*pairs))
    with tempfile.TemporaryDirectory() as folder:
        ways = make_ways(options, pathlib.Path(folder))
        chosen = {name: way for name, way in ways.items() if name in (options.ways or ways)}
        times, found = {name: [] for name in chosen}, {}
        for _ in range(options.rounds + 1):
            for name, way in chosen.items():
                start = time.perf_counter()
                found[name] = way(sources)
                times[name].append(time.perf_counter() - start)
    title = f"{options.checkpoint}, {len(pairs):,} texts, beam {options.beam_size}"
    first = next(iter(found))
    table = Table("way", "seconds [lowest..highest]", "first turn", "BLEU", f"as {first}", title=title)
    protocol = zoo.load(options.checkpoint).card.get("bleu", {})
    for name, (warm_up, *taken) in times.items():
        same = sum(a == b for a, b in zip(found[name], found[first]))
        span = f"{statistics.median(taken):.2f} [{min(taken):.2f}..{max(taken):.2f}]"
        score = bleu(found[name], references, **protocol).value
        table.add_row(name, span, f"{warm_up:.1f}", f"{score:.2f}", f"{same:,} of {len(pairs):,}")
    Console().print(table)


def make_ways(options, folder):
    """Returns functions from texts to translations by name."""
    ways, beam_size = {}, options.beam_size
    for name, dtype, jit_compile in (
        ("plain graph", "float32", False),
        ("auto", "float32", "auto"),
        ("plain graph, mixed_bfloat16", "mixed_bfloat16", False),
        ("auto, mixed_bfloat16", "mixed_bfloat16", "auto"),
    ):
        translator = zoo.load(options.checkpoint, dtype)
        translator.jit_compile = jit_compile
        ways[name] = lambda texts, translator=translator: translator.translate(texts, beam_size)
    for quantization in (None, "int8"):
        written = folder / str(quantization)
        write_ctranslate2(translator, written, quantization)
        settings = {"intra_threads": options.threads, "compute_type": quantization or "float32"}
        search = ctranslate2_search(translator, written, beam_size, **settings)
        ways[f"CTranslate2, {settings['compute_type']}"] = lambda texts, search=search: [
            candidates[0].text for candidates in translator.decode(texts, search, beam_size)
        ]
    return ways


if __name__ == "__main__":
    main()
