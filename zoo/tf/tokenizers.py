"""Tokenizer as TensorFlow operations, for SavedModels from strings to strings."""

import sentencepiece
import tensorflow as tf

from zoo.config import END_ID, PAD_ID, START_ID, UNKNOWN_ID
from zoo.text.case_markup import BEGIN_PIECE
from zoo.text.tokenizer import Tokenizer
from zoo.tf.case_markup import mark_capitals, restore_capitals
from zoo.tf.text_package import import_tensorflow_text

tensorflow_text = import_tensorflow_text()
_MADE = "_made_by_graph_tokenizers"


class GraphSentencepiece:
    """A sentencepiece model as a resource of each graph that uses it.

    It is a `SentencepieceTokenizer`, since `FastSentencepieceTokenizer` gives other ids for BPE models (tensorflow-text
    2.21: 2 of 200 sentences agreed). Each graph creates its own resource. One that was created outside belongs to a
    cached eager kernel, and `keras.utils.set_random_seed` empties that cache: every function that captured the resource
    would fail with a NotFoundError.

    Args:
        model: Serialized sentencepiece model.
        out_type: Type of the subwords: int32 for ids, or string.
    """

    def __init__(self, model: bytes, out_type: tf.DType = tf.int32):
        self._model, self._out_type = model, out_type

    def __call__(self):
        """Returns the resource of the current graph or an outer one, or creates it."""
        graph = around = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
        while around is not None:
            if self in getattr(around, _MADE, {}):
                return getattr(around, _MADE)[self]
            around = getattr(around, "outer_graph", None)
        made = tensorflow_text.SentencepieceTokenizer(self._model, self._out_type)
        if graph is not None:
            setattr(graph, _MADE, {**getattr(graph, _MADE, {}), self: made})
        return made


class SourceTokenizer(tf.Module):
    """Base of the tokenizers of translators. A subclass has `encode`, `encode_targets` and `decode`."""

    def source_ids(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Encodes strings `[B]` as int32 ids `[B, (S)]` with END_ID, the input of a model."""
        ids = self.encode(texts)
        ends = tf.fill([ids.nrows(), 1], END_ID)
        return tf.concat([ids, ends], axis=1)


def without_special(ids: tf.Tensor | tf.RaggedTensor) -> tf.RaggedTensor:
    """Removes special ids from ids `[B, S]`, padded or ragged."""
    if not isinstance(ids, tf.RaggedTensor):
        ids = tf.RaggedTensor.from_tensor(ids)
    special = tf.reduce_any([tf.equal(ids.flat_values, i) for i in (PAD_ID, UNKNOWN_ID, START_ID, END_ID)], 0)
    return tf.ragged.boolean_mask(ids, ids.with_flat_values(~special))


class GraphTokenizer(SourceTokenizer):
    """Encodes and decodes in a graph, with the ids of `zoo.text.tokenizer.Tokenizer`.

    Args:
        tokenizer: The vocabulary.
    """

    def __init__(self, tokenizer: Tokenizer):
        super().__init__()
        self._subwords = GraphSentencepiece(tokenizer.model)
        processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
        self._line_feed = processor.piece_to_id("<0x0A>")
        pieces = [processor.id_to_piece(i) for i in range(processor.vocab_size())]
        self._begins_word = [piece.startswith("\u2581") for piece in pieces]
        self._prefix = r"\A\n" if tokenizer.whole_texts else r"\A\n ?"
        self._marker = pieces.index(BEGIN_PIECE) if tokenizer.case_markup else None

    def encode(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Encodes strings `[B]` as int32 ids `[B, (S)]`, without special ids."""
        return self._subwords().tokenize(texts if self._marker is None else mark_capitals(texts))

    encode_targets = encode  # One vocabulary serves both sides.

    def word_numbers(self, ids: tf.RaggedTensor) -> tf.RaggedTensor:
        """Returns the number, from 0, of the word of each id; see `zoo.text.tokenizer.Tokenizer.words`."""
        place = tf.ragged.range(ids.row_lengths()).flat_values
        begins = tf.gather(tf.constant(self._begins_word), ids.flat_values)
        if self._marker is not None:
            marker = tf.equal(ids.flat_values, self._marker)
            after_first = tf.equal(place, 1) & tf.concat([[False], marker[:-1]], 0)
            begins = begins & ~marker & ~after_first
        begins = tf.equal(place, 0) | begins
        return tf.cumsum(ids.with_flat_values(tf.cast(begins, tf.int32)), axis=1) - 1

    def decode(self, ids: tf.Tensor | tf.RaggedTensor) -> tf.Tensor:
        """Decodes ids `[B, S]`, padded or ragged, to strings `[B]`; special ids are ignored, as in Python."""
        ids = without_special(ids)
        # This detokenizer, unlike sentencepiece itself, removes all leading spaces; a leading line feed prevents that.
        guards = tf.fill([ids.nrows(), 1], tf.constant(self._line_feed, ids.dtype))
        texts = self._subwords().detokenize(tf.concat([guards, ids], axis=1))
        texts = tf.strings.regex_replace(texts, self._prefix, "")
        return texts if self._marker is None else restore_capitals(texts)
