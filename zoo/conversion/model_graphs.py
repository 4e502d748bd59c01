"""The functions of models that other runtimes compute: of tensors with names, without searches and texts."""

from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops

from keras_transformer.decoding import PerSentence, PerStep
from keras_transformer.ops.cache import KVCache
from zoo.models.classifier import Classifier
from zoo.models.detector import Detector
from zoo.models.image_classifier import ImageClassifier
from zoo.models.seq2seq import Seq2Seq
from zoo.models.tagger import Tagger
from zoo.serving.sentence_encoder import SentenceEncoder


class TensorSpec(NamedTuple):
    """Type and shape of a tensor; an axis with a name has any size."""

    dtype: str
    shape: tuple[int | str, ...]


class Graph(NamedTuple):
    """A function of tensors, in the order of `inputs`, that returns a dictionary with the names of `outputs`."""

    function: Callable[..., dict[str, Any]]
    inputs: dict[str, TensorSpec]
    outputs: dict[str, TensorSpec]


TOKENS = "batch", "tokens"
_INPUTS = {"token_ids": TOKENS, "segment_ids": TOKENS, "character_ids": (*TOKENS, "characters")}
CACHE, NEW_CACHE = "cache", "new_cache"  # Beginnings of the names of what a step reads and writes.


def model_graphs(predictor) -> dict[str, Graph]:
    """Returns the graphs of a predictor's model by name.

    All but translators have one, `model`: from token ids to `embeddings` `[B, D]`, or to `probabilities` `[B, C]` or
    `[B, T, L]`; from images to `probabilities` `[B, C]`; or from images and their sizes to `probabilities` `[B, Q, C]`
    and `boxes` `[B, Q, 4]` of objects. Translators have `encode`, from the source to the memory, projected for each
    block of the decoder, and `step`, from the last tokens, the memory and the cache to logits and the new cache.

    Raises:
        ValueError: If the predictor is of another kind, or does not compute in float32.
    """
    model = predictor.model
    if isinstance(model, Seq2Seq) and predictor.task == "translation":
        if model.config.architecture != "transformer":
            raise ValueError(
                "Graphs for other runtimes are made of translators with sinusoids. Received: "
                f"model.architecture={model.config.architecture!r}. Export it as a SavedModel."
            )
        graphs = _translator_graphs(model)
    elif isinstance(model, Classifier | Tagger):
        graphs = {"model": _classifier_graph(predictor)}
    elif isinstance(predictor, SentenceEncoder):
        graphs = {"model": _encoder_graph(predictor)}
    elif isinstance(model, ImageClassifier):
        graphs = {"model": _image_graph(predictor)}
    elif isinstance(model, Detector):
        graphs = {"model": _detector_graph(predictor)}
    else:
        raise ValueError(
            "Graphs for other runtimes are made of encoders, classifiers, taggers, detectors and translators, one "
            f"model at a time. Received: a {type(predictor).__name__} of the task {predictor.task}. Export it as a "
            "SavedModel."
        )
    if model.compute_dtype != "float32":
        raise ValueError(
            "Graphs for other runtimes are made of models that compute in float32. "
            f"Received: one that computes in {model.compute_dtype}. Load it with dtype='float32'."
        )
    return graphs


def _classifier_graph(predictor):
    sizes = TOKENS if isinstance(predictor.model, Tagger) else TOKENS[:1]
    outputs = {"probabilities": TensorSpec("float32", (*sizes, len(predictor.labels)))}
    inputs = {name: TensorSpec("int32", _INPUTS[name]) for name in predictor.inputs}
    return Graph(lambda *arrays: {"probabilities": predictor.softmax(*arrays)}, inputs, outputs)


def _encoder_graph(predictor):
    outputs = {"embeddings": TensorSpec("float32", ("batch", predictor.model.config.hidden_dim))}
    inputs = {"token_ids": TensorSpec("int32", TOKENS)}
    return Graph(lambda token_ids: {"embeddings": predictor.mean_vectors(token_ids)}, inputs, outputs)


def _image_graph(predictor):
    size = predictor.model.config.image_size
    outputs = {"probabilities": TensorSpec("float32", ("batch", len(predictor.labels)))}
    inputs = {"images": TensorSpec("uint8", ("batch", size, size, 3))}
    return Graph(lambda images: {"probabilities": predictor.softmax(images)}, inputs, outputs)


def _detector_graph(predictor):
    config = predictor.model.config
    images = TensorSpec("uint8", ("batch", config.image_rows, config.image_columns, 3))
    names = {"probabilities": len(predictor.labels), "boxes": 4}
    outputs = {name: TensorSpec("float32", ("batch", config.num_queries, size)) for name, size in names.items()}

    def detect(images, sizes):
        return dict(zip(outputs, predictor.queries(images, sizes), strict=True))

    return Graph(detect, {"images": images, "sizes": TensorSpec("int32", ("batch", 2))}, outputs)


def _translator_graphs(model):
    """Returns the graphs `encode` and `step`. Keys and values have the axes batch, heads, steps and width of a head."""
    num_heads, num_blocks = model.config.num_heads, model.config.num_decoder_layers
    width = model.config.hidden_dim // num_heads

    def specs(name, steps):
        names = [f"{name}_{part}_{block}" for block in range(num_blocks) for part in KVCache._fields]
        return dict.fromkeys(names, TensorSpec("float32", ("batch", num_heads, steps, width)))

    memory = {"memory_mask": TensorSpec("bool", ("batch", "source_tokens")), **specs("memory", "source_tokens")}
    cache, new_cache = specs(CACHE, "steps"), specs(NEW_CACHE, "steps")

    def apart(caches):
        return [ops.reshape(x, (-1, num_heads, ops.shape(x)[1], width)) for cache in caches for x in cache]

    def together(arrays):
        rows = [ops.reshape(x, (-1, ops.shape(x)[2], width)) for x in arrays]
        return tuple(map(KVCache, rows[::2], rows[1::2]))

    def encode(source):
        _, (state,) = model.init_state(source, num_beams=1)
        _, projected, mask = state
        return dict(zip(memory, [mask, *apart(projected)], strict=True))

    def step(token_ids, index, mask, *arrays):
        projected, past = together(arrays[: 2 * num_blocks]), together(arrays[2 * num_blocks :])
        state = PerStep(()), PerSentence((PerStep(past), projected, mask))
        logits, (_, ((written, _, _),)) = model.step_function(num_beams=1)(token_ids, state, index)
        (past,) = written
        return {"logits": ops.cast(logits, "float32"), **dict(zip(new_cache, apart(past), strict=True))}

    tokens = {"token_ids": TensorSpec("int32", ("batch",)), "index": TensorSpec("int32", ())}
    logits = {"logits": TensorSpec("float32", ("batch", model.config.vocabulary_size))}
    return {
        "encode": Graph(encode, {"source": TensorSpec("int32", ("batch", "source_tokens"))}, memory),
        "step": Graph(step, {**tokens, **memory, **cache}, {**logits, **new_cache}),
    }
