"""The predictor of trees as sequences of symbols."""

import functools
from collections.abc import Sequence

import numpy as np
from keras import ops

from keras_transformer.decoding import Hypotheses, beam_search, constrained, greedy_search
from zoo.config import END_ID, PAD_ID, START_ID, ModelConfig
from zoo.corpora.batching import length_sorted_chunks, original_order, source_batch
from zoo.corpora.encoded_corpus import EncodedCorpus, teacher_forced
from zoo.corpora.token_rows import TokenRows
from zoo.corpora.word_rows import encode_windows
from zoo.limits import with_check
from zoo.models.seq2seq import Seq2Seq
from zoo.parsing.export import check_exported_parser
from zoo.parsing.linear import Symbols
from zoo.parsing.sentences import check_trees, encode_sentences, leaves_of
from zoo.parsing.trees import Tree
from zoo.serving.predictor import Predictor, Progress
from zoo.text.tokenizer import Tokenizer

_SPECIAL = {"start_id": START_ID, "end_id": END_ID, "pad_id": PAD_ID}
_EXTRA_SYMBOLS = 20  # Any sentence may have so many symbols more than _SYMBOLS_PER_TOKEN times its tokens.
_SYMBOLS_PER_TOKEN = 4


class LinearParser(Predictor):
    """Parses sentences with a `zoo.models.seq2seq.Seq2Seq`, whose output are brackets.

    See Vinyals et al. (2015) and Vaswani et al. (2017), section 6.3.

    Args:
        model, tokenizer, card: As for `Predictor`. The embedding table of the model has rows for the vocabulary,
            followed by rows for the symbols of `zoo.parsing.linear`.
        labels, tags: Names of the symbols.
        max_tokens: Longer sentences are split into windows of as many whole words as fit.
        batch_tokens: Maximum number of positions in one call of the model.
        beam_size, length_penalty: Defaults of `parse`. They are attributes, and saved with the checkpoint.

    Raises:
        ValueError: If the sizes of model, vocabulary and names differ.
    """

    task, model_class, config_class = "parsing", Seq2Seq, ModelConfig
    searched_with = "beam_size", "length_penalty"
    settings = ("labels", "tags", "max_tokens", *searched_with)
    fixed_settings = {"parser": "linear"}
    split, pad_label = staticmethod(teacher_forced), PAD_ID

    def __init__(
        self,
        model: Seq2Seq,
        tokenizer: Tokenizer,
        labels: list[str],
        tags: list[str],
        card: dict | None = None,
        max_tokens: int = 256,
        batch_tokens: int = 4_096,
        beam_size: int = 4,
        length_penalty: float = 0.6,
    ):
        self.symbols = Symbols(labels, tags, tokenizer.vocabulary_size)
        if model.config.vocabulary_size != self.symbols.size:
            raise ValueError(
                f"Vocabulary and symbols must have the size of the model, {model.config.vocabulary_size}. Received: "
                f"{tokenizer.vocabulary_size} tokens, {len(labels)} labels, {len(tags)} tags, and the closing bracket. "
                "Use those of the same training run."
            )
        super().__init__(model, tokenizer, card)
        self.labels, self.tags = self.symbols.labels, self.symbols.tags
        self.max_tokens, self.batch_tokens = max_tokens, batch_tokens
        self.beam_size, self.length_penalty = beam_size, length_penalty

    def parse(
        self,
        sentences: Sequence[str | Sequence[str]],
        progress: Progress = None,
        beam_size: int | None = None,
        length_penalty: float | None = None,
        constrain: bool = True,
    ) -> list[Tree | None]:
        """Predicts a tree of each sentence over its words, with the root TOP.

        Args:
            sentences, progress: As for `zoo.parsing.predictor.TreeParser`.
            beam_size: Number of hypotheses kept at each step; 1 for greedy search; by default that of the parser.
            length_penalty: Exponent of `keras_transformer.decoding.length_penalty`; by default that of the parser.
            constrain: Whether the search can output trees only. Otherwise its outputs are repaired.
        """
        beam_size = self.beam_size if beam_size is None else beam_size
        length_penalty = self.length_penalty if length_penalty is None else length_penalty
        windows = encode_sentences(sentences, self.tokenizer, self.max_tokens)
        words, rows = windows.words, strip_special_tokens(windows.tokens)
        search = self.compiled(self._search, beam_size=beam_size, length_penalty=length_penalty, constrain=constrain)
        chunks, results = length_sorted_chunks([len(row) + 1 for row in rows], self.batch_tokens // beam_size), []
        for chunk in chunks:
            counts = np.array([len(words[i]) for i in chunk], "int32")
            found = Hypotheses(*map(ops.convert_to_numpy, search(source_batch([rows[i] for i in chunk]), counts)))
            results.append([self.symbols.decode(ids, words[i]) for ids, i in zip(found.ids[:, 0], chunk)])
            if progress is not None:
                progress(len(chunk))
        return windows.join(original_order(chunks, results))

    def encode_examples(self, trees: Sequence[Tree]) -> EncodedCorpus:
        """Encodes the sentences of trees and their symbols."""
        trees = check_trees(trees, self.tokenizer, self.max_tokens)
        return symbol_corpus(leaves_of(trees), trees, self.tokenizer, self.max_tokens, self.symbols)

    def _make_service(self, limits):
        from zoo.tf.parsing_service import LinearParsingService

        options = {"beam_size": self.beam_size, "length_penalty": self.length_penalty, "constrain": True}
        return LinearParsingService(self, limits, functools.partial(self._search, **options))

    def _check_signature(self, limits, signature):
        check_exported_parser(self, signature)

    def _search(self, source, words, beam_size, length_penalty, constrain, each_step=None):
        """Searches the symbols of sources `[B, S]` with `words` `[B]` words; returns `Hypotheses`."""
        width = _SYMBOLS_PER_TOKEN * ops.shape(source)[1] + _EXTRA_SYMBOLS
        limits = _SYMBOLS_PER_TOKEN * words + _EXTRA_SYMBOLS
        step, state = self.model.step_function(beam_size), self.model.init_state(source, beam_size)
        step = step if each_step is None else with_check(each_step, step)
        if constrain:
            constraint = self.symbols.constraint()
            begin = constraint.begin(*(ops.repeat(counts, beam_size) for counts in (words, limits)))
            step, state = constrained(step, state, constraint, begin, PAD_ID)
        sizes = {"max_lengths": limits, "max_length": width, **_SPECIAL}
        if beam_size == 1:
            return greedy_search(step, state, **sizes)
        return beam_search(step, state, **sizes, beam_size=beam_size, length_penalty=length_penalty)


def symbol_corpus(words, trees, tokenizer, max_tokens: int, symbols: Symbols) -> EncodedCorpus:
    """Encodes sentences with the symbols of their trees; arguments as for `zoo.parsing.data.chart_corpus`."""
    tokens, _, _ = encode_windows(words, tokenizer, max_tokens)
    return EncodedCorpus(TokenRows.of(strip_special_tokens(tokens)), TokenRows.of([*map(symbols.encode, trees)]))


def strip_special_tokens(tokens: TokenRows) -> list[np.ndarray]:
    """Returns the ids of each row without its start and end token."""
    return [tokens.ids[first + 1 : last - 1] for first, last in zip(tokens.offsets[:-1], tokens.offsets[1:])]
