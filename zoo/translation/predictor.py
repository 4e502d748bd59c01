"""The predictor of translations."""

import functools
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

import keras
import numpy as np
from keras import ops

from keras_transformer.decoding import Hypotheses, beam_search, greedy_search, sample
from zoo.config import END_ID, PAD_ID, START_ID, ModelConfig
from zoo.corpora.batching import length_sorted_chunks, next_power_of_two, original_order, source_batch
from zoo.limits import with_check
from zoo.models.compiling import compile_function
from zoo.models.seq2seq import Seq2Seq
from zoo.serving.predictor import Predictor
from zoo.text.checks import check_texts
from zoo.text.tokenizer import Tokenizer
from zoo.translation.alignment import Alignment, align_words, attention_function
from zoo.translation.segments import join_segments, split_text

_MIN_WIDTH = 16  # Source positions, where each shape is compiled separately.
_SPECIAL = {"start_id": START_ID, "end_id": END_ID, "pad_id": PAD_ID}


class Translation(NamedTuple):
    """A translation and its score: log-probability over length penalty, summed over the segments of the text."""

    text: str
    score: float


class Translator(Predictor):
    """Translates texts with a `zoo.models.seq2seq.Seq2Seq`.

    Args:
        model, tokenizer, card: As for `Predictor`.
        max_source_tokens: Longer texts are split into segments, at the ends of sentences if possible.
        batch_tokens: Maximum number of source positions, over all beams, in one call of the model.
        jit_compile: Whether XLA compiles the search, as always on JAX, which speeds up services for short texts. The
            first batch of each shape takes seconds, so batches are padded to few shapes; see `warm_up`.
    """

    task, model_class, config_class = "translation", Seq2Seq, ModelConfig
    card_fields = ("max_source_tokens",)
    max_extra_tokens = 50  # Limit of the length of a translation beyond its source: Vaswani et al. (2017), 6.1.

    def __init__(
        self,
        model: Seq2Seq,
        tokenizer: Tokenizer,
        card: dict | None = None,
        max_source_tokens: int = 128,
        batch_tokens: int = 4096,
        jit_compile: bool = False,
    ):
        if model.config.vocabulary_size != tokenizer.vocabulary_size:
            raise ValueError(
                "Model and vocabulary must have the same size. Received: "
                f"model.config.vocabulary_size={model.config.vocabulary_size}, "
                f"tokenizer.vocabulary_size={tokenizer.vocabulary_size}. Use those of the same training run."
            )
        super().__init__(model, tokenizer, card)
        self.max_source_tokens, self.batch_tokens, self.jit_compile = max_source_tokens, batch_tokens, jit_compile
        self._compiled = {}

    def translate(
        self,
        texts: Sequence[str],
        beam_size: int = 4,
        length_penalty: float = 0.6,
        progress: Callable[[int], None] | None = None,
    ) -> list[str]:
        """Translates texts by beam search with GNMT's length penalty; lines are translated separately.

        Args:
            texts: List of strings; the translation of an empty string is empty.
            beam_size: Number of beams K; 1 for greedy search.
            length_penalty: Alpha of `keras_transformer.decoding.beam_search`.
            progress: Called with the number of segments done since the last call.

        Raises:
            ValueError: If `texts` is not a list of strings; the message contains the first other element.
        """
        best = self.n_best(texts, 1, beam_size, length_penalty, progress)
        return [candidates[0].text for candidates in best]

    def n_best(
        self,
        texts: Sequence[str],
        num_return: int = 4,
        beam_size: int = 4,
        length_penalty: float = 0.6,
        progress: Callable[[int], None] | None = None,
    ) -> list[list[Translation]]:
        """Returns the `num_return` best translations of each text, best first, or fewer if the search finds no more.

        Arguments and errors are as for `translate`. Scores of greedy search are log-probabilities.
        """
        search = self.search(num_return, beam_size, length_penalty, self.jit_compile)
        return self.decode(texts, search, beam_size, progress)

    def warm_up(self, num_texts: int = 1, num_return: int = 1, beam_size: int = 4, length_penalty: float = 0.6) -> None:
        """Compiles the search for batches of `num_texts` texts of up to `max_source_tokens` tokens each.

        With `jit_compile`, or on JAX, later calls of these sizes need no compilation.
        """
        search = self.search(num_return, beam_size, length_penalty, self.jit_compile)
        length = _MIN_WIDTH
        while length < 2 * (self.max_source_tokens + 1):
            rows = max(1, min(num_texts, self.batch_tokens // beam_size // length))
            search(*self._search_inputs([[END_ID] * (length - 1)] * rows))
            length *= 2

    def sample(
        self,
        texts: Sequence[str],
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
    ) -> list[str]:
        """Samples a translation of each text; see `keras_transformer.decoding.sample` for the arguments."""
        options = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
        search = self._compiled_search("sample", options, self.jit_compile)
        generator = keras.random.SeedGenerator(seed)

        def seeded(source, limits):  # Random numbers are inputs, so that all seeds share one graph.
            shape = (source.shape[1] + self.max_extra_tokens, len(source))
            return search(source, limits, keras.random.uniform(shape, dtype="float32", seed=generator))

        return [candidates[0].text for candidates in self.decode(texts, seeded, 1)]

    def align(self, texts: Sequence[str], translations: Sequence[str]) -> list[Alignment]:
        """Aligns the words of translations with those of their texts by cross-attention; see `align_words`."""
        texts, translations = check_texts(texts), check_texts(translations, "translations")
        if "attention" not in self._compiled:
            self._compiled["attention"] = attention_function(self.model)
        return align_words(self._compiled["attention"], self.tokenizer, texts, translations)

    def export(
        self,
        folder: str | os.PathLike,
        *,
        beam_size: int = 4,
        length_penalty: float = 0.6,
        num_return: int = 1,
        alignments: bool = False,
        text: bool = True,
        pairs: Sequence[tuple[str, str]] = (),
        **limits,
    ) -> dict:
        """Writes a SavedModel folder that translates without this package; returns its card.

        The default signature takes `text`, string `[B]`, and returns `translations`, string `[B]`, and `scores`,
        float32 `[B]`. The signature `translate_ids` takes and returns token ids and only needs TensorFlow. Beam size,
        length penalty and maximum length are constants of the SavedModel.

        Args:
            folder: Folder to create. The card is in `assets.extra/card.json`.
            beam_size, length_penalty: As for `translate`.
            num_return: Above 1, the default signature also returns `n_best` and `n_best_scores`, `[B, num_return]`.
            alignments: Whether it also returns `alignments` of the best translations, as pairs "source-target" of word
                numbers.
            text: Whether there is a signature for texts, which needs tensorflow-text, also where the model is loaded.
            pairs: Sources and references to score the SavedModel on. The card contains the scores.
            limits: `max_bytes` and `max_seconds` of `zoo.limits.Limits`; the first does not apply to ids.

        Raises:
            ValueError: If `folder` exists, or an option is invalid.
            ImportError: If tensorflow-text is not installed.
            RuntimeError: If the SavedModel and this translator translate differently. The folder is deleted.
        """
        if alignments and not text:
            raise ValueError(
                "`alignments` are between words, which need `text=True`. Received: alignments=True, text=False. Change "
                "one of both."
            )
        search = {"beam_size": beam_size, "length_penalty": length_penalty, "num_return": num_return}
        return super().export(folder, search=search, alignments=alignments, text=text, pairs=pairs, **limits)

    def _make_service(self, limits, search, alignments, text, pairs):
        from zoo.translation.export import translation_service

        return translation_service(self, limits, search, alignments, text)

    def _check_service(self, limits, folder, search, alignments, text, pairs):
        from zoo.translation.export import check_export

        return {"search": search, "exported_scores": check_export(self, limits, folder, search, pairs)}

    def search(
        self, num_return: int = 1, beam_size: int = 4, length_penalty: float = 0.6, jit_compile: bool = False
    ) -> Callable:
        """Returns the compiled search `(source [B, S], max_lengths [B]) -> Hypotheses`, greedy for a beam of 1."""
        return self._compiled_search(*_search_options(num_return, beam_size, length_penalty), jit_compile)

    def plain_search(self, num_return: int = 1, beam_size: int = 4, length_penalty: float = 0.6) -> Callable:
        """Returns the search before compilation; its argument `each_step` is a function to call before each step."""
        return functools.partial(self._run_search, *_search_options(num_return, beam_size, length_penalty))

    def decode(
        self,
        texts: Sequence[str],
        search: Callable,
        num_beams: int,
        progress: Callable[[int], None] | None = None,
    ) -> list[list[Translation]]:
        """Runs a search for texts, which are split into segments, in chunks of similar lengths."""
        texts = check_texts(texts)
        segments = [split_text(text, self.tokenizer, self.max_source_tokens) for text in texts]
        flat = [segment for parts in segments for segment in parts]
        rows = self.tokenizer.encode([segment.text for segment in flat])
        lengths = [self._width(len(row) + 1) for row in rows]
        chunks = length_sorted_chunks(lengths, self.batch_tokens // num_beams)
        results = []
        for chunk in chunks:
            results.append(self._decode_chunk([rows[i] for i in chunk], search))
            if progress is not None:
                progress(len(chunk))
        candidates = iter(original_order(chunks, results))
        return [join_segments(parts, [next(candidates) for _ in parts], Translation) for parts in segments]

    def _decode_chunk(self, rows, search):
        found = Hypotheses(*map(ops.convert_to_numpy, search(*self._search_inputs(rows))))
        candidates = []
        for ids, scores, lengths in zip(found.ids[: len(rows)], found.scores, found.lengths):
            texts = self.tokenizer.decode(ids)
            candidates.append([Translation(t, float(s)) for t, s, length in zip(texts, scores, lengths) if length])
        return candidates

    def _few_shapes(self):
        return self.jit_compile or keras.backend.backend() == "jax"

    def _width(self, length):
        return max(_MIN_WIDTH, next_power_of_two(length)) if self._few_shapes() else length

    def _search_inputs(self, rows):
        """Returns source ids and maximum lengths; the sizes are powers of two if each shape is compiled separately."""
        source = source_batch(rows, self._width(1 + max(map(len, rows))))
        if self._few_shapes():
            source = np.pad(source, ((0, next_power_of_two(len(rows)) - len(rows)), (0, 0)))
        lengths = np.count_nonzero(source, axis=1).astype("int32")
        return source, np.where(lengths, lengths + self.max_extra_tokens, 1)

    def _compiled_search(self, name, options, jit_compile):
        key = (name, jit_compile, *sorted(options.items()))
        if key not in self._compiled:
            search = functools.partial(self._run_search, name, options)
            self._compiled[key] = compile_function(self.model, search, jit_compile)
        return self._compiled[key]

    def _run_search(self, name, options, source, limits, uniforms=None, each_step=None):
        search = {"greedy": greedy_search, "beam": beam_search, "sample": sample}[name]
        num_beams, width = options.get("beam_size", 1), ops.shape(source)[1] + self.max_extra_tokens
        step, state = self.model.step_function(num_beams), self.model.init_state(source, num_beams, width)
        step = step if each_step is None else with_check(each_step, step)
        random = {} if uniforms is None else {"uniforms": uniforms}
        return search(step, state, max_lengths=limits, max_length=width, **_SPECIAL, **options, **random)


def _search_options(num_return, beam_size, length_penalty):
    """Returns the name and the options of a search."""
    if beam_size < 1 or not 1 <= num_return <= beam_size:
        raise ValueError(
            "`beam_size` must be at least 1, and `num_return` from 1 to `beam_size`. "
            f"Received: beam_size={beam_size}, num_return={num_return}. Change one of both."
        )
    if beam_size == 1:
        return "greedy", {}
    return "beam", {"beam_size": beam_size, "length_penalty": float(length_penalty), "num_return": num_return}
