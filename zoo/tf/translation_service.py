"""SavedModel of a translator, from strings to strings."""

import functools
from collections.abc import Callable, Mapping

import keras
import tensorflow as tf

from keras_transformer.decoding import Hypotheses
from zoo.config import START_ID
from zoo.limits import Limits, with_check
from zoo.text.copied import COPIED, SIGN
from zoo.text.glossary import words_of
from zoo.text.known_words import merge_words
from zoo.text.placeholders import LOST, MARKUP
from zoo.tf.chunks import map_in_chunks
from zoo.tf.limits import check_bytes, start_timer

IDS = "translate_ids"
TEXTS = tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY


class TranslationService(tf.Module):
    """Translates token ids; the signature `translate_ids` needs no operation outside of TensorFlow.

        source: int32 [B, S], padded with 0, each row ended by the end token
        -> ids: int32 [B, N, L], scores: float32 [B, N] (-inf if the search found fewer than N)

    Args:
        model: Model whose variables the search reads.
        search: Function `search(source [B, S], max_lengths [B], each_step=check)` that returns the K best `Hypotheses`
            and calls the check before each step.
        num_return: Number N of translations.
        num_searched: Number K of hypotheses of the search, at least N; some may have the same text.
        extra_tokens: Maximum number of tokens of a translation beyond those of its source.
        limits: Limits of a call.
    """

    def __init__(
        self,
        model: keras.Model,
        search: Callable,
        num_return: int,
        num_searched: int,
        extra_tokens: int,
        limits: Limits,
    ):
        super().__init__()
        self._num_searched = num_searched
        self._limits = limits
        self._tracked = [variable.value for variable in model.variables]
        self._search, self._num_return, self._extra_tokens = search, num_return, extra_tokens

    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32, name="source")], autograph=False)
    def translate_ids(self, source):
        found = Hypotheses(
            *(part[:, : self._num_return] for part in self._hypotheses(start_timer(self._limits), source))
        )
        return {"ids": found.ids, "scores": tf.where(found.lengths > 0, found.scores, -float("inf"))}

    def signatures(self) -> dict:
        """Returns the functions to save, by name."""
        return {IDS: self.translate_ids}

    def _hypotheses(self, check, source):
        lengths = tf.math.count_nonzero(source, axis=1, dtype=tf.int32)
        return self._search(source, lengths + self._extra_tokens, each_step=check)


class TextService(TranslationService):
    """Translates texts by the default signature, beside that for ids.

        text: string [B] -> translations: string [B], scores: float32 [B]
        with num_return > 1: n_best: string [B, N], n_best_scores: float32 [B, N]; padded with "" and -inf
        with alignments: alignments: string [B], pairs "source-target" of word numbers

    Texts are split into segments, which are sorted by length and decoded in chunks, as by `Translator`, with the same
    results for any number and lengths of texts.

    Args:
        tokenizer: A `zoo.tf.tokenizers.GraphTokenizer`.
        max_source_tokens, chunk_tokens: Maximum number of tokens of a segment, and of source positions in a chunk.
        weights_of: Function `weights_of(source [B, S], target [B, T])` that returns attention weights `[B, T, S]` for
            alignments; None for no alignments.
        longest_aligned: Maximum number of tokens of texts and translations that are aligned.
        sentences: Whether the sentences of a line are separate segments.
        placeholders: Whether placeholders stand for addresses and codes; see `zoo.text.placeholders`.
        known_words: Words of the corpus, by which it knows unseen names; see `zoo.text.known_words`.
        glossary: Terms and their translations; see `zoo.text.glossary`.
    """

    def __init__(
        self,
        *args,
        tokenizer,
        max_source_tokens: int,
        chunk_tokens: int,
        weights_of=None,
        longest_aligned: int = 0,
        sentences: bool = True,
        placeholders: bool = False,
        known_words: str = "",
        glossary: Mapping[str, str] | None = None,
    ):
        super().__init__(*args)
        self._longest_aligned, self._placeholders = longest_aligned, placeholders
        self._tokenizer, self._weights_of = tokenizer, weights_of
        self._max_source_tokens, self._chunk_tokens, self._sentences = max_source_tokens, chunk_tokens, sentences
        self._known = self._glossary = None
        if glossary:
            from zoo.tf.glossary import Glossary

            self._glossary = Glossary(glossary)
        if known_words:
            from zoo.tf.known_words import KnownWords

            self._known = KnownWords(merge_words(known_words, words_of(glossary or {})))

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string, name="text")], autograph=False)
    def translate(self, text):
        from zoo.tf.segments import join_texts, segment_counts, split_texts

        check = start_timer(self._limits)
        check_bytes(tf.strings.length(text), self._limits)
        segments = split_texts(text, self._tokenizer, self._max_source_tokens, self._sentences)
        candidates, available, found_scores = self._candidates(check, segments.parts.flat_values)
        per_text = tf.RaggedTensor.from_row_lengths(available, segment_counts(segments))
        most = tf.maximum(tf.reduce_max(per_text.with_values(available), axis=1), 1)
        texts, scores = [], []
        for n in range(self._num_return):
            rows = tf.minimum(n, available - 1)  # A segment with fewer candidates repeats its last.
            chosen = join_texts(segments, tf.gather(candidates, rows, batch_dims=1))
            score = tf.reduce_sum(per_text.with_values(tf.gather(found_scores, rows, batch_dims=1)), axis=1)
            texts.append(tf.where(n < most, chosen, ""))
            scores.append(tf.where(n < most, score, -float("inf")))
        outputs = {"translations": texts[0], "scores": scores[0]}
        if self._num_return > 1:
            outputs |= {"n_best": tf.stack(texts, 1), "n_best_scores": tf.stack(scores, 1)}
        if self._weights_of is not None:
            outputs["alignments"] = self._links(check, text, texts[0])
        return outputs

    def signatures(self):
        return {TEXTS: self.translate, **super().signatures()}

    def _candidates(self, check, segments):
        """Translates segments `[S]`: distinct texts `[S, K]`, the number of each `[S]`, and scores `[S, K]`."""
        copied = tf.strings.regex_full_match(tf.strings.regex_replace(segments, MARKUP, SIGN), COPIED)
        sources, kept = tf.boolean_mask(segments, ~copied), None
        hidden = sources
        if self._placeholders:
            from zoo.tf.placeholders import hide, restore

            hidden, kept = hide(sources)
        if self._glossary is not None:
            hidden, kept = self._glossary.hide(hidden, kept)
        if self._known is not None:
            numbers, with_names, names = self._known.hide_names(hidden, kept)
            hidden, kept = tf.concat([hidden, with_names], 0), tf.concat([kept, names], 0)
        found = self._decoded(check, self._tokenizer.source_ids(hidden))
        ids = tf.reshape(found.ids, (-1, tf.shape(found.ids)[-1]))
        texts = self._tokenizer.decode(ids)
        if kept is not None:
            texts = restore(texts, tf.gather(kept, tf.repeat(tf.range(kept.nrows()), self._num_searched)))
        texts = tf.reshape(tf.strings.regex_replace(texts, LOST, ""), (-1, self._num_searched))
        earlier = tf.linalg.band_part(tf.ones(2 * [self._num_searched]), -1, 0) - tf.eye(self._num_searched)
        again = tf.reduce_any((texts[:, :, None] == texts[:, None]) & (earlier > 0), 2) | (found.lengths == 0)
        available = self._num_searched - tf.math.count_nonzero(again, axis=1, dtype=tf.int32)
        order = tf.argsort(tf.cast(again, tf.int32), stable=True)
        texts, scores = (tf.gather(values, order, batch_dims=1) for values in (texts, found.scores))
        if self._known is not None:
            chosen = self._known.choose(sources, numbers, texts[:, 0], scores[:, 0])
            texts, scores, available = (tf.gather(values, chosen) for values in (texts, scores, available))
        searched = tf.where(~copied)
        copies = tf.repeat(tf.strings.regex_replace(segments, LOST, "")[:, None], self._num_searched, axis=1)
        return (
            tf.tensor_scatter_nd_update(copies, searched, texts),
            tf.tensor_scatter_nd_update(tf.ones_like(segments, tf.int32), searched, available),
            tf.tensor_scatter_nd_update(tf.zeros_like(copies, tf.float32), searched, scores),
        )

    def _decoded(self, check, source):
        """Decodes ragged ids `[S, (tokens)]` in chunks of similar lengths."""
        lengths = tf.cast(source.row_lengths(), tf.int32)
        width = tf.reduce_max(tf.concat([lengths, [0]], 0)) + self._extra_tokens
        scores = tf.zeros((0, self._num_searched))
        empty = Hypotheses(
            tf.zeros((0, self._num_searched, width), tf.int32), scores, scores, tf.cast(scores, tf.int32)
        )
        return map_in_chunks(lengths, self._chunk_tokens, functools.partial(self._hypotheses, check), empty, source)

    def _links(self, check, texts, translations):
        """Returns `Alignment.links` in Pharaoh's notation, "" if a side is too long."""
        sides = [self._tokenizer.encode(texts), self._tokenizer.encode_targets(translations)]
        starts = tf.fill((sides[1].nrows(), 1), START_ID)
        words = [self._tokenizer.word_numbers(ids) + 1 for ids in sides]  # 0 is padding.
        rows = [self._tokenizer.source_ids(texts), tf.concat([starts, sides[1]], 1), *words]
        lengths = tf.maximum(*(tf.cast(side.row_lengths(), tf.int32) for side in sides))
        fit = lengths <= self._longest_aligned
        lengths, *rows = (tf.ragged.boolean_mask(side, fit) for side in (lengths + 1, *rows))
        empty = tf.constant([], tf.string)
        links = map_in_chunks(lengths, self._chunk_tokens, with_check(check, self._linked), empty, *rows)
        return tf.tensor_scatter_nd_update(tf.fill(tf.shape(fit), ""), tf.where(fit), links)

    def _linked(self, source, target, *words):
        """Aligns padded ids `[n, S]`, `[n, T]`, given numbers of words, from 1, `[n, S - 1]`, `[n, T - 1]`."""
        counts = [tf.reduce_max(tf.pad(side, ((0, 0), (1, 0))), 1) for side in words]
        source_of, target_of = (
            tf.one_hot(side - 1, tf.reduce_max(tf.concat([count, [1]], 0))) for side, count in zip(words, counts)
        )
        # Step i of the decoder predicts token i; the last column is the end of the source.
        weights = tf.cast(self._weights_of(source, target), tf.float32)[:, :-1, :-1]
        merged = tf.einsum("btv,bts,bsw->bvw", target_of, weights, source_of)
        best = tf.argmax(merged, -1, tf.int32)
        links = tf.strings.join(
            [tf.as_string(best), tf.as_string(tf.broadcast_to(tf.range(tf.shape(best)[1]), tf.shape(best)))], "-"
        )
        both = tf.where(counts[0] > 0, counts[1], 0)
        return tf.strings.reduce_join(tf.RaggedTensor.from_tensor(links, lengths=both), axis=1, separator=" ")
