"""Encoding of sentences of words as rows of token ids, with labels and features of the words. No Keras."""

from collections.abc import Sequence

import numpy as np

from zoo.corpora.labelled_corpus import NO_LABEL, LabelledCorpus, frame_rows
from zoo.corpora.token_rows import TokenRows
from zoo.text.checks import check_texts
from zoo.text.word_characters import word_characters


def encode_windows(sentences, tokenizer, max_tokens) -> tuple[TokenRows, list[list[int]], list[int]]:
    """Encodes sentences as windows: rows of whole words with at most `max_tokens` tokens.

    Returns:
        Ids; for each row the positions of its words' first subwords; for each row the number of its sentence.
    """
    room = max_tokens - 2
    rows, places, owners = [], [], []
    for number, words in enumerate(sentences):
        for i, ids in enumerate(_subwords(words, number, tokenizer)):
            if i == 0 or len(rows[-1][0]) + len(ids[:room]) > room:
                rows.append([[]])
                places.append([])
                owners.append(number)
            places[-1].append(len(rows[-1][0]) + 1)
            rows[-1][0] += ids[:room]
    tokens, _, _ = frame_rows(rows, tokenizer.start_id, tokenizer.end_id, max_tokens)
    return tokens, places, owners


def _subwords(words, number, tokenizer):
    if isinstance(words, (str, bytes)):
        raise ValueError(
            f"`sentences` must be lists of words. Received: sentences[{number}]={words[:40]!r}. Split it into words."
        )
    words = check_texts(words, f"sentences[{number}]")
    for i, word in enumerate(words):
        if not word.strip():
            raise ValueError(f"No word may be empty. Received: sentences[{number}][{i}]={word!r}.")
    words = [tokenizer.word_prefix + word for word in words]
    return [ids or [tokenizer.unknown_id] for ids in tokenizer.encode(words)]


def labelled_windows(sentences, labels, tokenizer, max_tokens: int, characters: bool) -> LabelledCorpus:
    """Encodes sentences and the numbers of the labels of their words as windows, with characters if requested."""
    tokens, places, _ = encode_windows(sentences, tokenizer, max_tokens)
    features = {"character_ids": window_characters(tokens, places, sentences)} if characters else {}
    return LabelledCorpus(tokens, window_labels(tokens, places, labels), features)


def window_labels(tokens: TokenRows, places, labels: Sequence[Sequence[int]]) -> TokenRows:
    """Returns a label for each token of the windows: that of the word at its first subword, NO_LABEL elsewhere."""
    ids = np.full(len(tokens.ids), NO_LABEL, "int32")
    ids[first_subwords(tokens, places)] = [label for row in labels for label in row]
    return TokenRows(ids, tokens.offsets)


def window_characters(tokens: TokenRows, places, sentences: Sequence[Sequence[str]]) -> TokenRows:
    """Returns the characters of its word for each token of the windows; see `zoo.text.word_characters`."""
    characters = word_characters([word for words in sentences for word in words])
    begins, inside = np.zeros(len(tokens.ids), int), np.ones(len(tokens.ids), bool)
    begins[first_subwords(tokens, places)] = 1
    inside[[*tokens.offsets[:-1], *(tokens.offsets[1:] - 1)]] = False
    ids = np.zeros((len(tokens.ids), characters.shape[1]), "int32")
    ids[inside] = characters[np.cumsum(begins)[inside] - 1]
    return TokenRows(ids, tokens.offsets)


def first_subwords(tokens, places):
    """Returns the position in `tokens.ids` of the first subword of each word of all sentences: int64 `[words]`."""
    starts = np.repeat(tokens.offsets[:-1], [len(row) for row in places])
    return starts + np.array([place for row in places for place in row], int)


def window_boundaries(tokens: TokenRows, places) -> TokenRows:
    """Returns for each window the positions of its words' first subwords and of the end token."""
    ends = (tokens.lengths - 1).tolist()
    return TokenRows.of([[*row, end] for row, end in zip(places, ends)])
