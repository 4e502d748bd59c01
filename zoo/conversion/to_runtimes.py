"""Conversion of models to ONNX and LiteRT, and their computation by ONNX Runtime and LiteRT."""

import json
import os
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from keras import ops

from zoo.config import START_ID
from zoo.conversion.image_rules import image_rules
from zoo.conversion.model_graphs import CACHE, NEW_CACHE, model_graphs
from zoo.conversion.runtime_formats import FORMATS
from zoo.conversion.text_rules import text_rules, tokenizer_files
from zoo.corpora.batching import source_batch
from zoo.corpora.labelled_corpus import LabelledCorpus
from zoo.models.detector import Detector
from zoo.models.seq2seq import Seq2Seq
from zoo.models.tagger import Tagger
from zoo.serving.encoder_predictor import PROBES
from zoo.serving.predictor import check_backend, raise_mismatch
from zoo.serving.sentence_encoder import SentenceEncoder
from zoo.storage.arrays import new_folder, write_atomically
from zoo.storage.formats import to_json

RUNTIMES = "onnx", "litert"
MODEL = "model.json"
_TOLERANCE = 1e-4  # Of what float32 computes; of numbers above 1, this part of them.
_STEPS = 6  # Of a translation that is compared.


def write_runtime(predictor: Any, folder: str | os.PathLike, format: str, quantization: str | None = None) -> dict:
    """Writes a model for ONNX Runtime or LiteRT, which compute it without this package; returns what `model.json` says.

    The folder has `model.json`, the files of the tokenizer if there is one, and the model: `model.onnx`, `encode.onnx`
    and `step.onnx` of translators, or `model.tflite` with a signature for each graph (`zoo.conversion.model_graphs`).
    Token ids or resized images go in, probabilities, boxes, embeddings or logits come out; texts, files and searches
    are left to the caller, as `model.json` says. The runtime has computed test inputs of two sizes before the folder is
    put in place. Without quantization its outputs differ from those of the model by at most 1e-4, or 1e-4 of their
    value.

    Args:
        predictor: A predictor that `zoo.conversion.model_graphs.model_graphs` takes.
        folder: Folder to create.
        format: One of `RUNTIMES`.
        quantization: "int8" for matrices in 8 bits, or None for float32.

    Raises:
        ValueError: If `folder` exists, the format or the quantization is unknown, Keras does not run on TensorFlow, or
            the model is none that can be written.
        ImportError: If a package is missing.
        RuntimeError: If the runtime computes something else. Nothing is written.
    """
    choices = {"format": (format, RUNTIMES), "quantization": (quantization, (None, "int8"))}
    for name, (value, known) in choices.items():
        if value not in known:
            raise ValueError(f"`{name}` must be one of {known}. Received: {name}={value!r}. Choose one of them.")
    check_backend(f"Export to {FORMATS[format].title}")
    graphs = model_graphs(predictor)
    FORMATS[format].require()
    from zoo.tf import graph_formats

    convert = graph_formats.onnx_files if format == "onnx" else graph_formats.litert_files
    with new_folder(folder) as part:
        reads_text = predictor.tokenizer is not None
        tokenizer = tokenizer_files(predictor.tokenizer) if reads_text else {}
        card = predictor.full_card()
        for name, content in {**convert(graphs, quantization), **tokenizer}.items():
            write_atomically(part / name, content)
        names = {"onnx": "{}.onnx", "litert": "model.tflite"}
        facts = {
            "format": format,
            "quantization": quantization,
            "graphs": {
                name: {
                    "file": names[format].format(name),
                    "inputs": {key: spec._asdict() for key, spec in graph.inputs.items()},
                    "outputs": {key: spec._asdict() for key, spec in graph.outputs.items()},
                }
                for name, graph in graphs.items()
            },
            **{name: card[name] for name in ("name", "licence") if name in card},
            "task": predictor.task,
            **(text_rules(predictor) if reads_text else image_rules(predictor)),
            "tokenizer_files": [*tokenizer],
        }
        write_atomically(part / MODEL, to_json(facts))
        difference = _largest_difference(predictor, load_runtime(part), quantization)
        content = to_json({**facts, "largest_difference": float(f"{difference:.2g}")})
        write_atomically(part / MODEL, content)
    return json.loads(content)


def load_runtime(folder: str | os.PathLike) -> dict[str, Callable[..., Mapping[str, np.ndarray]]]:
    """Loads the graphs of a folder of `write_runtime` by name, as functions from named arrays to named arrays."""
    folder = pathlib.Path(folder)
    facts = json.loads((folder / MODEL).read_text("utf-8"))
    FORMATS[facts["format"]].require_runtime()
    if facts["format"] == "onnx":
        return {name: _onnx_function(folder / graph["file"]) for name, graph in facts["graphs"].items()}
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(folder / "model.tflite"))
    return {name: interpreter.get_signature_runner(name) for name in facts["graphs"]}


def _onnx_function(path):
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda **inputs: dict(zip(names, session.run(None, inputs), strict=True))


def _largest_difference(predictor, runners, quantization):
    """Compares a runtime with its model on test inputs; returns the largest difference of an output."""
    if predictor.tokenizer is None:
        pairs = _of_images
    else:
        pairs = _translations if isinstance(predictor.model, Seq2Seq) else _outputs
    largest = 0.0
    for expected, found in pairs(predictor, runners):
        if quantization and isinstance(predictor.model, Detector):  # Other cells may become the queries, in any order.
            expected, found = np.sort(expected, 1), np.sort(found, 1)
        shaped = found.shape == expected.shape and np.isfinite(found).all()
        if not shaped or not (quantization or np.allclose(found, expected, rtol=_TOLERANCE, atol=_TOLERANCE)):
            raise_mismatch(f"model for {predictor.task}", PROBES, expected, found)
        largest = max(largest, float(np.abs(found - expected).max()))
    return largest


def _outputs(predictor, runners):
    """Yields outputs of the model and of the runtime: of a short row, and of all rows, padded."""
    corpus = _encoded(predictor)
    inputs = {"token_ids": corpus.tokens, **corpus.features}
    graph = model_graphs(predictor)["model"]
    for numbers in (np.array([int(corpus.tokens.lengths.argmin())]), np.arange(len(corpus))):
        arrays = {name: rows.padded(numbers, int(rows.lengths[numbers].max())) for name, rows in inputs.items()}
        expected, found = graph.function(*arrays.values()), runners["model"](**arrays)
        real = arrays["token_ids"] > 0  # What is computed for padding is unspecified.
        for name, wanted in expected.items():
            wanted = ops.convert_to_numpy(wanted)
            yield (wanted[real], found[name][real]) if isinstance(predictor.model, Tagger) else (wanted, found[name])


def _of_images(predictor, runners):
    """Yields outputs of the model and of the runtime: of one picture of noise, and of three that fill less."""
    graph, random = model_graphs(predictor)["model"], np.random.default_rng(0)
    shape = graph.inputs["images"].shape[1:]
    for count in (1, 3):
        arrays = {"images": random.integers(0, 256, (count, *shape), "uint8")}
        if "sizes" in graph.inputs:
            arrays["sizes"] = np.array([[shape[0] // count, shape[1]]] * count, "int32")
        expected, found = graph.function(*arrays.values()), runners["model"](**arrays)
        yield from ((ops.convert_to_numpy(wanted), found[name]) for name, wanted in expected.items())


def _encoded(predictor):
    if isinstance(predictor, SentenceEncoder):
        return LabelledCorpus(predictor.rows(PROBES))
    texts = PROBES
    if isinstance(predictor.model, Tagger):
        texts = [text.split() for text in PROBES if text]
        return predictor.encode_examples(texts, [predictor.labels[:1] * len(words) for words in texts])
    if predictor.model.config.num_texts > 1:
        texts = [*zip(PROBES, PROBES[::-1])]
    return predictor.encode_examples(texts, predictor.labels[:1] * len(texts))


def _translations(translator, runners):
    """Yields the logits of whole targets by the model, and those of each step by the runtime."""
    rows = sorted(translator.tokenizer.encode(PROBES), key=len)
    shape, random = model_graphs(translator)["step"].inputs[f"{CACHE}_key_0"].shape, np.random.default_rng(0)
    for source in (source_batch(rows[-1:]), source_batch(rows)):
        target = random.integers(START_ID, translator.model.config.vocabulary_size, (len(source), _STEPS), "int32")
        target[:, 0] = START_ID
        expected = ops.convert_to_numpy(translator.model({"source": source, "target": target}))
        memory = runners["encode"](source=source)
        names = [name for name in model_graphs(translator)["step"].inputs if name.startswith(CACHE)]
        cache = {name: np.zeros((len(source), shape[1], _STEPS, shape[3]), "float32") for name in names}
        for index in range(_STEPS):
            tokens = {"token_ids": target[:, index], "index": np.array(index, "int32")}
            found = runners["step"](**tokens, **memory, **cache)
            cache = {name: found[name.replace(CACHE, NEW_CACHE, 1)] for name in names}
            yield expected[:, index], found["logits"]
