"""A trained linearised parser: sentences in, trees out, written symbol by symbol."""

from collections.abc import Callable, Sequence

import numpy as np
from keras import ops

from keras_transformer.decoding import Hypotheses, beam_search, constrained, greedy_search
from zoo.config import END_ID, PAD_ID, START_ID, ModelConfig
from zoo.corpora.batching import length_sorted_chunks, original_order, source_batch
from zoo.corpora.token_rows import TokenRows
from zoo.corpora.word_rows import encode_windows
from zoo.models.compiling import compile_function
from zoo.models.seq2seq import Seq2Seq
from zoo.parsing.linear import Symbols
from zoo.parsing.sentences import joined, window_words, words_of
from zoo.parsing.trees import Tree
from zoo.serving.predictor import Predictor
from zoo.text.tokenizer import Tokenizer

_SPECIAL = {"start_id": START_ID, "end_id": END_ID, "pad_id": PAD_ID}
_EXTRA = 20  # Symbols that any sentence may have, beside _PER_TOKEN for each of its tokens.
_PER_TOKEN = 4


class LinearParser(Predictor):
    """A `zoo.models.seq2seq.Seq2Seq` from words to brackets (Vinyals et al. 2015; Vaswani et al. 2017, section 6.3).

    Args:
        model: Its table has the vocabulary and, behind it, the symbols of `zoo.parsing.linear`.
        tokenizer: The vocabulary.
        labels, tags: Names for the symbols.
        card: What a checkpoint says of itself; see `zoo.storage.checkpoints`.
        max_tokens: Longer sentences are parsed in windows of as many whole words as fit.
        batch_tokens: Most positions that the model is called on at once.

    Raises:
        ValueError: If model, vocabulary and names do not have the same sizes.
    """

    task, model_class, config_class = "parsing", Seq2Seq, ModelConfig
    card_fields = ("labels", "tags", "max_tokens")

    def __init__(
        self,
        model: Seq2Seq,
        tokenizer: Tokenizer,
        labels: list[str],
        tags: list[str],
        card: dict | None = None,
        max_tokens: int = 256,
        batch_tokens: int = 4_096,
    ):
        self.symbols = Symbols(labels, tags, tokenizer.vocabulary_size)
        if model.config.vocabulary_size != self.symbols.size:
            raise ValueError(
                f"A model of {model.config.vocabulary_size} rows needs a vocabulary and symbols of as many. Received: "
                f"{tokenizer.vocabulary_size} tokens, {len(labels)} labels, {len(tags)} tags, and the closing bracket."
            )
        super().__init__(model, tokenizer, card)
        self.labels, self.tags = self.symbols.labels, self.symbols.tags
        self.max_tokens, self.batch_tokens = max_tokens, batch_tokens
        self._compiled = {}

    def parse(
        self,
        sentences: Sequence[str | Sequence[str]],
        progress: Callable[[int], None] | None = None,
        beam_size: int = 4,
        length_penalty: float = 0.6,
        constrain: bool = True,
    ) -> list[Tree | None]:
        """Predicts a tree of each sentence over exactly its words, under the root TOP.

        Args:
            sentences, progress: As for `zoo.parsing.predictor.TreeParser`.
            beam_size: Hypotheses kept at each step; 1 is greedy.
            length_penalty: Exponent of `keras_transformer.decoding.length_penalty`.
            constrain: Whether the search writes trees alone. If not, what it writes is repaired.
        """
        words, escaped_words = words_of(sentences)
        tokens, places, owners = encode_windows(escaped_words, self.tokenizer, self.max_tokens)
        parts, rows = window_words(words, places, owners), source_rows(tokens)
        search = self._search(beam_size, length_penalty, constrain)
        chunks, results = length_sorted_chunks([len(row) + 1 for row in rows], self.batch_tokens // beam_size), []
        for chunk in chunks:
            counts = np.array([len(parts[i]) for i in chunk], "int32")
            found = Hypotheses(*map(ops.convert_to_numpy, search(source_batch([rows[i] for i in chunk]), counts)))
            results.append([self.symbols.decode(ids, parts[i]) for ids, i in zip(found.ids[:, 0], chunk)])
            if progress is not None:
                progress(len(chunk))
        return joined(original_order(chunks, results), owners, len(words))

    def full_card(self) -> dict:
        """Returns the card; `parser` tells it from that of a span parser."""
        return {**super().full_card(), "parser": "linear"}

    def _make_service(self, limits):
        raise ValueError("A linearised parser has no SavedModel. Export a span parser, which is better and faster.")

    def _search(self, beam_size, length_penalty, constrain):
        """The compiled search `(source [B, S], words [B]) -> Hypotheses`."""
        key = beam_size, length_penalty, constrain
        if key not in self._compiled:
            options = {"beam_size": beam_size, "length_penalty": length_penalty} if beam_size > 1 else {}
            search = beam_search if beam_size > 1 else greedy_search

            def run(source, words):
                width = _PER_TOKEN * ops.shape(source)[1] + _EXTRA
                limits = _PER_TOKEN * words + _EXTRA
                step, state = self.model.step_function(beam_size), self.model.init_state(source, beam_size, width)
                if constrain:
                    constraint = self.symbols.constraint()
                    begin = constraint.begin(*(ops.repeat(counts, beam_size) for counts in (words, limits)))
                    step, state = constrained(step, state, constraint, begin, PAD_ID)
                return search(step, state, max_lengths=limits, max_length=width, **_SPECIAL, **options)

            self._compiled[key] = compile_function(self.model, run)
        return self._compiled[key]


def source_rows(tokens: TokenRows) -> list[np.ndarray]:
    """Rows of ids without the special ones around them."""
    return [tokens.ids[first + 1 : last - 1] for first, last in zip(tokens.offsets[:-1], tokens.offsets[1:])]
