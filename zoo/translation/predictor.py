"""A trained translator: texts in, texts out."""

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

_SHORTEST = 16  # Source positions, where each shape is compiled anew.
_SPECIAL = {"start_id": START_ID, "end_id": END_ID, "pad_id": PAD_ID}


class Translation(NamedTuple):
    """One translation with its score: log-probability over length penalty, summed over the segments of a text."""

    text: str
    score: float


class Translator(Predictor):
    """A Seq2Seq model with its vocabulary.

    Args:
        model: The Keras model, free to be compiled, fitted and changed.
        tokenizer: Its vocabulary.
        card: What a checkpoint says of itself; see `zoo.storage.checkpoints`.
        max_source_tokens: Longer texts are translated in segments, cut at the ends of sentences where possible.
        batch_tokens: Most source positions, over all beams, decoded at once.
        jit_compile: Whether XLA compiles the search, as it always does on JAX: for a service of short texts. Each
            shape takes seconds the first time, so batches are padded to few shapes; see `warm_up`.
    """

    task, model_class, config_class = "translation", Seq2Seq, ModelConfig
    card_fields = ("max_source_tokens",)
    max_extra_tokens = 50  # A translation has at most this many more than its source: Vaswani et al. (2017), 6.1.

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
                f"tokenizer.vocabulary_size={tokenizer.vocabulary_size}. They come from two different training runs."
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
        """Translates texts by beam search (GNMT's length penalty); line breaks and long texts are kept apart.

        Args:
            texts: A list of strings of any kind: empty ones give empty translations.
            beam_size: Beams K; 1 decodes greedily.
            length_penalty: Alpha of `keras_transformer.decoding.beam_search`.
            progress: Called with the number of segments done since the last call.

        Raises:
            ValueError: If `texts` is not a list of strings; the message names the first that is none.
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
        """The `num_return` best translations of each text, best first; arguments and errors as for `translate`.

        Fewer are found where the search meets no more. Greedy scores are log-probabilities.
        """
        search = self.search(num_return, beam_size, length_penalty, self.jit_compile)
        return self.decode(texts, search, beam_size, progress)

    def warm_up(self, num_texts: int = 1, num_return: int = 1, beam_size: int = 4, length_penalty: float = 0.6) -> None:
        """Compiles the search for `num_texts` texts at a time, of up to `max_source_tokens` tokens each.

        With `jit_compile`, or on JAX, no first call of these sizes then waits for a compiler.
        """
        search = self.search(num_return, beam_size, length_penalty, self.jit_compile)
        length = _SHORTEST
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
        """One random translation of each text; see `keras_transformer.decoding.sample` for the arguments."""
        options = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
        search = self._compiled_search("sample", options, self.jit_compile)
        generator = keras.random.SeedGenerator(seed)

        def seeded(source, limits):  # Drawn out here, so that no seed needs a graph of its own.
            shape = (source.shape[1] + self.max_extra_tokens, len(source))
            return search(source, limits, keras.random.uniform(shape, dtype="float32", seed=generator))

        return [candidates[0].text for candidates in self.decode(texts, seeded, 1)]

    def align(self, texts: Sequence[str], translations: Sequence[str]) -> list[Alignment]:
        """Which source words each word of a translation looked at, by cross-attention; see `align_words`."""
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
        """Writes a SavedModel folder that translates without this package, whole or not at all; returns its card.

        Its default signature takes `text`, string `[B]`, and gives `translations`, string `[B]`, and `scores`, float32
        `[B]`; the other, `translate_ids`, takes and gives token ids and needs no operation outside TensorFlow. Beam
        size, length penalty and the greatest length are fixed here.

        Args:
            folder: Must not exist yet. The card is in `assets.extra/card.json`.
            beam_size, length_penalty: As for `translate`.
            num_return: Above 1, the texts' signature also gives `n_best` and `n_best_scores`, `[B, num_return]`.
            alignments: Whether it also gives `alignments`: pairs "source-target" of word numbers, for the best.
            text: Whether there is a signature on texts, which needs tensorflow-text, here and where it is loaded.
            pairs: Source and reference sentences to score the written model; the scores go into the card.
            limits: `max_bytes` and `max_seconds` of `zoo.limits.Limits`; ids have only the second.

        Raises:
            ValueError: If `folder` exists, or an option does not fit.
            ImportError: If tensorflow-text is not installed.
            RuntimeError: If the written model does not translate as this translator does. It is not kept.
        """
        if alignments and not text:
            raise ValueError(
                "Alignments are between words, which only a model with text=True has. Leave out one of both."
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
        """The compiled search `(source [B, S], max_lengths [B]) -> Hypotheses`; a beam of 1 is greedy."""
        return self._compiled_search(*_chosen(num_return, beam_size, length_penalty), jit_compile)

    def plain_search(self, num_return: int = 1, beam_size: int = 4, length_penalty: float = 0.6) -> Callable:
        """What `search` compiles; a function given to it as `each_step` is called before each step."""
        return functools.partial(self._found, *_chosen(num_return, beam_size, length_penalty))

    def decode(
        self,
        texts: Sequence[str],
        search: Callable,
        num_beams: int,
        progress: Callable[[int], None] | None = None,
    ) -> list[list[Translation]]:
        """What a search finds for texts, which are cut into segments and decoded in chunks of like length."""
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
        return max(_SHORTEST, next_power_of_two(length)) if self._few_shapes() else length

    def _search_inputs(self, rows):
        """Source ids and limits; where each shape is compiled anew, powers of two of both sizes."""
        source = source_batch(rows, self._width(1 + max(map(len, rows))))
        if self._few_shapes():
            source = np.pad(source, ((0, next_power_of_two(len(rows)) - len(rows)), (0, 0)))
        lengths = np.count_nonzero(source, axis=1).astype("int32")
        return source, np.where(lengths, lengths + self.max_extra_tokens, 1)

    def _compiled_search(self, name, options, jit_compile):
        key = (name, jit_compile, *sorted(options.items()))
        if key not in self._compiled:
            self._compiled[key] = compile_function(
                self.model, functools.partial(self._found, name, options), jit_compile
            )
        return self._compiled[key]

    def _found(self, name, options, source, limits, uniforms=None, each_step=None):
        search = {"greedy": greedy_search, "beam": beam_search, "sample": sample}[name]
        num_beams, width = options.get("beam_size", 1), ops.shape(source)[1] + self.max_extra_tokens
        step, state = self.model.step_function(num_beams), self.model.init_state(source, num_beams, width)
        step = step if each_step is None else with_check(each_step, step)
        drawn = {} if uniforms is None else {"uniforms": uniforms}
        return search(step, state, max_lengths=limits, max_length=width, **_SPECIAL, **options, **drawn)


def _chosen(num_return, beam_size, length_penalty):
    """Name and options of a search."""
    if beam_size < 1 or not 1 <= num_return <= beam_size:
        raise ValueError(
            "`beam_size` must be at least 1, and `num_return` from 1 to `beam_size`. "
            f"Received: beam_size={beam_size}, num_return={num_return}."
        )
    if beam_size == 1:
        return "greedy", {}
    return "beam", {"beam_size": beam_size, "length_penalty": float(length_penalty), "num_return": num_return}
