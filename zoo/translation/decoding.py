"""Translation of texts by a search, segment by segment."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from keras import ops

from keras_transformer.decoding import Hypotheses
from zoo.corpora.batching import length_sorted_chunks, next_power_of_two, original_order
from zoo.serving.predictor import MIN_WIDTH, Progress
from zoo.text.checks import check_texts
from zoo.text.copied import is_copied
from zoo.text.glossary import Glossary, check_glossary
from zoo.text.known_words import KnownWords
from zoo.text.placeholders import LOST, hide, restore
from zoo.translation.segments import Translation, join_segments, split_texts


def decode_texts(
    translator, texts: Sequence[str], search: Callable, num_beams: int, progress: Progress = None
) -> list[list[Translation]]:
    """Runs a search for texts, which are split into segments, in chunks of similar lengths.

    Segments without words, such as a lone address, are their own translation. Placeholders stand for addresses and
    codes inside of others, if the translator knows them, and for the terms of `translator.glossary`. Segments with
    names that are not in `translator.known_words`, or that follow a title, are also translated with placeholders for
    these; see `zoo.text.known_words`. Translations have no U+FFFD, which stands for bytes that are no character.

    Args:
        translator: A `zoo.translation.predictor.Translator`.
        texts: The texts.
        search: Such as `translator.search()` returns.
        num_beams: Beams of the search.
        progress: Called with the number of segments done since the last call.

    Returns:
        The translations of each text, best first.
    """
    options = translator.tokenizer, translator.max_source_tokens, translator.split_sentences
    segments = split_texts(check_texts(texts), *options)
    flat = [segment.text for parts in segments for segment in parts]
    candidates = [[Translation(text.replace(LOST, ""), 0.0)] if is_copied(text) else None for text in flat]
    searched = [i for i, found in enumerate(candidates) if found is None]
    if progress is not None and len(searched) < len(flat):
        progress(len(flat) - len(searched))
    hidden = [hide(flat[i]) if translator.placeholders else (flat[i], []) for i in searched]
    terms = ""
    if translator.glossary:
        glossary = Glossary.of(tuple(check_glossary(translator.glossary, translator.placeholders).items()))
        hidden, terms = [glossary.hide(text, kept) for text, kept in hidden], glossary.words
    known = KnownWords.of(translator.known_words, terms) if translator.known_words else None
    again, with_names = hide_names(hidden, known) if known else ([], [])
    hidden += with_names
    rows = translator.tokenizer.encode([text for text, _ in hidden])
    lengths = [translator.rounded_width(len(row) + 1) for row in rows]
    chunks = length_sorted_chunks(lengths, translator.batch_tokens // num_beams)
    results = []
    for chunk in chunks:
        results.append(_decode_chunk(translator, [rows[i] for i in chunk], search))
        if progress is not None:
            progress(sum(i < len(searched) for i in chunk))
    put_back = restore if translator.placeholders else lambda text, kept: text
    found = [
        [option._replace(text=put_back(option.text, kept).replace(LOST, "")) for option in options]
        for options, (_, kept) in zip(original_order(chunks, results), hidden)
    ]
    for number, options in zip(again, found[len(searched) :]):
        if known.prefers_kept(flat[searched[number]], found[number][0], options[0]):
            found[number] = options
    for i, options in zip(searched, found):
        candidates[i] = _distinct(options)
    remaining = iter(candidates)
    return [join_segments(parts, [next(remaining) for _ in parts], Translation) for parts in segments]


def pad_search_inputs(source: np.ndarray, limits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pads ids `[B, S]` and maximum lengths `[B]` of a search to sizes that are powers of two, S at least MIN_WIDTH."""
    rows, width = source.shape
    more_rows = next_power_of_two(rows) - rows
    more_steps = next_power_of_two(max(MIN_WIDTH, width)) - width
    return np.pad(source, ((0, more_rows), (0, more_steps))), np.pad(limits, (0, more_rows), constant_values=1)


def hide_names(
    hidden: Sequence[tuple[str, list[str]]], known: KnownWords
) -> tuple[list[int], list[tuple[str, list[str]]]]:
    """Returns the numbers of texts from `hide` that have names, and these texts with placeholders for them."""
    changed = ((text, known.hide_names(text, kept)) for text, kept in hidden)
    again = [(number, new) for number, (text, new) in enumerate(changed) if new[0] != text]
    return [number for number, _ in again], [new for _, new in again]


def _distinct(found):
    """Leaves out translations with the text of a better one, which is cut into other subwords."""
    best = {}
    for option in found:
        best.setdefault(option.text, option)
    return [*best.values()]


def _decode_chunk(translator, rows, search):
    found = Hypotheses(*map(ops.convert_to_numpy, search(*translator.search_inputs(rows))))
    ids, scores, lengths = (values[: len(rows)].tolist() for values in (found.ids, found.scores, found.lengths))
    texts = iter(translator.tokenizer.decode([*itertools.chain.from_iterable(ids)]))
    return [
        [Translation(text, score) for score, length, text in zip(*facts, texts) if length]
        for facts in zip(scores, lengths)
    ]
