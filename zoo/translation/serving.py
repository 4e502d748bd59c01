"""A translator as a SavedModel folder that takes text and returns text."""

import functools
import os
from collections.abc import Callable, Sequence

import numpy as np

from keras_transformer.decoding import Hypotheses
from zoo.serving import refuse, write_service
from zoo.translation.alignment import attention_function
from zoo.translation.metrics import bleu, chrf

# Rounding may choose the other of two hypotheses that are as good as each other.
_BLEU_TOLERANCE = 0.1
_PROBES = ["", "Where is my hat?", "A man is sleeping.", "Two dogs run.\n\nIt is late. We go home.", "xyzzy 🙂 ❤"]


def export(
    translator,
    folder: str | os.PathLike,
    beam_size: int = 4,
    length_penalty: float = 0.6,
    num_return: int = 1,
    alignments: bool = False,
    text: bool = True,
    max_bytes: int = 100_000,
    pairs: Sequence[tuple[str, str]] = (),
) -> dict:
    """Writes a SavedModel after it has shown that it translates as the translator does; see `Translator.export`."""
    if alignments and not text:
        raise ValueError("Alignments are between words, which only a model with text=True has. Leave out one of both.")
    if max_bytes < 1:
        raise ValueError(f"`max_bytes` must be at least 1. Received: max_bytes={max_bytes}.")
    search = {"beam_size": beam_size, "length_penalty": length_penalty}

    def check(part):
        return {"exported_scores": _checked(translator, served_translate(part, translator), search, pairs)}

    make = functools.partial(_service, translator, search, num_return, alignments, text, max_bytes)
    return write_service(
        folder, make, check, {**translator.card, "search": {**search, "num_return": num_return, "max_bytes": max_bytes}}
    )


def served_translate(folder: str | os.PathLike, translator) -> Callable[[Sequence[str]], list[str]]:
    """Texts to texts by a SavedModel; one on ids needs the vocabulary of its `translator`."""
    import tensorflow as tf

    signatures = tf.saved_model.load(str(folder)).signatures
    if "serving_default" in signatures:
        translate = signatures["serving_default"]
        return lambda texts: [t.decode() for t in translate(tf.constant([*texts], tf.string))["translations"].numpy()]
    translate_ids = signatures["translate_ids"]

    def search(source, limits):
        found = translate_ids(tf.constant(source))
        return Hypotheses(found["ids"], found["scores"], found["scores"], tf.math.is_finite(found["scores"]))

    return lambda texts: [candidates[0].text for candidates in translator.decode(texts, search, 1)]


def _service(translator, search, num_return, alignments, text, max_bytes):
    from zoo.tf.translation_service import TextService, TranslationService
    from zoo.translation.translator import MAX_EXTRA_TOKENS

    model = translator.model
    parts = model, translator.search(num_return=num_return, **search), num_return, MAX_EXTRA_TOKENS
    if not text:
        return TranslationService(*parts)
    from zoo.tf.tokenizers import GraphTokenizer

    return TextService(
        *parts,
        tokenizer=GraphTokenizer(translator.tokenizer),
        max_source_tokens=translator.max_source_tokens,
        chunk_tokens=max(1, translator.batch_tokens // search["beam_size"]),
        max_bytes=max_bytes,
        weights_of=attention_function(model) if alignments else None,
    )


def _checked(translator, served, search, pairs):
    """Scores of the exported model on `pairs`, which must be those of the translator, as must be its answers."""
    expected, found = translator.translate(_PROBES, **search), served(_PROBES)
    for probe, wanted, received in zip(_PROBES, expected, found):
        if wanted != received:
            refuse("translator", probe, wanted, received)
    if not pairs:
        return []
    sources, references = zip(*pairs)
    options = translator.card.get("bleu", {})
    hypotheses = served(sources)
    score = bleu(hypotheses, references, resamples=1000, **options)
    own = bleu(translator.translate(sources, **search), references, **options)
    if not np.isclose(score.value, own.value, rtol=0, atol=_BLEU_TOLERANCE):
        raise RuntimeError(
            f"The exported model has BLEU {score.value:.2f}, its translator {own.value:.2f}, so it was not kept. "
            "Please report this."
        )
    return [{**result._asdict(), **search} for result in (score, chrf(hypotheses, references, 1000))]
