"""What the formats of other runtimes cost and gain: score, size and speed of each, beside TensorFlow.

    python benchmarks/runtimes.py classification/sst2 --data sst2/dev.tsv --label-names 0=negative 1=positive
    python benchmarks/runtimes.py classification/trec --data trec/dev.tsv --columns 0 2
    python benchmarks/runtimes.py labelling/masc-pos --data masc_pos/dev.tsv --unknown-labels wrong
    python benchmarks/runtimes.py images/cifar10 --data cifar10/dev.zip
    python benchmarks/runtimes.py detection/bccd --data bccd/val.zip
    python benchmarks/runtimes.py translation/en-de --data dev.tsv --formats onnx litert ctranslate2 --limit 1000

Other options are those of the task's `evaluate`. Texts are encoded, images resized, and answers scored, as there; only
the model is computed by the other runtime. Translations are those of greedy search, the same as here if the logits are.
Milliseconds for 1 and 32 of the texts or images: the medians of `--repeats` turns, with the lowest and the highest, all
systems in turn, each behind a first call.
"""

import argparse
import importlib
import itertools
import pathlib
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import zoo
from keras_transformer.decoding import Hypotheses
from zoo.config import END_ID, PAD_ID, START_ID
from zoo.conversion.model_graphs import model_graphs
from zoo.conversion.to_ctranslate2 import ctranslate2_search, write_ctranslate2
from zoo.conversion.to_runtimes import RUNTIMES, load_runtime, write_runtime
from zoo.translation.metrics import bleu


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", help="of translation, classification, labelling, images or detection")
    parser.add_argument("--formats", nargs="+", choices=[*RUNTIMES, "ctranslate2"], default=RUNTIMES)
    parser.add_argument("--limit", type=int, help="score the first so many pairs of a translator only")
    parser.add_argument("--repeats", type=int, default=5, help="turns that are timed")
    options, rest = parser.parse_known_args()
    systems = {"TensorFlow": zoo.load(options.checkpoint)}
    task = systems["TensorFlow"].task
    commands = importlib.import_module(f"zoo.{task}.__main__").COMMANDS
    corpus = commands.read(commands.parser().parse_args(["evaluate", "--checkpoint", options.checkpoint, *rest]))
    if task == "translation":
        score, texts, run = translation([*itertools.islice(corpus, options.limit)])
    else:
        score, texts, run = labels(commands.module().evaluate, corpus)
    sizes = {}
    with tempfile.TemporaryDirectory() as folder:
        for format, quantization in itertools.product(options.formats, (None, "int8")):
            name = f"{format}, {quantization or 'float32'}"
            systems[name] = predictor = zoo.load(options.checkpoint)
            sizes[name] = attach(predictor, pathlib.Path(folder) / name, format, quantization)
        scores = {name: score(predictor) for name, predictor in systems.items()}
        times = {name: [] for name in systems}
        for turn in range(options.repeats + 1):
            for name, predictor in systems.items():
                measured = [seconds(run, predictor, some) for some in (texts[16:17], texts)]
                times[name] += [measured] if turn else []
    print("| system | MB | score | ms for 1 text | ms for 32 |\n|---|---:|---:|---:|---:|")
    for name in systems:
        cells = [f"{np.median(t):.1f} [{min(t):.1f}..{max(t):.1f}]" for t in 1e3 * np.transpose(times[name])]
        size = f"{sizes[name]:.1f}" if name in sizes else ""
        print(f"| {name} | {size} | {scores[name]} | {cells[0]} | {cells[1]} |", flush=True)


def attach(predictor, folder, format, quantization):
    """Exports a predictor, and lets it compute its model by the export; returns the megabytes of the model."""
    if format == "ctranslate2":
        write_ctranslate2(predictor, folder, quantization)
        predictor.greedy = ctranslate2_search(predictor, folder, beam_size=1)
        return (folder / "model.bin").stat().st_size / 1e6
    write_runtime(predictor, folder, format, quantization)
    runners = load_runtime(folder)
    if predictor.task == "translation":
        predictor.greedy = greedy_search(runners)
    else:
        names = [*model_graphs(predictor)["model"].inputs]
        predictor.compiled = lambda function: lambda *arrays: model(runners, names, arrays)
    return sum(path.stat().st_size for path in folder.iterdir() if path.suffix in (".onnx", ".tflite")) / 1e6


def model(runners, names, arrays):
    found = runners["model"](**dict(zip(names, arrays, strict=True)))
    return sorted_queries(**found) if "boxes" in found else found["probabilities"]


def sorted_queries(probabilities, boxes):
    """As `ObjectDetector.predictions`."""
    best = probabilities.max(-1)
    order = np.argsort(-best, axis=1, kind="stable")
    sorted_pairs = (np.take_along_axis(array, order, 1) for array in (probabilities.argmax(-1), best))
    return *sorted_pairs, np.take_along_axis(boxes, order[..., None], 1)


def greedy_search(runners):
    """Returns a search by the graphs `encode` and `step`, for `Translator.decode`."""

    def search(source, limits):
        memory = runners["encode"](source=source)
        _, heads, _, width = memory["memory_key_0"].shape
        zeros = np.zeros((len(source), heads, int(max(limits)), width), "float32")
        state = memory | {f"cache{name.removeprefix('memory')}": zeros for name in memory if name != "memory_mask"}
        tokens, ended = np.full(len(source), START_ID, "int32"), np.zeros(len(source), bool)
        ids = np.full((len(source), 1, int(max(limits))), PAD_ID, "int32")
        for index in range(int(max(limits))):
            outputs = runners["step"](token_ids=tokens, index=np.array(index, "int32"), **state)
            state |= {name.removeprefix("new_"): array for name, array in outputs.items() if name != "logits"}
            outputs["logits"][:, [PAD_ID, START_ID]] = -np.inf
            best = np.where(index == limits - 1, END_ID, outputs["logits"].argmax(1))
            tokens = np.where(ended, PAD_ID, best).astype("int32")
            ids[:, 0, index] = tokens
            ended |= tokens == END_ID
            if ended.all():
                break
        scores = np.zeros((len(source), 1), "float32")
        return Hypotheses(ids, scores, scores, np.count_nonzero(ids, axis=2).astype("int32"))

    return search


def translation(pairs):
    sources, references = map(list, zip(*pairs))
    first = []

    def run(translator, texts):
        if not hasattr(translator, "greedy"):
            return translator.translate(texts, beam_size=1)
        return [found[0].text for found in translator.decode(texts, translator.greedy, num_beams=1)]

    def score(translator):
        found = run(translator, sources)
        first.append(found)
        same = sum(map(str.__eq__, found, first[0]))
        return f"BLEU {bleu(found, references).value:.2f}, {same} of {len(found)} the same"

    return score, middle(sources), run


def labels(evaluate, corpus):
    def score(predictor):
        return ", ".join(f"{score.metric} {score.value:.2f}" for score in evaluate(predictor, corpus).scores)

    (kind,) = {"words", "texts", "image"} & {*dir(next(iter(corpus)))}
    inputs = [getattr(example, kind) for example in corpus]
    if kind == "image":
        return score, inputs[:32], answers_of_images
    texts = [text if kind == "words" else text[0] for text in inputs]
    return score, middle(texts), lambda predictor, texts: predictor.probabilities(texts)


def answers_of_images(predictor, images):
    return predictor.find(images) if predictor.task == "detection" else predictor.probabilities(images)


def middle(texts):
    return sorted(texts, key=len)[len(texts) // 2 - 16 :][:32]


def seconds(run, predictor, texts):
    start = time.perf_counter()
    run(predictor, texts)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
