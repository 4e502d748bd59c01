"""The predictor of language models: generates texts and scores them."""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformer.decoding import sample_steps, with_repetition_penalty
from zoo.config import END_ID, PAD_ID, START_ID, UNKNOWN_ID, LanguageModelConfig
from zoo.corpora.batching import length_sorted_chunks
from zoo.corpora.labelled_corpus import NO_LABEL
from zoo.corpora.packed_corpus import PackedCorpus
from zoo.corpora.token_rows import TokenRows
from zoo.language_modelling.generation import GenerationOptions, GrowingText, check_seed
from zoo.language_modelling.scoring import scored_windows
from zoo.models.language_model import LanguageModel
from zoo.serving.predictor import Predictor, Progress, raise_mismatch
from zoo.text.checks import check_texts
from zoo.text.vocabularies import Vocabulary

_PROBES = ["", "The ", "It's 3 o'clock,\tnaïve Straße!\n\n", "xyzzy 🙂 ❤ 中国"]
_CHUNK = 16  # Steps between two looks at the texts.
_PAST = 8192  # Tokens of all prompts and texts of a batch.
_SCORED = 16_384  # Tokens of a batch that is scored,
_LOGITS = 2**26  # and their logits.


class TextGenerator(Predictor):
    """Generates and scores texts with a `zoo.models.language_model.LanguageModel`.

    Args:
        model: The model.
        tokenizer: Its vocabulary.
        max_tokens: Tokens that the model has been trained to see at a time, its context.
        documents: Whether it was trained on several documents, each after an end token, and so knows where one begins
            and ends.
        unseen: Tokens that its training corpus did not have, such as the bytes of foreign characters, which are never
            generated.
        card: As for `Predictor`.
    """

    task, model_class, config_class = "language_modelling", LanguageModel, LanguageModelConfig
    settings = ("max_tokens", "documents", "unseen")

    def __init__(
        self,
        model: LanguageModel,
        tokenizer: Vocabulary,
        card: dict | None = None,
        max_tokens: int = 256,
        documents: bool = True,
        unseen: Sequence[int] = (),
    ):
        super().__init__(model, tokenizer, card)
        if model.config.vocabulary_size != tokenizer.vocabulary_size:
            raise ValueError(
                f"The vocabulary must have the size of the model, {model.config.vocabulary_size}. Received: "
                f"{tokenizer.vocabulary_size} tokens. Use that of the same training run."
            )
        self.max_tokens, self.documents, self.unseen = max_tokens, documents, [*unseen]

    def generate(
        self, prompts: Sequence[str], *, seed: int = 0, first: int = 0, progress: Progress = None, **options: Any
    ) -> list[str]:
        """Continues prompts; returns the new texts, without the prompts.

        A text depends on its prompt, the options, the seed and its place among the prompts, not on the other prompts.
        Of a prompt that is longer than the context of the model, the end is read. If positions are learned, a prompt is
        read whole instead: it and its text must have no more tokens than there are positions, and the default of
        `max_tokens` is what they leave, at most 200.

        Args:
            prompts: List of strings; an empty one begins a document.
            seed: Integer; the same one gives the same texts.
            first: Place of the first prompt, if the prompts are a part of a longer list.
            progress: Called with the number of texts done since the last call.
            options: Fields of `GenerationOptions`, such as `max_tokens=100, temperature=0.8, stop=["\\n\\n"]`.

        Raises:
            ValueError: If `prompts` is not a list of strings, an option is not valid, or the positions of the model do
                not suffice.
        """
        return self._texts(check_texts(prompts), GenerationOptions(**options), _uniforms(seed, first), progress)

    def stream(self, prompt: str, *, seed: int = 0, **options: Any) -> Iterator[str]:
        """Yields the text after a prompt in parts, as they are generated; arguments are those of `generate`."""
        for _, (text,) in self._growing(check_texts([prompt]), GenerationOptions(**options), _uniforms(seed)):
            yield text.new_text()

    def log_probs(self, texts: Iterable[str], stride: int | None = None, progress: Progress = None) -> np.ndarray:
        """Computes the log-probability of each token of each text but the first, float32 `[N]`, in nats.

        If the model knows documents, the first token has a probability, too, and so has the end of each text.

        Args:
            texts: Documents.
            stride: Texts longer than the context are read in windows that begin every `stride` tokens, by default half
                of the context; see `zoo.language_modelling.scoring.scored_windows`.
            progress: Called with the number of windows done since the last call.
        """
        return np.concatenate([[], *self.window_log_probs(texts, stride, progress)]).astype("float32")

    def window_log_probs(
        self, texts: Iterable[str], stride: int | None = None, progress: Progress = None
    ) -> list[np.ndarray]:
        """Computes what `log_probs` does; returns an array for each of `windows`."""
        inputs, labels = self.windows(texts, stride)
        found = [None] * len(inputs.lengths)
        for chunk in length_sorted_chunks(inputs.lengths, min(_SCORED, _LOGITS // self.model.config.vocabulary_size)):
            steps = self.rounded_width(int(inputs.lengths[chunk].max()))
            wanted = labels.padded(chunk, steps, NO_LABEL)
            values = self.compiled(self._log_probs)(inputs.padded(chunk, steps), np.maximum(wanted, 0))
            values = ops.convert_to_numpy(values)
            for row, number in enumerate(chunk):
                found[number] = values[row][wanted[row] != NO_LABEL]
            if progress is not None:
                progress(len(chunk))
        return found

    def windows(self, texts: Iterable[str], stride: int | None = None) -> tuple[TokenRows, TokenRows]:
        """Returns the windows in which `log_probs` reads texts; see `scored_windows`."""
        stride = self.default_stride if stride is None else stride
        return scored_windows(self.encode_documents(texts), self.max_tokens, stride)

    @property
    def default_stride(self) -> int:
        """Tokens between the beginnings of two windows: half of the context."""
        return max(1, self.max_tokens // 2)

    def encode_documents(self, texts: Iterable[str]) -> list[list[int]]:
        """Encodes documents, with an end token before and behind if the model knows documents."""
        return frame(self.tokenizer.encode([*texts]), self.documents)

    def encode_examples(self, texts: Sequence[str]) -> PackedCorpus:
        """Encodes documents as rows of tokens and the tokens that follow; see `Predictor.examples`."""
        return pack(self.encode_documents(check_texts(texts)), self.max_tokens, self.documents, 0)

    def encode_prompt(self, prompt: str) -> list[int]:
        """Encodes a prompt, at least one token; of a long one the end, unless positions are learned."""
        ids = self.tokenizer.encode([prompt])[0]
        begin = [END_ID] if self.documents else [] if ids else self.tokenizer.encode(["\n"])[0]
        ids = [*begin, *ids]
        return ids if self.model.max_positions else ids[-self.max_tokens :]

    def room(self, taken: int) -> float:
        """Returns how many tokens the learned positions leave beside `taken` others; infinity without such ones."""
        return self.model.max_positions - taken if self.model.max_positions else math.inf

    def _texts(self, prompts, options, draw, progress=None):
        """Returns the whole text of each prompt; arguments are those of `_growing`."""
        texts = [None] * len(prompts)
        for numbers, growing in self._growing(prompts, options, draw):
            if all(text.done for text in growing):
                for number, text in zip(numbers, growing):
                    texts[number] = text.text
                if progress is not None:
                    progress(len(numbers))
        return texts

    def _growing(self, prompts, options, draw):
        """Yields (numbers of prompts, their growing texts) after every few steps, batch by batch.

        `draw(number, count)` returns the random numbers of a prompt.
        """
        rows = [self.encode_prompt(prompt) for prompt in prompts]
        most = [self._most_tokens(row, options) for row in rows]
        lengths = [len(row) + count for row, count in zip(rows, most)]
        for numbers in length_sorted_chunks(lengths, max(_PAST, max(lengths, default=1))):
            batch = [rows[number] for number in numbers]
            count, end_id = max(most[number] for number in numbers), END_ID if self.documents else None
            uniforms = [draw(number, count) for number in numbers]
            limited = [dataclasses.replace(options, max_tokens=most[number]) for number in numbers]
            growing = [GrowingText(self.tokenizer, each, end_id) for each in limited]
            for tokens in self._chunks(batch, np.stack(uniforms, axis=1).astype("float32"), options):
                for text, new in zip(growing, tokens.tolist()):
                    text.append(new)
                yield numbers, growing
                if all(text.done for text in growing):
                    break

    def _chunks(self, rows, uniforms, options):
        """Yields the next tokens of all rows, int `[B, k]`, for uniforms `[L, B]`."""
        length, count = len(uniforms), len(rows)
        width = self.rounded_width(max(2, *map(len, rows)))
        fill = self.rounded(count) - count
        prompts = np.zeros((count + fill, width), "int32")
        for row, ids in zip(prompts, [*rows, *[rows[0]] * fill]):
            row[width - len(ids) :] = ids
        room = -(-length // _CHUNK) * _CHUNK
        uniforms = np.pad(uniforms, [(0, room - length), (0, fill)])
        grows = not self.few_shapes  # A step computes with all steps that there is room for.
        tokens, *state = self.compiled(self._begin, length=0 if grows else room)(prompts)
        penalty = options.repetition_penalty
        advance = self.compiled(self._advance, penalty=penalty, grows=grows, **options.sampling())
        for first in range(0, room, _CHUNK):
            index = np.array(first, "int32")
            found, *state = advance(tokens, index, uniforms[first : first + _CHUNK], *state)
            tokens, found = found[:, -1], ops.convert_to_numpy(found)
            yield found[:count, : length - first]

    def _begin(self, prompts, *, length):
        """Reads prompts `[B, P]`; returns their last tokens, those that occurred before, and the flat state."""
        state, last = self.model.init_state(prompts, length, self.max_tokens)
        seen = self.model.occurring_tokens(prompts[:, :-1])
        return [last, seen, *keras.tree.flatten(state.tensors)]

    def _advance(self, tokens, index, uniforms, seen, *flat, penalty, grows, **options):
        """Samples `[B, k]` tokens; returns them, and what `_begin` returns after the first."""
        state = self.model.pack_state(flat)
        if grows:
            state = self.model.make_room(state, _CHUNK)
        step, never = self.model.step_function(self.max_tokens), self.never
        if penalty != 1:
            step, state = with_repetition_penalty(step, state, penalty, seen)
        found, state = sample_steps(step, state, tokens, index, uniforms, never=never, **options)
        if penalty != 1:
            state, seen = state
        return [found, seen, *keras.tree.flatten(state.tensors)]

    @property
    def never(self) -> set[int]:
        """Tokens that are never generated."""
        return {PAD_ID, UNKNOWN_ID, START_ID, *(() if self.documents else (END_ID,)), *self.unseen}

    def _log_probs(self, token_ids, labels):
        logits = self.model({"token_ids": token_ids}, training=False)
        logits = ops.cast(logits, "float32")
        return ops.take_along_axis(logits, labels[..., None], axis=-1)[..., 0] - ops.logsumexp(logits, axis=-1)

    def _make_service(self, limits, **options):
        from zoo.tf.generation_service import GenerationService

        chosen = GenerationOptions(**options)
        self._most_tokens(self.encode_prompt(""), chosen)
        return GenerationService(self, limits, chosen)

    def _check_service(self, limits, folder, **options):
        """Checks that the SavedModel generates the same texts from the same random numbers; returns the options."""
        import tensorflow as tf

        from zoo.tf.generation_service import draw

        chosen, seeds = GenerationOptions(**options), [*range(len(_PROBES))]
        probes = [self._fitting(probe, self.room(chosen.max_tokens or 1)) for probe in _PROBES]
        signature = tf.saved_model.load(str(folder)).signatures["serving_default"]
        received = signature(prompt=tf.constant(probes), seed=tf.constant(seeds, tf.int32))["text"].numpy()
        texts = self._texts(probes, chosen, lambda number, count: draw(seeds[number], count).numpy())
        if [text.decode() for text in received] != texts:
            raise_mismatch("language model", probes, texts, received)
        return {"generation": {**dataclasses.asdict(chosen), "max_tokens": chosen.most_tokens(self.room(1))}}

    def _fitting(self, text, room):
        """Returns the beginning of a text that has at most `room` tokens as a prompt."""
        while len(self.encode_prompt(text)) > room:
            text = text[:-1]
        return text

    def _most_tokens(self, row, options):
        """Returns the most tokens of the text after a prompt of these ids."""
        room = self.room(len(row))
        if room < (options.max_tokens or 1):
            rest = ", which leaves none for a text. Shorten it."
            if options.max_tokens:
                rest = f" and max_tokens={options.max_tokens}. Shorten the prompt or lower `max_tokens`."
            raise ValueError(
                f"A prompt and its text must have at most {self.model.max_positions} tokens, the positions of the "
                f"model. Received: {len(row)} in the prompt{rest}"
            )
        return options.most_tokens(room)


def _uniforms(seed, first=0):
    check_seed(seed)
    return lambda number, count: np.random.default_rng([seed, first + number]).random(count)


def frame(rows: list[list[int]], framed: bool) -> list[list[int]]:
    """Returns the ids of documents, with an end token before and behind each if `framed`."""
    return [[END_ID, *row, END_ID] for row in rows] if framed else rows


def pack(documents: Sequence[Sequence[int]], width: int, framed: bool, seed: int) -> PackedCorpus:
    """Packs documents into rows of at most `width` tokens, those with end tokens before and behind if `framed`.

    Raises:
        ValueError: If there are fewer than two tokens.
    """
    ids = [document[1 if framed and i else 0 :] for i, document in enumerate(documents)]  # One end token between two.
    stream = np.concatenate([np.asarray(row, "int32") for row in ids]) if ids else np.zeros(0, "int32")
    if len(stream) < 2:
        raise ValueError(f"A language model needs texts of at least two tokens. Received: {len(stream)}. Add texts.")
    return PackedCorpus(stream, min(width, len(stream) - 1), seed, END_ID if framed else None)
