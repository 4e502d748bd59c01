"""SavedModels of parsers, from words to trees in brackets."""

import functools
from collections.abc import Callable, Mapping

import tensorflow as tf

from zoo.limits import Limits
from zoo.tf.predictor_service import WordService, word_characters


class ParsingService(WordService):
    """Base of the services of parsers.

        words: string [B, W], padded with ""
        -> trees: string [B], as `zoo.parsing.trees.to_brackets` writes them; "" for a sentence without words

    Sentences with too many tokens are parsed in windows, as by the parser.
    """

    def _serve(self, check, words):
        real = self._real(words)
        owners = tf.where(real)[:, 0]
        flat = tf.boolean_mask(words, real)
        for bracket, escape in ((r"\(", "-LRB-"), (r"\)", "-RRB-")):
            flat = tf.strings.regex_replace(flat, bracket, escape)
        tokens, characters, places = self._windows(self._subwords(flat), word_characters(flat), owners)
        window, count = places[:, 0], tokens.nrows()
        firsts, parts = (tf.RaggedTensor.from_value_rowids(x, window, count) for x in (places[:, 1], flat))
        boundaries = tf.concat([firsts, tokens.row_lengths()[:, None] - 1], 1)
        rows = {"token_ids": tokens, "character_ids": characters, "boundary_ids": tf.cast(boundaries, tf.int32)}
        found = self._parsed(check, rows, parts)
        sentence = tf.math.unsorted_segment_max(owners, window, count)
        trees = tf.strings.unsorted_segment_join(found, sentence, tf.shape(words)[0], " ")
        return {"trees": tf.where(tf.equal(trees, ""), "", tf.strings.join(["(TOP ", trees, ")"]))}

    def _parsed(self, check: Callable, rows: Mapping[str, tf.RaggedTensor], words: tf.RaggedTensor) -> tf.Tensor:
        """Returns the brackets below the root, string `[N]`, of windows with their words `[N, (W)]`."""
        raise NotImplementedError


class LinearParsingService(ParsingService):
    """Parses sentences with a `zoo.parsing.linear_parser.LinearParser`, whose search runs in the graph.

    Args:
        parser, limits: As for the other services.
        search: Function `search(source [B, S], words [B], each_step=check)` that returns `Hypotheses` that are trees
            over so many words, and calls the check before each step.
    """

    def __init__(self, parser, limits: Limits, search: Callable):
        super().__init__(parser, limits)
        self._search, self._pieces, self._max_depth = search, parser.symbols.pieces(), parser.symbols.max_depth
        self._chunk_tokens = max(1, parser.batch_tokens // parser.beam_size)

    def _parsed(self, check, rows, words):
        trees = functools.partial(self._trees, check)
        return self._in_chunks(check, trees, tf.constant([], tf.string), rows["token_ids"][:, 1:], words)

    def _trees(self, check, source, words):
        """Returns the brackets of padded sources `[n, S]` and words `[n, W]`."""
        lengths = tf.math.count_nonzero(tf.not_equal(words, ""), axis=1, dtype=tf.int32)
        ids = self._search(source, lengths, each_step=check).ids[:, 0]
        before, after, nesting, tags = (tf.gather(tf.constant(column), ids) for column in self._pieces)
        place = tf.cumsum(tags, axis=1) - 1
        words = tf.where(tags > 0, tf.gather(words, tf.maximum(place, 0), batch_dims=1), "")
        # The depth of the constituent that a bracket opens or closes, of which `decode` leaves out those too deep.
        depth = tf.cumsum(nesting, axis=1) + tf.cast(nesting < 0, tf.int32)
        kept = (nesting == 0) | (depth <= self._max_depth)
        parts = tf.where(kept, tf.strings.join([before, words, after]), "")
        return tf.strings.strip(tf.strings.reduce_join(parts, axis=1))


class SpanParsingService(ParsingService):
    """Parses sentences with a `zoo.parsing.predictor.TreeParser`, whose search (CKY) runs in the graph."""

    def __init__(self, parser, limits):
        super().__init__(parser, limits)
        self._best = parser.best_labels
        self._tags = parser.tags
        chains = [label.split() for label in parser.labels]
        self._opening = ["".join(f"({label} " for label in chain) for chain in chains]
        self._closing = [")" * len(chain) for chain in chains]

    def _parsed(self, check, rows, words):
        inputs = [rows[name] for name in self._predictor.inputs]
        return self._in_chunks(check, self._trees, tf.constant([], tf.string), *inputs, words)

    def _trees(self, *sides):
        """Returns the brackets of padded inputs of the model and words `[n, W]`."""
        *inputs, words = sides
        scores, labels, tags = self._best(*inputs)
        lengths = tf.math.count_nonzero(tf.not_equal(words, ""), axis=1, dtype=tf.int32)
        row, first, width = tf.unstack(tf.cast(tf.where(best_trees(scores, lengths)), tf.int32), axis=1)
        last = first + width
        label = tf.gather_nd(labels, tf.stack([row, last * (last - 1) // 2 + first], 1))
        places = tf.shape(tags)[1]

        def beside(strings, place):
            found = tf.gather(tf.constant(strings), label)
            joined = tf.strings.unsorted_segment_join(found, row * places + place, tf.shape(tags)[0] * places)
            return tf.reshape(joined, (-1, places))

        # Of spans that begin at the same word, the widest is the last here and must open first.
        row, first, last, label = (x[::-1] for x in (row, first, last, label))
        opening, closing = beside(self._opening, first), beside(self._closing, last)
        tagged_words = tf.strings.join(["(", tf.gather(tf.constant(self._tags), tags[:, :-1]), " ", words, ")"])
        parts = tf.strings.join([opening[:, :-1], tagged_words, closing[:, 1:]])
        parts = tf.where(tf.equal(words, ""), "", parts)
        return tf.strings.strip(tf.strings.reduce_join(parts, axis=1, separator=" "))


def best_trees(scores: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    """Finds the best trees as `zoo.parsing.chart.best_trees` does, in a graph.

    Returns:
        Boolean `[B, N, N]`, at (i, w): whether the words i to i + w - 1 are a span of the tree.
    """
    batch = tf.shape(scores)[0]
    spans = tf.cast(tf.shape(scores)[1], tf.float64)
    places = tf.cast(tf.round((1.0 + tf.sqrt(1.0 + 8.0 * spans)) / 2.0), tf.int32)
    splits = _splits(scores, places)
    start = tf.stack([tf.range(batch), tf.zeros_like(lengths), lengths], 1)
    shape = tf.stack([batch, places, places])
    found = tf.tensor_scatter_nd_update(tf.zeros(shape, tf.bool), start, tf.ones([batch], tf.bool))

    def divide(width, found):
        at = tf.cast(tf.where(found[:, :, width]), tf.int32)
        row, first = at[:, 0], at[:, 1]
        left = tf.gather_nd(splits[:, :, width], at)
        parts = tf.stack(
            [tf.tile(row, [2]), tf.concat([first, first + left], 0), tf.concat([left, width - left], 0)], 1
        )
        return width - 1, tf.tensor_scatter_nd_update(found, parts, tf.ones([tf.shape(parts)[0]], tf.bool))

    return tf.while_loop(lambda width, found: width > 1, divide, (places - 1, found))[1]


def _splits(scores, places):
    """Returns the width of the left part of the best tree of the w words from word i, int32 `[B, N, N]` at (i, w)."""

    def widen(width, begun, ended, splits):
        first = tf.range(places - width)
        last = first + width
        sums = begun[:, : places - width, 1:] + ended[:, width:, :0:-1]
        best = tf.gather(scores, last * (last - 1) // 2 + first, axis=1) + tf.reduce_max(sums, -1)
        left = tf.argmax(sums, -1, tf.int32) + 1
        begun, splits = (_with_column(x, column, 0, width) for x, column in ((begun, best), (splits, left)))
        return width + 1, begun, _with_column(ended, best, width, 0), splits

    first = tf.range(places - 1)
    words = tf.gather(scores, (first + 1) * first // 2 + first, axis=1)
    none = tf.zeros_like(tf.pad(words, [(0, 0), (0, 1)]))[:, :, None]
    begun, ended = _with_column(none, words, 0, 1), _with_column(none, words, 1, 0)
    splits = tf.zeros_like(begun, tf.int32)
    shapes = (tf.TensorShape([]), *[tf.TensorShape([None, None, None])] * 3)
    state = tf.constant(2), begun, ended, splits
    return tf.while_loop(lambda width, *_: width < places, widen, state, shapes)[3]


def _with_column(x, column, before, after):
    """Appends a column, with padding before and after, to `x` `[B, N, w]`."""
    return tf.concat([x, tf.pad(column, [(0, 0), (before, after)])[:, :, None]], 2)
