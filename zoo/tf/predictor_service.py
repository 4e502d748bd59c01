"""Classifiers and taggers as SavedModels: strings in, labels and probabilities out, without this package."""

import tensorflow as tf

from zoo.config import NUM_CHARACTERS
from zoo.limits import Limits, after
from zoo.text.tokenizer import Tokenizer
from zoo.text.word_characters import BEGIN, END, LONGEST, NONE, WIDTH
from zoo.tf.chunks import in_chunks, packed
from zoo.tf.limits import check_bytes, timer
from zoo.tf.tokenizers import GraphTokenizer
from zoo.tf.word_pieces import GraphWordPieces


class PredictorService(tf.Module):
    """What both services share; see the subclasses. Answers do not depend on the other texts of a call.

    Args:
        predictor: A `zoo.serving.predictor.Predictor`.
        limits: Of a call.
    """

    def __init__(self, predictor, limits: Limits):
        super().__init__()
        self._limits = limits
        model, tokenizer = predictor.model, predictor.tokenizer
        self._tracked = [variable.value for variable in model.variables]
        self._softmax, self._labels = predictor.softmax, predictor.labels
        self._graph_tokenizer = (GraphTokenizer if isinstance(tokenizer, Tokenizer) else GraphWordPieces)(tokenizer)
        self._special = tokenizer.start_id, tokenizer.end_id, tokenizer.unknown_id
        self._max_tokens, self._chunk_tokens = predictor.max_tokens, predictor.batch_tokens
        self._inputs = predictor.inputs

    def signatures(self) -> dict:
        """The functions to save, by name."""
        specs = [tf.TensorSpec(shape, tf.string, name=name) for name, shape in self._strings()]

        def answer(*strings):
            return self._answer(timer(self._limits), *strings)

        self._function = tf.function(answer, input_signature=specs, autograph=False)
        return {tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY: self._function}

    def _in_chunks(self, check, run, nothing, *rows):
        """What `run` gives for the rows, with a check before each chunk; see `in_chunks`."""
        lengths = tf.cast(rows[0].row_lengths(), tf.int32)
        return in_chunks(lengths, self._chunk_tokens, after(check, run), nothing, *rows)

    def _encoded(self, texts):
        """Strings `[B]` to int32 ids `[B, (T)]`, without special ids."""
        return self._graph_tokenizer.encode(tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace"))


class ClassificationService(PredictorService):
    """Classes of texts.

        text: string [B], for a model of pairs second: string [B] too
        -> labels: string [B], probabilities: float32 [B, C] in the order of the card's `labels`

    Texts of more tokens than the model takes are cut, as `TextClassifier` cuts them.
    """

    def _strings(self):
        return [("text", (None,)), ("second", (None,))][: len(self._inputs)]

    def _answer(self, check, *texts):
        for side in texts:
            check_bytes(tf.strings.length(side), self._limits)
        rows = self._framed([self._encoded(side) for side in texts])
        nothing = tf.zeros((0, len(self._labels)))
        probabilities = self._in_chunks(check, self._softmax, nothing, *rows[: len(self._inputs)])
        labels = tf.gather(tf.constant(self._labels), tf.argmax(probabilities, -1))
        return {"labels": labels, "probabilities": probabilities}

    def _framed(self, parts):
        """`zoo.corpora.labelled_corpus.framed_rows` of ragged ids."""
        start, end, _ = self._special
        room = tf.constant(self._max_tokens - 1 - len(parts), tf.int64)
        lengths = [part.row_lengths() for part in parts]
        if len(parts) == 1:
            kept = [tf.minimum(lengths[0], room)]
        else:
            shorter = tf.minimum(tf.minimum(*lengths), room // 2)
            first_is_shorter = lengths[0] <= lengths[1]
            fits = lengths[0] + lengths[1] <= room
            kept = [
                tf.where(fits, length, tf.where(is_shorter, shorter, room - shorter))
                for length, is_shorter in zip(lengths, (first_is_shorter, ~first_is_shorter))
            ]
        column = tf.ones_like(lengths[0], tf.int32)[:, None]
        rows, segments = [start * column], [0 * column]
        for number, (part, length) in enumerate(zip(parts, kept)):
            places = tf.ragged.range(part.row_lengths()).flat_values
            part = tf.ragged.boolean_mask(part, part.with_flat_values(places < tf.gather(length, part.value_rowids())))
            rows += [part, end * column]
            segments += [number * tf.ones_like(part), number * column]
        return tf.concat(rows, 1), tf.concat(segments, 1)


class WordService(PredictorService):
    """What services of sentences share: strings of words `[B, W]`, filled up with "", to windows."""

    def _strings(self):
        return [("words", (None, None))]

    def _real(self, words):
        """Which strings `[B, W]` are words."""
        check_bytes(tf.reduce_sum(tf.strings.length(words), axis=1), self._limits)
        return tf.not_equal(tf.strings.strip(words), "")

    def _subwords(self, words):
        """Ids of each word, ragged `[W, (T)]`: at least one, at most as many as a window holds."""
        subwords = self._encoded(words)
        missing = tf.equal(subwords.row_lengths(), 0)
        unknown = tf.fill([tf.math.count_nonzero(missing)], self._special[2])
        unknown = tf.RaggedTensor.from_row_lengths(unknown, tf.cast(missing, tf.int64))
        return tf.concat([subwords[:, : self._max_tokens - 2], unknown], 1)

    def _windows(self, subwords, characters, sentences):
        """Rows of whole words of one sentence each, their characters, and each word's row and place there, `[W, 2]`."""
        start, end, _ = self._special
        lengths = subwords.row_lengths()
        begins = packed(sentences, lengths, self._max_tokens - 2)
        window = tf.cumsum(tf.cast(begins, tf.int64)) - 1
        count = tf.math.count_nonzero(begins)
        tokens, characters = (
            tf.RaggedTensor.from_value_rowids(values, window, count).merge_dims(1, 2)
            for values in (subwords, subwords.with_values(tf.repeat(characters, lengths, axis=0)))
        )
        column = tf.ones([count, 1], tf.int32)
        none = tf.fill([count, 1, WIDTH], NONE)
        before = tf.cumsum(lengths, exclusive=True)
        places = 1 + before - tf.gather(tf.boolean_mask(before, begins), window)
        rows = tf.concat([start * column, tokens, end * column], 1), tf.concat([none, characters, none], 1)
        return *rows, tf.stack([window, places], 1)


class LabellingService(WordService):
    """Labels of words.

        words: string [B, W], filled up with ""
        -> labels: string [B, W], filled up with "", probabilities: float32 [B, W], of these labels

    Sentences of more tokens than the model takes are tagged in windows, as `WordTagger` does.
    """

    def _answer(self, check, words):
        real = self._real(words)
        owners = tf.where(real)
        flat = tf.boolean_mask(words, real)
        rows, characters, places = self._windows(self._subwords(flat), word_characters(flat), owners[:, 0])
        width = tf.reduce_max(tf.concat([tf.cast(rows.row_lengths(), tf.int32), [0]], 0))
        nothing = tf.zeros((0, width), tf.int32), tf.zeros((0, width))
        inputs = (rows, characters)[: len(self._inputs)]
        numbers, probabilities = self._in_chunks(check, self._most_probable, nothing, *inputs)
        shape = tf.shape(words, tf.int64)
        labels = tf.gather(tf.constant(self._labels), tf.gather_nd(numbers, places))
        return {
            "labels": tf.tensor_scatter_nd_update(tf.fill(shape, ""), owners, labels),
            "probabilities": tf.scatter_nd(owners, tf.gather_nd(probabilities, places), shape),
        }

    def _most_probable(self, *inputs):
        probabilities = self._softmax(*inputs)
        return tf.argmax(probabilities, -1, tf.int32), tf.reduce_max(probabilities, -1)


def word_characters(words: tf.Tensor) -> tf.Tensor:
    """`zoo.text.word_characters.word_characters` of strings `[W]`: int32 `[W, WIDTH]`."""
    codes = tf.strings.unicode_decode(words, "UTF-8", errors="replace")
    lengths, places = codes.row_lengths(), tf.ragged.range(codes.row_lengths()).flat_values
    from_end = tf.gather(lengths, codes.value_rowids()) - places
    half = LONGEST // 2
    kept = (from_end + places <= LONGEST) | (places < half) | (from_end <= half)
    numbers = END + 1 + tf.ragged.boolean_mask(codes, codes.with_values(kept)) % (NUM_CHARACTERS - END - 1)
    column = tf.ones([codes.nrows(), 1], tf.int32)
    return tf.concat([BEGIN * column, numbers, END * column], 1).to_tensor(NONE, shape=(None, WIDTH))
