"""Export of translators as SavedModels, and comparison of a SavedModel with its translator."""

import os
from collections.abc import Callable, Sequence

import numpy as np

from keras_transformer.decoding import Hypotheses
from zoo.limits import Limits
from zoo.serving.predictor import raise_mismatch
from zoo.text.glossary import check_glossary
from zoo.translation import alignment
from zoo.translation.metrics import bleu, chrf
from zoo.translation.searches import searched

_BLEU_TOLERANCE = 0.1  # Rounding may change the order of hypotheses with equal scores.
_COMPILED_WIDTHS = 16, 32, 64  # Positions; longer texts are rare, and gain less.
_TEXTS_PER_CALL = 16  # Of scored texts, if calls have a time limit.
_PROBES = [
    "",
    "Where is my hat?",
    "A man is sleeping.",
    "Two dogs run.\n\nIt is late. We go home.",
    "xyzzy 🙂 ❤",
    "Ask Quiltrude.",
]


def translation_service(
    translator, limits: Limits, search: dict, alignments: bool, text: bool, compiled_for: Sequence[int] = ()
):
    """Returns the `tf.Module` to save; see `Translator.export` for the arguments."""
    if compiled_for and (min(compiled_for) < 1 or limits.max_seconds is not None):
        raise ValueError(
            "`compiled_for` must be positive numbers of texts, without `max_seconds`, as the time of a compiled search "
            f"is not checked. Received: compiled_for={[*compiled_for]}, max_seconds={limits.max_seconds}. "
            "Change one of both."
        )
    from zoo.tf.compiled_search import compiled_search
    from zoo.tf.translation_service import TextService, TranslationService

    model, extra_tokens = translator.model, translator.max_extra_tokens
    run = translator.plain_search(**searched(search))
    if compiled_for:
        run = compiled_search(run, compiled_for, _COMPILED_WIDTHS)
    parts = model, run, search["num_return"], searched(search)["num_return"], extra_tokens, limits
    if not text:
        return TranslationService(*parts)
    from zoo.tf.vocabularies import graph_tokenizer

    return TextService(
        *parts,
        tokenizer=graph_tokenizer(translator.tokenizer),
        max_source_tokens=translator.max_source_tokens,
        sentences=translator.split_sentences,
        placeholders=translator.placeholders,
        known_words=translator.known_words,
        glossary=check_glossary(translator.glossary, translator.placeholders),
        chunk_tokens=max(1, translator.batch_tokens // search["beam_size"]),
        weights_of=translator.attention() if alignments else None,
        longest_aligned=alignment.MAX_ALIGNED_TOKENS,
    )


def check_export(
    translator,
    limits: Limits,
    folder: os.PathLike,
    search: dict,
    pairs: Sequence[tuple[str, str]],
    compiled_for: Sequence[int],
):
    """Compares a SavedModel with its translator on test inputs and on `pairs`; returns its scores on the pairs."""
    search = {name: value for name, value in search.items() if name != "num_return"}
    expected, served = translator.translate(_PROBES, **search), load_exported(folder, translator)
    most = len(pairs) + len(_PROBES) if limits.max_seconds is None else _TEXTS_PER_CALL
    for size in (*compiled_for, most):
        for probe, wanted, received in zip(_PROBES, expected, served(_PROBES, size)):
            if wanted != received:
                raise_mismatch("translator", probe, wanted, received)
    if not pairs:
        return []
    sources, references = zip(*pairs)
    options = translator.card.get("bleu", {})
    hypotheses = served(sources, most)
    score = bleu(hypotheses, references, resamples=1000, **options)
    original = bleu(translator.translate(sources, **search), references, **options)
    if not np.isclose(score.value, original.value, rtol=0, atol=_BLEU_TOLERANCE):
        raise_mismatch("translator", f"{len(pairs)} pairs", original, score)
    return [{**result._asdict(), **search} for result in (score, chrf(hypotheses, references, 1000))]


def load_exported(folder: str | os.PathLike, translator) -> Callable[[Sequence[str], int], list[str]]:
    """Loads a SavedModel as a function from texts, and the maximum number of them in a call, to translations.

    Args:
        folder: Folder of the SavedModel.
        translator: The original, which encodes and decodes texts for a SavedModel that takes ids.
    """
    import tensorflow as tf

    signatures = tf.saved_model.load(str(folder)).signatures

    def search(source, limits):
        found = signatures["translate_ids"](tf.constant(source))
        return Hypotheses(found["ids"], found["scores"], found["scores"], tf.math.is_finite(found["scores"]))

    def call(texts):
        if "serving_default" not in signatures:
            return [candidates[0].text for candidates in translator.decode(texts, search, 1)]
        found = signatures["serving_default"](tf.constant([*texts], tf.string))["translations"]
        return [text.decode() for text in found.numpy()]

    def served(texts, texts_per_call):
        parts = (texts[i : i + texts_per_call] for i in range(0, len(texts), texts_per_call))
        return [translation for part in parts for translation in call(part)]

    return served
