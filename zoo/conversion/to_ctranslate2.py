"""Conversion of translators to CTranslate2, an inference engine in C++."""

import os
from collections.abc import Callable

import numpy as np

from keras_transformer.decoding import Hypotheses, count_repeats
from keras_transformer.decoding.hypotheses import IMPOSSIBLE
from keras_transformer.decoding.repetition import LONGEST
from keras_transformer.ops.positions import sinusoidal_encoding
from zoo.config import END_ID, PAD_ID, START_ID
from zoo.conversion.runtime_formats import FORMATS
from zoo.extras import require
from zoo.models.seq2seq import Seq2Seq
from zoo.storage.arrays import named_arrays, new_folder, write_atomically

QUANTIZATIONS = FORMATS["ctranslate2"].quantizations
_POSITIONS = 1024


def write_ctranslate2(translator, folder: str | os.PathLike, quantization: str | None = None) -> None:
    """Writes a translator as a folder that `ctranslate2.Translator` loads; without this package, TensorFlow and Keras.

    The folder also holds `sentencepiece.model` (of Marian, `source.spm` and `target.spm`), whose pieces are the tokens:
    CTranslate2 adds the start and the end, but not the token of the target language (`>>ita<<`) that a Marian of
    several languages reads first. A piece that the vocabulary does not have is unknown.
    What a `Translator` does around its search is not part of it: sentences, placeholders, markers of capitals, copied
    text, limits of lengths and repeats. With `ctranslate2_search`, a `Translator` runs the search by CTranslate2.

    Args:
        translator: A `zoo.translation.predictor.Translator`. Texts of more than 1,023 tokens do not fit.
        folder: Folder to create.
        quantization: One of `QUANTIZATIONS`, the type of the matrices; None for float32.

    Raises:
        ImportError: If ctranslate2 is not installed.
        ValueError: If `folder` exists, `quantization` is unknown, or the model is a T5.
    """
    FORMATS["ctranslate2"].require()
    if quantization not in (None, *QUANTIZATIONS):
        raise ValueError(
            f"`quantization` must be one of {', '.join(QUANTIZATIONS)}, or None for float32. "
            f"Received: {quantization!r}. Choose one of them."
        )
    if not isinstance(translator.model, Seq2Seq):
        raise ValueError(
            "CTranslate2 translates token by token. Received: a non-autoregressive translator. Export a SavedModel."
        )
    if translator.model.config.architecture != "transformer":
        raise ValueError(
            "Translators are written for CTranslate2 with sinusoids and layer normalization. Received: "
            f"model.architecture={translator.model.config.architecture!r}. Export a SavedModel instead."
        )
    from ctranslate2.specs import TransformerSpec
    from ctranslate2.specs.common_spec import Activation

    config, arrays = translator.model.config, named_arrays(translator.model)
    layers = config.num_encoder_layers, config.num_decoder_layers
    activation = {"gelu_tanh": Activation.GELUTanh}.get(config.activation) or getattr(
        Activation, config.activation.upper()
    )
    spec = TransformerSpec.from_config(layers, config.num_heads, pre_norm=config.normalize_first, activation=activation)
    positions = np.array(sinusoidal_encoding(np.arange(_POSITIONS), config.hidden_dim))
    table = arrays["embedding/embeddings"]
    for name, stack, embeddings in (
        ("encoder", spec.encoder, spec.encoder.embeddings[0]),
        ("decoder", spec.decoder, spec.decoder.embeddings),
    ):
        embeddings.weight, stack.position_encodings.encodings = table, positions
        if config.normalize_first:
            _set_norm(stack.layer_norm, arrays, f"{name}/norm")
        for i, layer in enumerate(stack.layer):
            _set_block(layer, arrays, f"{name}/block_{i}")
    spec.decoder.projection.weight = table
    if config.output_bias:
        spec.decoder.projection.bias = arrays["output_bias"]
    spec.config.layer_norm_epsilon = translator.model.encoder.blocks[0].epsilon
    spec.config.add_source_eos, pieces = True, translator.tokenizer.pieces
    spec.config.bos_token = spec.config.decoder_start_token = pieces[START_ID]
    spec.config.eos_token = pieces[END_ID]
    spec.register_source_vocabulary([*pieces])
    spec.register_target_vocabulary([*pieces])
    spec.validate()
    spec.optimize(quantization)
    with new_folder(folder) as part:
        spec.save(str(part))
        for name, model in translator.tokenizer.sentencepiece_models().items():
            write_atomically(part / name, model)


def ctranslate2_search(
    translator, folder: str | os.PathLike, beam_size: int = 4, num_return: int = 1, **options
) -> Callable:
    """Returns a search by CTranslate2, for `translator.decode(texts, search, num_beams=beam_size)`.

    Its beam search is not that of this package: beams that end take the place of others, and scores are divided by the
    length instead of GNMT's penalty. Greedy search, a beam of 1, finds the same translations: hypotheses are cut where
    they reach the limit of their segment or `translator.max_repeats`, as they end there. Scores are of what was found.

    Args:
        translator: The translator that was written to `folder`.
        folder: Folder of `write_ctranslate2`.
        beam_size: Number of beams.
        num_return: Number of hypotheses of each segment, at most `beam_size`.
        options: Arguments of `ctranslate2.Translator`, such as `intra_threads`.

    Raises:
        ImportError: If ctranslate2 is not installed.
    """
    require("Search by CTranslate2", "ctranslate2")
    import ctranslate2

    pieces = translator.tokenizer.pieces
    ids = {piece: i for i, piece in enumerate(pieces)}
    engine = ctranslate2.Translator(str(folder), **options)

    def search(source, limits):
        width = int(max(limits))
        rows = [[pieces[i] for i in row if i not in (PAD_ID, END_ID)] for row in source]
        found = engine.translate_batch(
            rows,
            beam_size=beam_size,
            num_hypotheses=num_return,
            max_decoding_length=width - 1,  # Without the end.
            return_scores=True,
            suppress_sequences=[[pieces[PAD_ID]], [pieces[START_ID]]],
        )
        shape = len(rows), num_return
        hypotheses = Hypotheses(
            ids=np.full((*shape, width), PAD_ID, "int32"),
            scores=np.full(shape, IMPOSSIBLE, "float32"),
            log_probs=np.full(shape, IMPOSSIBLE, "float32"),
            lengths=np.zeros(shape, "int32"),
        )
        for row, result in enumerate(found):
            for n, (tokens, score) in enumerate(zip(result.hypotheses, result.scores)):
                found_ids = [ids[token] for token in tokens[: limits[row] - 1]]
                found_ids = [*_before_loop(found_ids, source[row], translator.max_repeats), END_ID]
                hypotheses.ids[row, n, : len(found_ids)] = found_ids
                hypotheses.scores[row, n] = hypotheses.log_probs[row, n] = score
                hypotheses.lengths[row, n] = len(found_ids)
        return hypotheses

    return search


def loop_end(ids, max_repeats):
    """Returns how many ids there are when the same n-gram has followed itself too often (`is_loop`), or None."""
    runs = [0] * LONGEST
    for i, token in enumerate(ids):
        for n in range(1, LONGEST + 1):
            runs[n - 1] = runs[n - 1] + 1 if i >= n and ids[i - n] == token else 0
            if runs[n - 1] >= max_repeats * n:
                return i + 1
    return None


def _before_loop(ids, source, max_repeats):
    """Returns the ids up to the place where searches with `max_repeats` end a hypothesis."""
    if not max_repeats or loop_end(ids, max_repeats) is None:
        return ids
    return ids[: loop_end(ids, max(2 * int(count_repeats(source[None], PAD_ID)[0]), max_repeats))]


def _set_block(layer, arrays, path):
    """Sets the weights of an encoder or decoder block; CTranslate2 keeps them `[outputs, inputs]`, some joined."""
    for name, spec, joined in (
        ("self_attention", layer.self_attention, (("query", "key", "value"), ("output",))),
        ("cross_attention", getattr(layer, "attention", None), (("query",), ("key", "value"), ("output",))),
    ):
        if spec is not None:
            _set_norm(spec.layer_norm, arrays, f"{path}/{name}_residual/norm")
            for linear, parts in zip(spec.linear, joined, strict=True):
                _set_dense(linear, arrays, *(f"{path}/{name}/{part}_dense" for part in parts))
    _set_norm(layer.ffn.layer_norm, arrays, f"{path}/feed_forward_residual/norm")
    _set_dense(layer.ffn.linear_0, arrays, f"{path}/feed_forward/inner_dense")
    _set_dense(layer.ffn.linear_1, arrays, f"{path}/feed_forward/output_dense")


def _set_dense(spec, arrays, *paths):
    spec.weight = np.concatenate([arrays[f"{path}/kernel"].T for path in paths])
    spec.bias = np.concatenate([arrays[f"{path}/bias"] for path in paths])


def _set_norm(spec, arrays, path):
    spec.gamma, spec.beta = arrays[f"{path}/gamma"], arrays[f"{path}/beta"]
