"""The predictor of texts of recordings."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from keras import ops

from keras_transformer.decoding import Hypotheses, beam_search, with_ctc
from keras_transformer.training.losses import smoothed_cross_entropy
from zoo.config import END_ID, PAD_ID, START_ID
from zoo.corpora.batching import length_sorted_chunks, original_order, token_batches
from zoo.corpora.speech_rows import SpeechRows, teacher_forced_speech
from zoo.corpora.token_rows import TokenRows
from zoo.limits import with_check
from zoo.models.speech_recognizer import SpeechRecognizer
from zoo.recognition.sound import read_recording, split_at_pauses
from zoo.serving.predictor import Predictor, Progress, raise_mismatch
from zoo.speech_config import SpeechConfig
from zoo.text.checks import check_same_length, check_texts, check_vocabulary_size
from zoo.text.vocabularies import Vocabulary


class SpeechTranscriber(Predictor):
    """Writes the texts of recordings with a `zoo.models.speech_recognizer.SpeechRecognizer`.

    Args:
        model, tokenizer, card: As for `Predictor`.
        beam_size: Number of beams K of the search; an attribute, as the others.
        ctc_weight: Weight of CTC in the score of a text, from 0 to 1; see `keras_transformer.decoding.with_ctc`.
        max_seconds: Longer recordings are cut at their quietest places into parts of at most that length.
        batch_steps: Maximum number of steps of the encoder, over all beams, in one call of the model.

    Raises:
        ValueError: If a number is out of range, or the vocabulary is not that of the model.
    """

    task, model_class, config_class = "recognition", SpeechRecognizer, SpeechConfig
    searched_with = "beam_size", "ctc_weight"
    settings = "max_seconds", *searched_with
    split, pad_label = staticmethod(teacher_forced_speech), PAD_ID
    max_bytes = 20_000_000

    def __init__(
        self,
        model: SpeechRecognizer,
        tokenizer: Vocabulary,
        card: dict | None = None,
        beam_size: int = 4,
        ctc_weight: float = 0.8,
        max_seconds: float = 30.0,
        batch_steps: int = 16_384,
    ):
        check_vocabulary_size(model.config, tokenizer)
        super().__init__(model, tokenizer, card)
        if beam_size < 1 or not 0 <= ctc_weight <= 1 or not max_seconds >= 1:
            raise ValueError(
                "`beam_size` must be at least 1, `ctc_weight` from 0 to 1, and `max_seconds` at least 1. Received: "
                f"beam_size={beam_size}, ctc_weight={ctc_weight}, max_seconds={max_seconds}."
            )
        self.beam_size, self.ctc_weight, self.max_seconds = beam_size, ctc_weight, max_seconds
        self.batch_steps = batch_steps

    @property
    def sampling_rate(self) -> int:
        """Samples a second that the model reads."""
        return self.model.config.sampling_rate

    def transcribe(self, recordings: Sequence[Any], progress: Progress = None) -> list[str]:
        """Writes the text of each recording; that of silence is empty.

        Args:
            recordings: List of paths, of the bytes of files, or of arrays `[S]` at the rate of the model, int16 or
                floats from -1 to 1.
            progress: Called with the number of parts done since the last call.

        Raises:
            ValueError: If one is no recording; the message contains its path.
        """
        if isinstance(recordings, (str, bytes, np.ndarray)):
            raise ValueError(f"`recordings` must be a list. Received: {str(recordings)[:40]!r}. Put it into a list.")
        parts = [self.parts(read_recording(recording, self.sampling_rate)) for recording in recordings]
        texts = iter(self._decode([part for each in parts for part in each], progress))
        return [" ".join(filter(None, (next(texts) for _ in each))) for each in parts]

    def stream(self, recording: Any, seconds: float = 1.0) -> Iterator[str]:
        """Yields the words of a recording as they are decided, as if it were just being spoken.

        After every `seconds` of sound, all of its part until then is transcribed, and words are decided on which two
        transcripts in a row agree (local agreement: Liu et al. 2020). A decided word is never changed.
        """
        for part in self.parts(read_recording(recording, self.sampling_rate)):
            decided, before, step = [], [], round(seconds * self.sampling_rate)
            for end in range(step, len(part) + step, step):
                words = self._decode([part[:end]])[0].split()
                agreed = words if end >= len(part) else _common(words, before)
                yield from agreed[len(decided) :]
                decided, before = decided + agreed[len(decided) :], words

    def parts(self, samples: np.ndarray) -> list[np.ndarray]:
        """Returns the parts of a recording, int16, that are transcribed one by one; none of silence."""
        return split_at_pauses(samples, int(self.max_seconds * self.sampling_rate), self.sampling_rate)

    def encode_examples(self, recordings: Sequence[Any], texts: Sequence[str]) -> SpeechRows:
        """Reads recordings, and encodes their texts."""
        check_same_length(recordings=recordings, texts=texts)
        samples = [read_recording(recording, self.sampling_rate) for recording in recordings]
        rows = TokenRows.of(self.tokenizer.encode(check_texts(texts)))
        flat = TokenRows(np.concatenate(samples or [np.zeros(0, "int16")]), np.cumsum([0, *map(len, samples)]))
        return SpeechRows(flat, rows, self.model.config.samples_per_step)

    def loss(self, recordings: Sequence[Any], texts: Sequence[str]) -> float:
        """Computes the mean cross entropy per token of the texts by the decoder, end tokens included."""
        batches = token_batches(self.encode_examples(recordings, texts), self.batch_steps, seed=0)
        sums = [self.compiled(self._loss_sums)(*_arrays(batch)) for batch in batches]
        total, tokens = np.sum([[float(x) for x in pair] for pair in sums], axis=0)
        return total / tokens

    def attention(self, recording: Any, text: str) -> np.ndarray:
        """Returns how the decoder distributes its attention over the steps of the encoder, float32 `[T + 1, F]`.

        Row i is that of token i of the text, the last one that of the end; means over the heads of the last block.
        """
        batches = token_batches(self.encode_examples([recording], [text]), 10**9, seed=0)
        weights = self.compiled(self._attention)(*_arrays(next(batches)))
        return ops.convert_to_numpy(weights)[0]

    def search(
        self, samples: Any, num_samples: Any, each_step=None, *, beam_size: int, ctc_weight: float
    ) -> Hypotheses:
        """Searches the texts of recordings, int16 or float `[B, S]` of `num_samples` `[B]`, without compilation."""
        model = self.model
        memory, mask = model.encode(samples, num_samples)
        log_probs = ops.log_softmax(ops.cast(model.frame_logits(memory, mask), "float32"))
        step, state = model.step_function(beam_size), model.memory_state(memory, mask, beam_size)
        special = {"start_id": START_ID, "end_id": END_ID}
        step, state = with_ctc(step, state, log_probs, ctc_weight, num_beams=beam_size, blank_id=PAD_ID, **special)
        step = step if each_step is None else with_check(each_step, step)
        limits = ops.sum(ops.cast(mask, "int32"), axis=1) + 1  # CTC has a token a frame at most.
        options = {"max_lengths": limits, "max_length": ops.shape(memory)[1] + 1, "length_penalty": 0.0}
        return beam_search(step, state, beam_size=beam_size, pad_id=PAD_ID, **special, **options)

    def _decode(self, parts, progress=None):
        """Returns the text of each part of recordings."""
        per_step = self.model.config.samples_per_step
        options = {name: getattr(self, name) for name in self.searched_with}
        steps, results = [self.rounded_width(-(-len(part) // per_step)) for part in parts], []
        chunks = length_sorted_chunks(steps, max(1, self.batch_steps // self.beam_size))
        for chunk in chunks:
            rows, width = self.rounded(len(chunk)), max(steps[i] for i in chunk) * per_step
            samples, lengths = np.zeros((rows, width), "int16"), np.zeros(rows, "int32")
            for row, i in enumerate(chunk):
                samples[row, : len(parts[i])], lengths[row] = parts[i], len(parts[i])
            found = self.compiled(self.search, **options)(samples, lengths)
            ids = ops.convert_to_numpy(found.ids)[: len(chunk), 0]
            results.append([text.strip() for text in self.tokenizer.decode(ids.tolist())])
            if progress is not None:
                progress(len(chunk))
        return original_order(chunks, results)

    def _loss_sums(self, samples, num_samples, target):
        labels = target[:, 1:]
        inputs = {"samples": samples, "num_samples": num_samples, "target": target[:, :-1]}
        logits = self.model(inputs, training=False)[:, : ops.shape(labels)[1]]
        real = ops.cast(ops.not_equal(labels, PAD_ID), "float32")
        return ops.sum(smoothed_cross_entropy(labels, logits) * real), ops.sum(real)

    def _attention(self, samples, num_samples, target):
        memory, mask = self.model.encode(samples, num_samples)
        x = self.model.embed(target[:, :-1])
        _, scores = self.model.decoder(x, memory, memory_mask=mask, return_attention_scores=True)
        return ops.mean(scores[-1].cross_attention, axis=1)

    def _make_service(self, limits):
        from zoo.tf.speech_service import SpeechService

        return SpeechService(self, limits)

    def _check_signature(self, limits, signature):
        import tensorflow as tf

        rng = np.random.default_rng(0)
        sounds = [rng.normal(0, 0.1, size).astype("float32") for size in (3_000, self.sampling_rate)]
        files = [tf.audio.encode_wav(sound[:, None], self.sampling_rate).numpy() for sound in sounds]
        found = [text.decode() for text in signature(audio=tf.constant(files))["text"].numpy()]
        expected = self._decode([read_recording(file, self.sampling_rate) for file in files])
        if found != expected:
            raise_mismatch("model for speech", "two sounds", expected, found)


def _common(words, others):
    """Returns the words at the beginning of both lists."""
    count = next((i for i, pair in enumerate(zip(words, others)) if pair[0] != pair[1]), min(len(words), len(others)))
    return words[:count]


def _arrays(batch):
    return [batch[name] for name in ("samples", "num_samples", "target")]
