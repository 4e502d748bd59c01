"""The predictor of translations."""

import copy
import functools
import os
from collections.abc import Callable, Mapping, Sequence

import keras
import numpy as np
from keras import ops

from keras_transformer.training.losses import smoothed_cross_entropy
from zoo.config import END_ID, PAD_ID, ModelConfig
from zoo.corpora.batching import source_batch, token_batches
from zoo.corpora.encoded_corpus import EncodedCorpus, encode_corpus, teacher_forced
from zoo.models.seq2seq import Seq2Seq
from zoo.serving.predictor import MIN_WIDTH, Predictor, Progress
from zoo.text.checks import check_same_length, check_texts, check_vocabulary_size
from zoo.text.glossary import check_glossary
from zoo.text.known_words import check_known_words
from zoo.text.placeholders import hide_pair
from zoo.text.vocabularies import Vocabulary
from zoo.translation.alignment import Alignment, AlignmentHeads, align_words, attention_function, check_heads
from zoo.translation.decoding import decode_texts, pad_search_inputs
from zoo.translation.search_options import search_options
from zoo.translation.searches import run_search, searched
from zoo.translation.segments import Translation


class Translator(Predictor):
    """Translates texts with a `zoo.models.seq2seq.Seq2Seq`.

    Args:
        model, tokenizer, card: As for `Predictor`.
        max_source_tokens: Longer sentences are split into segments.
        beam_size, length_penalty: Defaults of all searches. They are attributes, and saved with the checkpoint.
        batch_tokens: Maximum number of source positions, over all beams, in one call of the model.
        jit_compile: Whether XLA compiles the search, as always on JAX, which speeds up services for short texts. True:
            the first batch of each shape takes seconds, so batches are padded to few shapes; see `warm_up`. "auto":
            shapes that repeat are compiled in the background, see `zoo.models.auto_compile`.
        split_sentences: Whether the sentences of a line are translated one by one, as suits a model of sentences.
        max_extra_tokens: Maximum number of tokens by which a translation is longer than its segment.
        max_repeats: How often the same words may follow each other, which ends translations that go round in circles;
            twice as often as in the source is always allowed. 0 for no limit.
        placeholders: Whether the model reads placeholders for addresses and codes; see `zoo.text.placeholders`. Of
            the hypotheses of a beam, those come first that lose the fewest digits and placeholders of their text.
        known_words: Words of the training corpus, separated by spaces: placeholders keep names that are not among them,
            see `zoo.text.known_words`. An attribute. "" for no such names.
        glossary: Terms and their translations, which are always used, see `zoo.text.glossary`. An attribute.
        alignment_heads: As for `zoo.translation.alignment.attention_function`.
    """

    task, model_class, config_class = "translation", Seq2Seq, ModelConfig
    searched_with = "beam_size", "length_penalty"
    settings = (
        *("max_source_tokens", "split_sentences", "placeholders", "alignment_heads", "max_extra_tokens", "max_repeats"),
        *("known_words", "glossary", *searched_with),
    )
    split, pad_label, pad_inputs = staticmethod(teacher_forced), PAD_ID, staticmethod(pad_search_inputs)

    def __init__(
        self,
        model: Seq2Seq,
        tokenizer: Vocabulary,
        card: dict | None = None,
        max_source_tokens: int = 128,
        batch_tokens: int = 4096,
        jit_compile: bool | str = "auto",
        split_sentences: bool = True,
        beam_size: int = 4,
        length_penalty: float = 0.6,
        max_extra_tokens: int = 50,  # These three as Vaswani et al. (2017), section 6.1.
        max_repeats: int = 4,
        placeholders: bool = False,
        alignment_heads: AlignmentHeads = (),
        known_words: str = "",
        glossary: Mapping[str, str] | None = None,
    ):
        check_vocabulary_size(model.config, tokenizer)
        super().__init__(model, tokenizer, card)
        if jit_compile not in (True, False, "auto"):
            raise ValueError(f"`jit_compile` must be True, False or 'auto'. Received: jit_compile={jit_compile!r}.")
        self.max_source_tokens, self.batch_tokens, self.jit_compile = max_source_tokens, batch_tokens, jit_compile
        self.split_sentences, self.placeholders = split_sentences, placeholders
        search_options(1, beam_size, length_penalty, max_extra_tokens, max_repeats)  # Checks them.
        self.beam_size, self.length_penalty, self.max_extra_tokens = beam_size, length_penalty, max_extra_tokens
        self.max_repeats, self.known_words = max_repeats, check_known_words(known_words, placeholders)
        self.alignment_heads = check_heads(model.config, alignment_heads)
        self.glossary = check_glossary(glossary or {}, placeholders)

    def translate(
        self,
        texts: Sequence[str],
        beam_size: int | None = None,
        length_penalty: float | None = None,
        progress: Progress = None,
    ) -> list[str]:
        """Translates texts by beam search with GNMT's length penalty; lines and sentences are translated separately.

        Args:
            texts: List of strings; the translation of an empty string is empty.
            beam_size: Number of beams K; 1 for greedy search; by default that of the translator.
            length_penalty: Alpha of `keras_transformer.decoding.beam_search`; by default that of the translator.
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
        beam_size: int | None = None,
        length_penalty: float | None = None,
        progress: Progress = None,
    ) -> list[list[Translation]]:
        """Returns the `num_return` best translations of each text, best first, or fewer if the search finds no more.

        Translations of the same text in other subwords count once, so a wider beam finds more. Arguments and errors are
        as for `translate`. Scores of greedy search are log-probabilities.
        """
        settings = self.search_settings(num_return, beam_size, length_penalty)
        search = self.search(**searched(settings), jit_compile=self.jit_compile)
        found = self.decode(texts, search, settings["beam_size"], progress)
        return [candidates[:num_return] for candidates in found]

    def warm_up(
        self, num_texts: int = 1, num_return: int = 1, beam_size: int | None = None, length_penalty: float | None = None
    ) -> None:
        """Compiles the search for batches of `num_texts` texts of up to `max_source_tokens` tokens each.

        With `jit_compile`, or on JAX, later calls of these sizes need no compilation.
        """
        settings = self.search_settings(num_return, beam_size, length_penalty)
        search, length = self.search(**searched(settings), jit_compile=self.jit_compile), MIN_WIDTH
        while length < 2 * (self.max_source_tokens + 1):
            rows = max(1, min(num_texts, self.batch_tokens // settings["beam_size"] // length))
            getattr(search, "warm_up", search)(*self.search_inputs([[END_ID] * (length - 1)] * rows))
            length *= 2

    def sample(
        self, texts: Sequence[str], temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0, seed: int = 0
    ) -> list[str]:
        """Samples a translation of each text; see `keras_transformer.decoding.sample` for the arguments."""
        options = {"temperature": temperature, "top_k": top_k, "top_p": top_p, **self._limits()}
        search = self.compiled(self._run_search, self.jit_compile is True, name="sample", **options)
        generator = keras.random.SeedGenerator(seed)

        def seeded(source, limits):  # Random numbers are inputs: all seeds share a graph.
            shape = (source.shape[1] + self.max_extra_tokens, len(source))
            return search(source, limits, keras.random.uniform(shape, dtype="float32", seed=generator))

        return [candidates[0].text for candidates in self.decode(texts, seeded, 1)]

    def encode_examples(self, sources: Sequence[str], targets: Sequence[str]) -> EncodedCorpus:
        """Encodes texts and their translations."""
        sources, targets = check_texts(sources, "sources"), check_texts(targets, "targets")
        check_same_length(sources=sources, targets=targets)
        pairs = map(hide_pair, sources, targets) if self.placeholders else zip(sources, targets)
        return encode_corpus(pairs, self.tokenizer, min_pairs=0)

    def loss(self, pairs: Sequence[tuple[str, str]]) -> float:
        """Computes the mean cross entropy per token of the targets of pairs (source, target), end tokens included."""
        batches = token_batches(self.encode_examples(*map(list, zip(*pairs))), self.batch_tokens, seed=0)
        sums = [[float(x) for x in self.compiled(self._loss_sums)(b["source"], b["target"])] for b in batches]
        total, tokens = np.sum(sums, axis=0)
        return total / tokens

    def _loss_sums(self, source, target):
        labels = target[:, 1:]
        logits = self.model({"source": source, "target": target[:, :-1]}, training=False)
        real = ops.cast(ops.not_equal(labels, PAD_ID), "float32")
        return ops.sum(smoothed_cross_entropy(labels, logits) * real), ops.sum(real)

    def align(self, texts: Sequence[str], translations: Sequence[str]) -> list[Alignment]:
        """Aligns the words of translations with those of their texts by cross-attention; see `align_words`."""
        texts, translations = check_texts(texts), check_texts(translations, "translations")
        return align_words(self.attention(), self.tokenizer, texts, translations)

    def attention(self) -> Callable:
        """Returns the compiled `attention_function` of the model and its `alignment_heads`."""
        heads = check_heads(self.model.config, self.alignment_heads)
        if ("attention", heads) not in self._compiled:
            self._compiled["attention", heads] = attention_function(self.model, heads)
        return self._compiled["attention", heads]

    def export(
        self,
        folder: str | os.PathLike,
        *,
        beam_size: int | None = None,
        length_penalty: float | None = None,
        num_return: int = 1,
        max_extra_tokens: int | None = None,
        alignments: bool = False,
        text: bool = True,
        pairs: Sequence[tuple[str, str]] = (),
        compiled_for: Sequence[int] = (),
        **limits,
    ) -> dict:
        """Writes a SavedModel folder that translates without this package; returns its card.

        The default signature takes `text`, string `[B]`, and returns `translations`, string `[B]`, and `scores`,
        float32 `[B]`. The signature `translate_ids` takes and returns token ids and only needs TensorFlow. Beam size,
        length penalty and maximum length are constants of the SavedModel.

        Args:
            folder: Folder to create. The card is in `assets.extra/card.json`.
            beam_size, length_penalty, max_extra_tokens: As for the translator, whose values are the defaults.
            num_return: Above 1, the default signature also returns `n_best` and `n_best_scores`, `[B, num_return]`.
            alignments: Whether it also returns `alignments` of the best translations, "source-target" word numbers.
            text: Whether there is a signature for texts, which needs tensorflow-text, also where the model is loaded.
            pairs: Sources and references to score the SavedModel on. The card contains the scores.
            compiled_for: Numbers of sentences in a call, such as `[1, 8]`, for which XLA compiles the search, up to 64
                tokens each, at the first call of each size; larger calls take the plain graph.
            limits: `max_bytes` and `max_seconds` of `zoo.limits.Limits`; the first does not apply to ids.

        Raises:
            ValueError: If `folder` exists, or an option is invalid.
            ImportError: If tensorflow-text is not installed.
            RuntimeError: If the SavedModel and this translator translate differently. The folder is deleted.
        """
        if alignments and not text:
            raise ValueError("`alignments` are between words. Received: alignments=True, text=False. Change one.")
        exported = copy.copy(self)
        if max_extra_tokens is not None:
            exported.max_extra_tokens = max_extra_tokens
        options = {"search": self.search_settings(num_return, beam_size, length_penalty), "alignments": alignments}
        return super(Translator, exported).export(
            folder, **options, text=text, pairs=pairs, compiled_for=compiled_for, **limits
        )

    def _make_service(self, limits, *, pairs, **options):
        from zoo.translation.export import translation_service

        return translation_service(self, limits, **options)

    def _check_service(self, limits, folder, *, search, pairs, compiled_for, **_):
        from zoo.translation.export import check_export

        scores = check_export(self, limits, folder, search, pairs, compiled_for)
        counts = {"known_words": len(self.known_words.split()), "glossary": len(self.glossary)}  # Too long for a card.
        return {"search": search, **search, "compiled_for": [*compiled_for], "exported_scores": scores, **counts}

    def saved_settings(self):
        return {**super().saved_settings(), "glossary": check_glossary(self.glossary, self.placeholders)}

    def search_settings(
        self, num_return: int = 1, beam_size: int | None = None, length_penalty: float | None = None
    ) -> dict:
        """Returns the arguments of `search`, with the defaults of the translator and a beam of at least `num_return`.

        Raises:
            ValueError: If a number is too small, or a given beam is smaller than `num_return`.
        """
        beam_size = max(self.beam_size, num_return) if beam_size is None else beam_size
        length_penalty = self.length_penalty if length_penalty is None else length_penalty
        search_options(num_return, beam_size, length_penalty)
        return {"beam_size": beam_size, "length_penalty": length_penalty, "num_return": num_return}

    def search(
        self,
        num_return: int = 1,
        beam_size: int | None = None,
        length_penalty: float | None = None,
        jit_compile: bool | str = False,
    ) -> Callable:
        """Returns the compiled search `(source [B, S], max_lengths [B]) -> Hypotheses`, greedy for a beam of 1."""
        settings = self.search_settings(num_return, beam_size, length_penalty)
        return self.compiled(self._run_search, jit_compile, **self._search_options(settings))

    def plain_search(self, num_return=1, beam_size: int | None = None, length_penalty: float | None = None) -> Callable:
        """Returns the search before compilation; see `run_search` for its arguments."""
        settings = self.search_settings(num_return, beam_size, length_penalty)
        return functools.partial(self._run_search, **self._search_options(settings))

    def _search_options(self, settings):
        return search_options(**settings, **self._limits())

    def _limits(self):
        return {"extra": self.max_extra_tokens, "max_repeats": self.max_repeats}

    def decode(
        self, texts: Sequence[str], search: Callable, num_beams: int, progress: Progress = None
    ) -> list[list[Translation]]:
        """Runs a search for texts, which are split into segments, in chunks of similar lengths."""
        return decode_texts(self, texts, search, num_beams, progress)

    def search_inputs(self, rows: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
        """Returns padded ids and maximum lengths of a search for rows of ids without special ids."""
        source = source_batch(rows)
        limits = np.count_nonzero(source, axis=1).astype("int32") + self.max_extra_tokens
        return self.pad_inputs(source, limits) if self.few_shapes else (source, limits)

    def _run_search(self, source, limits, uniforms=None, each_step=None, watch=None, **options):
        return run_search(self, source, limits, uniforms, each_step, watch, **options)
