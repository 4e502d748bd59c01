"""SavedModels of encoders, classifiers and taggers, from strings to vectors, labels and probabilities."""

import tensorflow as tf

from zoo.config import NUM_CHARACTERS
from zoo.limits import Limits, with_check
from zoo.text.word_characters import BEGIN, END, LONGEST, NONE, WIDTH
from zoo.tf.chunks import map_in_chunks, part_starts
from zoo.tf.limits import check_bytes, start_timer
from zoo.tf.tokenizers import tensorflow_text
from zoo.tf.vocabularies import graph_tokenizer


class PredictorService(tf.Module):
    """Base of the services of predictors. Results do not depend on the other texts of a call.

    Args:
        predictor: A `zoo.serving.predictor.Predictor`.
        limits: Limits of a call.
    """

    def __init__(self, predictor, limits: Limits):
        super().__init__()
        self._predictor, self._limits = predictor, limits
        model, tokenizer = predictor.model, predictor.tokenizer
        self._tracked = [variable.value for variable in model.variables]
        self._graph_tokenizer = graph_tokenizer(tokenizer)
        self._special = tokenizer.start_id, tokenizer.end_id, tokenizer.unknown_id
        self._max_tokens, self._chunk_tokens = predictor.max_tokens, predictor.batch_tokens

    def signatures(self) -> dict:
        """Returns the functions to save, by name."""
        specs = [tf.TensorSpec(shape, tf.string, name=name) for name, shape in self._strings()]

        def serve(*strings):
            return self._serve(start_timer(self._limits), *strings)

        self._function = tf.function(serve, input_signature=specs, autograph=False)
        return {tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY: self._function}

    def _in_chunks(self, check, run, empty, *rows):
        """Calls `map_in_chunks` with a check before each chunk."""
        lengths = tf.cast(rows[0].row_lengths(), tf.int32)
        return map_in_chunks(lengths, self._chunk_tokens, with_check(check, run), empty, *rows)

    def _encoded(self, texts):
        """Encodes strings `[B]` as int32 ids `[B, (T)]`, without special ids."""
        return self._graph_tokenizer.encode(tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace"))


class TextService(PredictorService):
    """Base of the services of whole texts. Texts with too many tokens are truncated."""

    def _strings(self):
        return [("text", (None,)), ("second", (None,))][: len(self._predictor.inputs)]

    def _run(self, check, function, empty, texts):
        """Calls a function of the predictor's inputs in chunks."""
        for side in texts:
            check_bytes(tf.strings.length(side), self._limits)
        rows = self._framed([self._encoded(side) for side in texts])
        return self._in_chunks(check, function, empty, *rows[: len(self._predictor.inputs)])

    def _framed(self, parts):
        """Adds special tokens to ragged ids, as `zoo.corpora.labelled_corpus.frame_rows` does."""
        start, end, _ = self._special
        room = tf.constant(self._max_tokens - 1 - len(parts), tf.int64)
        lengths, kept = [part.row_lengths() for part in parts], []
        longer = lengths[0] > lengths[-1], lengths[0] <= lengths[-1]
        for part, length, is_longer in zip(parts, lengths, longer):
            half = tf.where(is_longer, room - room // 2, room // 2)
            limit = tf.maximum(half, room - (sum(lengths) - length))
            places = tf.ragged.range(length).flat_values
            inside = part.with_flat_values(places < tf.gather(limit, part.value_rowids()))
            kept.append(tf.ragged.boolean_mask(part, inside))
        return tensorflow_text.combine_segments(kept, start, end)


class ClassificationService(TextService):
    """Classifies texts.

    text: string [B], for a model of pairs also second: string [B]
    -> labels: string [B], probabilities: float32 [B, C] in the order of the card's `labels`
    """

    def _serve(self, check, *texts):
        names = tf.constant(self._predictor.labels)
        probabilities = self._run(check, self._predictor.softmax, tf.zeros((0, names.shape[0])), texts)
        return {"labels": tf.gather(names, tf.argmax(probabilities, -1)), "probabilities": probabilities}


class EmbeddingService(TextService):
    """Embeds texts.

    text: string [B] -> embeddings: float32 [B, D], of length 1
    """

    def _serve(self, check, text):
        empty = tf.zeros((0, self._predictor.model.config.hidden_dim))
        return {"embeddings": self._run(check, self._predictor.mean_vectors, empty, [text])}


class WordService(PredictorService):
    """Base of the services that split sentences, strings of words `[B, W]` padded with "", into windows."""

    def _strings(self):
        return [("words", (None, None))]

    def _real(self, words):
        """Returns which of the strings `[B, W]` are words."""
        check_bytes(tf.reduce_sum(tf.strings.length(words), axis=1), self._limits)
        return tf.not_equal(tf.strings.strip(words), "")

    def _subwords(self, words):
        """Encodes words as ragged ids `[W, (T)]`: at least one for each word, at most as many as fit into a window."""
        subwords = self._encoded(tf.strings.join([self._predictor.tokenizer.word_prefix, words]))
        missing = tf.equal(subwords.row_lengths(), 0)
        unknown = tf.fill([tf.math.count_nonzero(missing)], self._special[2])
        unknown = tf.RaggedTensor.from_row_lengths(unknown, tf.cast(missing, tf.int64))
        return tf.concat([subwords[:, : self._max_tokens - 2], unknown], 1)

    def _windows(self, subwords, characters, sentences):
        """Returns windows of whole words of a sentence, their characters, and each word's row and position `[W, 2]`."""
        start, end, _ = self._special
        lengths = subwords.row_lengths()
        begins = part_starts(sentences, lengths, self._max_tokens - 2)
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
    """Labels words.

        words: string [B, W], padded with ""
        -> labels: string [B, W], padded with "", probabilities: float32 [B, W], of these labels

    Sentences with too many tokens are labelled in windows, as by `WordTagger`.
    """

    def _serve(self, check, words):
        real = self._real(words)
        owners = tf.where(real)
        flat = tf.boolean_mask(words, real)
        rows, characters, places = self._windows(self._subwords(flat), word_characters(flat), owners[:, 0])
        width = tf.reduce_max(tf.concat([tf.cast(rows.row_lengths(), tf.int32), [0]], 0))
        empty = tf.zeros((0, width), tf.int32), tf.zeros((0, width))
        inputs = (rows, characters)[: len(self._predictor.inputs)]
        numbers, probabilities = self._in_chunks(check, self._most_probable, empty, *inputs)
        shape = tf.shape(words, tf.int64)
        labels = tf.gather(tf.constant(self._predictor.labels), tf.gather_nd(numbers, places))
        return {
            "labels": tf.tensor_scatter_nd_update(tf.fill(shape, ""), owners, labels),
            "probabilities": tf.scatter_nd(owners, tf.gather_nd(probabilities, places), shape),
        }

    def _most_probable(self, *inputs):
        probabilities = self._predictor.softmax(*inputs)
        return tf.argmax(probabilities, -1, tf.int32), tf.reduce_max(probabilities, -1)


def word_characters(words: tf.Tensor) -> tf.Tensor:
    """Encodes strings `[W]` as `zoo.text.word_characters.word_characters` does: int32 `[W, WIDTH]`."""
    codes = tf.strings.unicode_decode(words, "UTF-8", errors="replace")
    lengths, places = codes.row_lengths(), tf.ragged.range(codes.row_lengths()).flat_values
    from_end = tf.gather(lengths, codes.value_rowids()) - places
    half = LONGEST // 2
    kept = (from_end + places <= LONGEST) | (places < half) | (from_end <= half)
    numbers = END + 1 + tf.ragged.boolean_mask(codes, codes.with_values(kept)) % (NUM_CHARACTERS - END - 1)
    column = tf.ones([codes.nrows(), 1], tf.int32)
    return tf.concat([BEGIN * column, numbers, END * column], 1).to_tensor(NONE, shape=(None, WIDTH))
