"""What a translator looks at, and how its search goes: for people who want to see it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from keras_transformer.decoding.beam_search import length_penalty
from keras_transformer.visualize.beams import BeamRecorder
from zoo.config import END_ID, PAD_ID, START_ID
from zoo.corpora.batching import source_batch
from zoo.models.seq2seq import Seq2Seq
from zoo.text.checks import check_texts
from zoo.text.placeholders import hide, restore
from zoo.translation.segments import split_texts

_IMPOSSIBLE = -1e6  # Log-probabilities below are those of no beam.
MAX_TOKENS = 200  # Of a text whose attention is shown: its weights are as many as the square of this, for each head.


class Attention(NamedTuple):
    """All attention weights of a text and its translation.

    Args:
        source: The S tokens of the text, with its end.
        target: The T tokens that the decoder read, from the start on: step t predicted token t + 1.
        encoder: Float32 `[layers, heads, S, S]`.
        decoder: Float32 `[layers, heads, T, T]`.
        cross: Float32 `[layers, heads, T, S]`.
    """

    source: list[str]
    target: list[str]
    encoder: np.ndarray
    decoder: np.ndarray
    cross: np.ndarray


class Extension(NamedTuple):
    """What the search made of an extension of a beam by a token.

    Args:
        parent: Number of the beam.
        token: The token.
        log_prob: Log-probability of the beam with this token.
        fate: "kept" as one of the next beams, "finished" as a translation, "pruned" for more probable ones, "looping"
            if its beam repeats itself too often, "stopped" if nothing better could come from it when the search ended.
        score: Of a finished one its log-probability over the length penalty, else None.
        best: Whether it is a part of the translation that was chosen.
    """

    parent: int
    token: str
    log_prob: float
    fate: str
    score: float | None
    best: bool


class RecordedSearch(NamedTuple):
    """The search for the translation of a sentence.

    Args:
        source: Tokens of the sentence, with its end.
        steps: The most probable extensions of each step, best first.
        translations: The translations that were found with their scores, best first.
    """

    source: list[str]
    steps: list[list[Extension]]
    translations: list[tuple[str, float]]


def attention_weights(translator: Any, text: str, translation: str) -> Attention:
    """Computes the weights of all heads of a `Translator`.

    Args:
        translator: The translator.
        text, translation: A text and its translation, which may be any.

    Raises:
        ValueError: If the model is no `Seq2Seq`, or one of the texts has no words or more than 200 tokens.
    """
    model, tokenizer = _model(translator), translator.tokenizer
    source, target = tokenizer.encode(check_texts([text]))[0], tokenizer.encode_targets(check_texts([translation]))[0]
    for name, ids in (("text", source), ("translation", target)):
        if not 0 < len(ids) <= MAX_TOKENS:
            raise ValueError(
                f"Attention is shown of 1 to {MAX_TOKENS} tokens. Received: a {name} of {len(ids)}. Pass a sentence."
            )
    source, target = source_batch([source]), np.asarray([[START_ID, *target]], "int32")
    seen = ops.not_equal(source, PAD_ID)
    memory, encoder = model.encoder(model.embed(source), mask=seen, return_attention_scores=True)
    _, decoder = model.decoder(model.embed(target), memory, memory_mask=seen, return_attention_scores=True)
    return Attention(
        _pieces(translator, source[0]),
        _pieces(translator, target[0]),
        _stack(encoder),
        _stack(scores.self_attention for scores in decoder),
        _stack(scores.cross_attention for scores in decoder),
    )


def recorded_search(translator: Any, text: str, beam_size: int | None = None) -> RecordedSearch:
    """Translates the first sentence of a text, and records the search.

    Args:
        translator: A `Translator`.
        text: The text. Of more than one sentence, the first is translated.
        beam_size: Number of beams; by default that of the translator.

    Raises:
        ValueError: If the model is no `Seq2Seq`, the text has no words, or the beam has fewer than two beams.
    """
    model = _model(translator)
    (segments,) = split_texts(check_texts([text]), translator.tokenizer, translator.max_source_tokens, True)
    first = segments[0].text if segments else ""
    shown, hidden = hide(first) if translator.placeholders else (first, [])
    (ids,) = translator.tokenizer.encode([shown])
    settings = translator.search_settings(1, beam_size)
    beams, alpha = settings["beam_size"], settings["length_penalty"]
    if not ids or beams < 2:
        raise ValueError(f"A search has words and beams. Received: {len(ids)} tokens, {beams} beams. Pass a sentence.")
    recorders = []

    def watch(step, state):
        recorders.append(BeamRecorder(step, state, beams))
        return recorders[0].step, recorders[0].state

    source = source_batch([ids])
    limit = source.shape[1] + translator.max_extra_tokens
    search = translator.plain_search(beams, beams)
    found = search(ops.convert_to_tensor(source), ops.convert_to_tensor([limit], "int32"), watch=watch)
    rows, scores, lengths = (ops.convert_to_numpy(values)[0] for values in (found.ids, found.scores, found.lengths))
    texts = [restore(each, hidden) for each in translator.tokenizer.decode([row.tolist() for row in rows])]
    best = rows[0][: lengths[0]].tolist()
    translations = [pair for pair, length in zip(zip(texts, map(float, scores)), lengths) if length]
    steps = _steps(recorders[0], _pieces(translator, range(model.config.vocabulary_size)), best, limit, alpha)
    return RecordedSearch(_pieces(translator, source[0]), steps, translations)


def _steps(recorder, pieces, best, limit, alpha):
    """Returns the extensions of each step, told from which beams there are in the step after."""
    prefixes, steps = [[START_ID]] * recorder.beam_size, []
    for number, (parents, tokens, log_probs) in enumerate(recorder.considered):
        ends = tokens == END_ID
        if number + 1 < len(recorder.tokens):
            alive = recorder.log_probs[number + 1] > _IMPOSSIBLE
            kept = {*zip(recorder.parents[number + 1][alive].tolist(), recorder.tokens[number + 1][alive].tolist())}
            lowest = recorder.log_probs[number + 1][alive].min(initial=np.inf)
        else:
            kept = set()
        least = log_probs[~ends][: recorder.beam_size].min(initial=np.inf)  # The last of the next beams.
        extensions = []
        for parent, token, log_prob, end in zip(parents.tolist(), tokens.tolist(), log_probs.tolist(), ends):
            if not log_prob > _IMPOSSIBLE or token in (PAD_ID, START_ID):  # Never a part of a translation.
                continue
            finished = end and (log_prob >= least or number + 1 == limit)
            if finished:
                fate = "finished"
            elif not kept:
                fate = "pruned" if end else "stopped"
            elif (parent, token) in kept:
                fate = "kept"
            else:
                fate = "looping" if not end and (log_prob > lowest or len(kept) < recorder.beam_size) else "pruned"
            score = log_prob / float(length_penalty(number + 1, alpha)) if finished else None
            chosen = [*prefixes[parent][1:], token] == best[: number + 1]
            extensions.append(Extension(parent, pieces[token], log_prob, fate, score, chosen))
        steps.append(extensions)
        if kept:
            following = zip(recorder.parents[number + 1].tolist(), recorder.tokens[number + 1].tolist())
            prefixes = [[*prefixes[parent], token] for parent, token in following]
    return steps


def _model(translator):
    model = getattr(translator, "model", None)
    if not isinstance(model, Seq2Seq):
        raise ValueError(f"The model must be a Seq2Seq. Received: {type(model).__name__}. Use another translator.")
    return model


def _pieces(translator, ids: Sequence[int]) -> list[str]:
    names = {START_ID: "<s>", END_ID: "</s>"}
    pieces = translator.tokenizer.pieces
    return [names.get(int(i)) or pieces[int(i)].replace("▁", " ") for i in ids]


def _stack(scores):
    return np.stack([ops.convert_to_numpy(weights)[0] for weights in scores]).astype("float32")
