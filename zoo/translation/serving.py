"""A translator as a SavedModel folder that takes text and returns text."""

import functools
import os
from collections.abc import Callable, Sequence

import numpy as np

from keras_transformer.decoding import Hypotheses
from zoo.limits import Limits
from zoo.serving.saved_model import refuse, write_service
from zoo.translation import alignment
from zoo.translation.metrics import bleu, chrf

# Rounding may choose the other of two hypotheses that are as good as each other.
_BLEU_TOLERANCE = 0.1
_AT_ONCE = 16  # Texts scored in a call that has a limit of time.
_PROBES = ["", "Where is my hat?", "A man is sleeping.", "Two dogs run.\n\nIt is late. We go home.", "xyzzy 🙂 ❤"]


def export(
    translator,
    folder: str | os.PathLike,
    beam_size: int = 4,
    length_penalty: float = 0.6,
    num_return: int = 1,
    alignments: bool = False,
    text: bool = True,
    pairs: Sequence[tuple[str, str]] = (),
    **limits,
) -> dict:
    """Writes a SavedModel after it has shown that it translates as the translator does; see `Translator.export`."""
    if alignments and not text:
        raise ValueError("Alignments are between words, which only a model with text=True has. Leave out one of both.")
    limits, search = Limits(**limits), {"beam_size": beam_size, "length_penalty": length_penalty}

    def check(part):
        served = served_translate(part, translator, None if limits.max_seconds is None else _AT_ONCE)
        return {"exported_scores": _checked(translator, served, search, pairs)}

    make = functools.partial(_service, translator, search, num_return, alignments, text)
    card = {**translator.card, "search": {**search, "num_return": num_return}}
    return write_service(folder, make, check, card, limits)


def served_translate(
    folder: str | os.PathLike, translator, at_once: int | None = None
) -> Callable[[Sequence[str]], list[str]]:
    """Texts to texts by a SavedModel, all or so many a call; one on ids needs the vocabulary of its `translator`."""
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


def _service(translator, search, num_return, alignments, text, limits):
    from zoo.tf.translation_service import TextService, TranslationService
    from zoo.translation.translator import MAX_EXTRA_TOKENS

    model = translator.model
    parts = model, translator.plain_search(num_return=num_return, **search), num_return, MAX_EXTRA_TOKENS, limits
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
