"""Vocabularies learned from texts."""

import io
import itertools
import typing

import sentencepiece

from zoo.config import END_ID, PAD_ID, START_ID, UNKNOWN_ID
from zoo.text.case_markup import BEGIN_PIECE, END, mark_capitals
from zoo.text.tokenizer import NUM_SPECIAL_IDS, SENTINEL, Tokenizer

SMALLEST_VOCABULARY = NUM_SPECIAL_IDS + 256
PIECES = "subwords", "characters", "bytes"


def train_tokenizer(
    texts: typing.Iterable[str],
    vocabulary_size: int,
    *,
    lowercase: bool = False,
    case_markup: bool = False,
    split_digits: bool = False,
    pieces: str = "subwords",
    whole_texts: bool = False,
    sentinels: int = 0,
    max_sentences: int = 2_000_000,
    max_sentence_bytes: int = 16_384,
) -> Tokenizer:
    """Learns a vocabulary of byte pairs, characters or bytes; the same texts in the same order give the same model.

    For a joint vocabulary, pass the source and the target sentences.

    Args:
        texts: Sentences, read once as a stream.
        vocabulary_size: Number of pieces, special ids and 256 bytes included. A small corpus may give fewer:
            read `Tokenizer.vocabulary_size`.
        lowercase: Whether to read capitals as small letters, and compatibility forms (full-width letters, ligatures)
            as plain ones: NFKC with case folding. Useful for little data, or if some texts have no capitals.
        case_markup: Whether words in capitals are encoded as small letters between markers; see
            `zoo.text.case_markup`. Not with `lowercase`.
        split_digits: Whether each digit is a piece of its own, so that a model can copy any number.
        pieces: "subwords" (byte-pair encoding), "characters", each of the corpus one piece, or "bytes", where nothing
            is learned. The bytes of other characters are pieces of any vocabulary.
        whole_texts: Whether texts are encoded as they are, with the spaces at their beginning. By default a space is
            added there, so that a word has the same pieces at the beginning of a sentence as inside.
        sentinels: Number of pieces that stand for parts left out of a text (Raffel et al. 2020); they are in no text.
        max_sentences: Size, above 100, of a fixed random sample to learn from, which must fit into memory; 0 for all
            sentences.
        max_sentence_bytes: Longer sentences are ignored.

    Raises:
        ValueError: If there is no text, `pieces` is another word, both `lowercase` and `case_markup` are set, or
            `vocabulary_size` does not hold the characters of the corpus.
    """
    if sentinels < 0:
        raise ValueError(f"`sentinels` must be 0 or more. Received: sentinels={sentinels}.")
    if vocabulary_size <= SMALLEST_VOCABULARY + sentinels:
        raise ValueError(
            f"`vocabulary_size` must be above {SMALLEST_VOCABULARY + sentinels} (special ids, bytes and sentinels). "
            f"Received: vocabulary_size={vocabulary_size}. Use some thousands."
        )
    if max_sentences and max_sentences <= 100:
        raise ValueError(f"`max_sentences` must be above 100, or 0. Received: max_sentences={max_sentences}.")
    if isinstance(texts, str):
        raise ValueError(
            f"`texts` must be an iterable of sentences. Received one string: {texts[:40]!r}. Put it into a list."
        )
    if lowercase and case_markup:
        raise ValueError("`case_markup` is for vocabularies with capitals. Received: lowercase=True too. Set one.")
    if pieces not in PIECES:
        raise ValueError(f"`pieces` must be one of {', '.join(PIECES)}. Received: pieces={pieces!r}. Choose one.")
    if pieces == "bytes":  # Those of a corpus without characters, whose only piece is the space.
        texts, vocabulary_size = [" "], SMALLEST_VOCABULARY + sentinels + 1
    failures = []
    sentences = _nonempty(texts, failures)
    sentences = map(mark_capitals, sentences) if case_markup else sentences
    first = next(sentences, None)
    if first is None:
        raise ValueError("A vocabulary needs text to learn from. Received: no sentence that is not empty.")
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=itertools.chain([first], sentences),
            model_writer=model,
            model_type="bpe" if pieces == "subwords" else "char",
            vocab_size=vocabulary_size,
            hard_vocab_limit=False,
            normalization_rule_name="nfkc_cf" if lowercase else "identity",
            remove_extra_whitespaces=False,
            add_dummy_prefix=not whole_texts,  # Decoding removes the space again.
            byte_fallback=True,
            split_digits=split_digits,
            control_symbols=[SENTINEL.format(i) for i in range(sentinels)],  # No text is encoded as one.
            user_defined_symbols=[BEGIN_PIECE, END] if case_markup else [],
            character_coverage=1.0,
            pad_id=PAD_ID,
            unk_id=UNKNOWN_ID,
            bos_id=START_ID,
            eos_id=END_ID,
            input_sentence_size=max_sentences,
            shuffle_input_sentence=bool(max_sentences),
            max_sentence_length=max_sentence_bytes,
            num_threads=1,  # Written into the model, which should not depend on the machine.
            minloglevel=2,
        )
    except RuntimeError as error:
        if failures:
            raise failures[0] from None
        if "sentences_.empty()" in str(error):
            raise ValueError(
                f"Every sentence has more than max_sentence_bytes={max_sentence_bytes}. Raise it."
            ) from error
        if "required_chars" in str(error):
            raise ValueError(
                "`vocabulary_size` must hold every character of the corpus. "
                f"Received: vocabulary_size={vocabulary_size}; sentencepiece says: {error}"
            ) from error
        raise
    return Tokenizer(model.getvalue())


def _nonempty(texts, failures):
    """Yields the texts that are not empty; records exceptions, which sentencepiece would replace by its own."""
    try:
        for text in texts:
            if not isinstance(text, str):
                raise ValueError(f"`texts` must be an iterable of strings. Received: {text!r}. Convert it to a string.")
            if text:
                yield text
    except Exception as error:
        failures.append(error)
        raise
