"""Description of what surrounds a model of texts: its vocabulary, how texts become token ids, and outputs texts."""

from typing import Any

from zoo.config import NUM_CHARACTERS, PAD_ID
from zoo.models.seq2seq import Seq2Seq
from zoo.models.tagger import Tagger
from zoo.serving.sentence_encoder import SentenceEncoder
from zoo.storage.formats import to_json
from zoo.text import case_markup, placeholders
from zoo.text.byte_pair_tokenizer import BytePairTokenizer
from zoo.text.copied import COPIED
from zoo.text.piece_tokenizer import PieceTokenizer
from zoo.text.vocabularies import Vocabulary
from zoo.text.word_pieces import WordPieceTokenizer

PIECES = "pieces.txt"
_FRAME = (
    "token_ids: the start id, the ids of the text, the end id; at most max_tokens, the end of the text is cut off. "
    "Rows of a batch are filled up with the pad id."
)
_PAIR = (
    "A model of two texts: the start id, the ids of the first, the end id, the ids of the second, the end id; of the "
    "longer text, the end is cut off. segment_ids are 1 in the second text and at its end id, and 0 elsewhere."
)
_WORDS = (
    "Each word of a sentence is encoded by itself (one without ids is the unknown id); the label of a word is that of "
    "its first id. Longer sentences are split into rows of whole words. word_prefix comes before each word."
)
_CHARACTERS = (
    "character_ids: for each token the 20 characters of its word: 1, for each character 3 + its code point modulo "
    f"{NUM_CHARACTERS - 3}, 2, and zeros; of words of more than 18 characters the first and the last 9; zeros for the "
    "start id, the end id and padding."
)
_SOURCE = (
    "source: the ids of a sentence of at most max_tokens tokens, and the end id; rows of a batch are filled up with "
    "the pad id. Longer texts are split at line breaks and sentences, which are translated one by one. A sentence that "
    "matches copied as a whole is its own translation."
)
_STEP = (
    "encode is run once for a batch of sentences. step is run for index 0, 1, 2 ... with the last token of each, at "
    "first the start id, what encode returned, and the cache: at first zeros with at least as many steps as there will "
    "be tokens, then the new_cache of the step before. logits are those of the next token; the pad id and the start id "
    "are never chosen, and the end id ends a translation. It has at most as many tokens as the source, its end id "
    "included, plus max_extra_tokens, and ends where the same 1 to 8 ids follow each other more than max_repeats times "
    "(twice as often as in the source is always allowed). With beams, the rows of the cache are reordered as they are."
)


def text_rules(predictor: Any) -> dict:
    """Returns what a program needs around the model of a predictor of texts, ready for JSON."""
    model, tokenizer = predictor.model, predictor.tokenizer
    kinds = {WordPieceTokenizer: "word pieces", BytePairTokenizer: "byte pairs"}
    kind = kinds.get(type(tokenizer), "sentencepiece")
    ids = {"pad": PAD_ID, "unknown": tokenizer.unknown_id, "start": tokenizer.start_id, "end": tokenizer.end_id}
    facts = {"tokenizer": kind, "lowercase": tokenizer.lowercase, "special_ids": ids}
    if kind == "word pieces":
        facts["strip_accents"] = tokenizer.strip_accents
    if kind == "byte pairs":
        facts["prefix_space"] = tokenizer.prefix_space
    facts["case_markup"] = _case_rules() if getattr(tokenizer, "case_markup", False) else None
    if isinstance(model, Seq2Seq):
        names = "max_extra_tokens", "max_repeats", "split_sentences"
        facts |= {"max_tokens": predictor.max_source_tokens, **{name: getattr(predictor, name) for name in names}}
        facts["placeholders"] = _placeholder_rules() if predictor.placeholders else None
        facts["copied"] = COPIED
        facts["prefix_ids"] = [*getattr(tokenizer, "prefix_ids", ())]
        return facts | {"texts": _SOURCE, "step": _STEP}
    facts |= {"max_tokens": predictor.max_tokens, "texts": _FRAME}
    if isinstance(predictor, SentenceEncoder):
        return facts
    facts |= {"labels": predictor.labels, "temperature": predictor.temperature, "temperature_is_applied": True}
    parts = [_FRAME]
    if isinstance(model, Tagger):
        parts += [_WORDS]
        facts["word_prefix"] = tokenizer.word_prefix
    if "segment_ids" in predictor.inputs:
        parts += [_PAIR]
    if "character_ids" in predictor.inputs:
        parts += [_CHARACTERS]
    return facts | {"texts": " ".join(parts)}


def tokenizer_files(tokenizer: Vocabulary) -> dict[str, bytes]:
    """Returns the files of a vocabulary by name.

    These are `vocab.txt` for word pieces, `vocab.json` and `merges.txt` for byte pairs, or sentencepiece models. Where
    the ids are not those of sentencepiece, `pieces.txt` has the pieces in the order of the ids.
    """
    if isinstance(tokenizer, BytePairTokenizer):
        vocabulary = {piece: number for number, piece in enumerate(tokenizer.pieces)}
        return {"vocab.json": to_json(vocabulary), "merges.txt": ("\n".join(tokenizer.merges) + "\n").encode()}
    pieces = ("\n".join(tokenizer.pieces) + "\n").encode()
    if isinstance(tokenizer, WordPieceTokenizer):
        return {"vocab.txt": pieces}
    own = {PIECES: pieces} if isinstance(tokenizer, PieceTokenizer) else {}
    return tokenizer.sentencepiece_models() | own


def _case_rules():
    return {
        "rule": "Before encoding, the replacements in order, then small letters for what matches marked. After "
        "decoding, in what matches encoded, the markers are removed and the rest is in capitals, with the small and "
        "the capital letter of sharp_s; then leftover is removed.",
        "replacements": case_markup.REPLACEMENTS,
        "marked": case_markup.MARKED,
        "encoded": case_markup.ENCODED,
        "markers": case_markup.MARKERS,
        "sharp_s": case_markup.SHARP_S,
        "leftover": case_markup.END,
    }


def _placeholder_rules():
    return {
        "rule": "Before the markup of capitals, what matches reserved is replaced by lost. Then what matches kept, "
        "with ASCII word boundaries, is replaced by the characters first, first + 1 ..., up to the number most. In the "
        "translation it is put back; placeholders of nothing are removed.",
        "reserved": placeholders.RESERVED,
        "lost": placeholders.LOST,
        "kept": placeholders.KEPT,
        "placeholders": placeholders.PLACEHOLDERS,
        "first": placeholders.FIRST,
        "most": placeholders.MOST,
    }
