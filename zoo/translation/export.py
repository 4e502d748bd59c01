"""Translators as SavedModels: what is saved, and whether it translates as the translator does."""

import os
from collections.abc import Callable, Sequence

import numpy as np

from keras_transformer.decoding import Hypotheses
from zoo.limits import Limits
from zoo.serving.saved_model import refuse
from zoo.translation import alignment
from zoo.translation.metrics import bleu, chrf

# Rounding may choose the other of two hypotheses that are as good as each other.
_BLEU_TOLERANCE = 0.1
_AT_ONCE = 16  # Texts scored in a call that has a limit of time.
_PROBES = ["", "Where is my hat?", "A man is sleeping.", "Two dogs run.\n\nIt is late. We go home.", "xyzzy 🙂 ❤"]


def translation_service(translator, limits: Limits, search: dict, alignments: bool, text: bool):
    """Returns the `tf.Module` to save; see `Translator.export` for the arguments."""
    from zoo.tf.translation_service import TextService, TranslationService

    model, extra_tokens = translator.model, translator.max_extra_tokens
    parts = model, translator.plain_search(**search), search["num_return"], extra_tokens, limits
    if not text:
        return TranslationService(*parts)
    from zoo.tf.tokenizers import GraphTokenizer

    return TextService(
        *parts,
        tokenizer=GraphTokenizer(translator.tokenizer),
        max_source_tokens=translator.max_source_tokens,
        chunk_tokens=max(1, translator.batch_tokens // search["beam_size"]),
        weights_of=alignment.attention_function(model) if alignments else None,
        longest_aligned=alignment.LONGEST,
    )


def check_export(translator, limits: Limits, folder: os.PathLike, search: dict, pairs: Sequence[tuple[str, str]]):
    """Compares a SavedModel with its translator on some texts and on `pairs`; returns its scores on these."""
    served = served_translate(folder, translator, None if limits.max_seconds is None else _AT_ONCE)
    search = {name: value for name, value in search.items() if name != "num_return"}
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


def served_translate(
    folder: str | os.PathLike, translator, at_once: int | None = None
) -> Callable[[Sequence[str]], list[str]]:
    """Loads a SavedModel as a function from texts to texts, `at_once` a call; one on ids needs its `translator`."""
    import tensorflow as tf

    signatures = tf.saved_model.load(str(folder)).signatures
    if "serving_default" in signatures:
        translate = signatures["serving_default"]

        def served(texts):
            size = at_once or len(texts)
            parts = [texts[i : i + size] for i in range(0, len(texts), size)]
            found = [translate(tf.constant([*part], tf.string))["translations"].numpy() for part in parts]
            return [text.decode() for texts in found for text in texts]

        return served
    translate_ids = signatures["translate_ids"]

    def search(source, limits):
        found = translate_ids(tf.constant(source))
        return Hypotheses(found["ids"], found["scores"], found["scores"], tf.math.is_finite(found["scores"]))

    return lambda texts: [candidates[0].text for candidates in translator.decode(texts, search, 1)]
