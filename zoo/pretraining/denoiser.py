"""The predictor of encoder-decoders that restore texts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from keras import ops

from keras_transformer.decoding import Hypotheses, beam_search, greedy_search
from keras_transformer.training.losses import smoothed_cross_entropy
from zoo.config import END_ID, PAD_ID, START_ID, ModelConfig
from zoo.corpora.batching import length_sorted_chunks, original_order, source_batch
from zoo.corpora.denoising import EncodedTexts, Noise, encode_texts, join_spans
from zoo.corpora.encoded_corpus import EncodedCorpus, teacher_forced
from zoo.models.seq2seq import Seq2Seq
from zoo.serving.predictor import Predictor, Progress
from zoo.text.checks import check_texts
from zoo.text.tokenizer import Tokenizer
from zoo.training_config import DenoisingConfig

GAP = "<mask>"  # In texts whose gaps are to be filled.
_GAP_CHARACTER = "\ufdd4"  # Unicode reserves it for internal use; no vocabulary has a piece for it.
_SPACE = "\u2581"
_EXTRA_TOKENS = 50
_SPECIAL = {"start_id": START_ID, "end_id": END_ID, "pad_id": PAD_ID}


class Denoiser(Predictor):
    """Restores texts with a `zoo.models.seq2seq.Seq2Seq`, which translators start from.

    Args:
        model, tokenizer, card: As for `Predictor`.
        denoising: Fields of the `zoo.training_config.DenoisingConfig` that the model was trained with.
        max_tokens: Maximum number of tokens of a text, an end token included.
        batch_tokens: Maximum number of positions in one call of the model.
        beam_size, length_penalty: Defaults of `fill`. They are attributes, and saved with the checkpoint.

    Raises:
        ValueError: If `denoising` has no objective, or the vocabulary has no sentinels for it.
    """

    task, model_class, config_class = "pretraining", Seq2Seq, ModelConfig
    settings = ("denoising", "max_tokens", "beam_size", "length_penalty")
    split, pad_label = staticmethod(teacher_forced), PAD_ID

    def __init__(
        self,
        model: Seq2Seq,
        tokenizer: Tokenizer,
        denoising: Mapping[str, Any],
        card: dict | None = None,
        max_tokens: int = 256,
        batch_tokens: int = 4096,
        beam_size: int = 4,
        length_penalty: float = 0.6,
    ):
        super().__init__(model, tokenizer, card)
        self.denoising, self._config = dict(denoising), DenoisingConfig(**denoising)
        if self._config.objective == "none":
            raise ValueError("`denoising` must have the objective spans or infilling. Received: none. Choose one.")
        self._noise, self.max_tokens, self.batch_tokens = Noise(self._config, tokenizer), max_tokens, batch_tokens
        self.beam_size, self.length_penalty = beam_size, length_penalty

    def fill(
        self,
        texts: Sequence[str],
        beam_size: int | None = None,
        length_penalty: float | None = None,
        progress: Progress = None,
    ) -> list[str]:
        """Fills the gaps of texts, such as "A dog <mask> in the grass.", by beam search.

        With the objective "spans" the rest of a text stays as it is. With "infilling" the model writes the whole text,
        and may change it. A text without a gap is returned as it is.

        Args:
            texts: List of strings; `<mask>` stands for one or several subwords.
            beam_size: Number of hypotheses kept at each step; 1 for greedy search; by default that of the predictor.
            length_penalty: Alpha of `keras_transformer.decoding.beam_search`; by default that of the predictor.
            progress: Called with the number of texts done since the last call.

        Raises:
            ValueError: If `texts` is not a list of strings, or one has more than `max_tokens` tokens, or more gaps than
                the vocabulary has sentinels.
        """
        beam_size = self.beam_size if beam_size is None else beam_size
        penalty = self.length_penalty if length_penalty is None else length_penalty
        filled = [*check_texts(texts)]
        gaps = [number for number, text in enumerate(filled) if GAP in text]
        rows = [self._with_gaps(filled[number]) for number in gaps]
        if progress is not None and len(gaps) < len(filled):
            progress(len(filled) - len(gaps))
        search = self.compiled(self._search, beam_size=beam_size, length_penalty=penalty)
        chunks, results = length_sorted_chunks([len(row) + 1 for row in rows], self.batch_tokens // beam_size), []
        for chunk in chunks:
            source = source_batch([rows[i] for i in chunk])
            limits = np.count_nonzero(source, axis=1).astype("int32") + _EXTRA_TOKENS
            found = Hypotheses(*map(ops.convert_to_numpy, search(source, limits)))
            results.append(
                self.tokenizer.decode([self._restored(rows[i], ids) for i, ids in zip(chunk, found.ids[:, 0])])
            )
            if progress is not None:
                progress(len(chunk))
        for number, text in zip(gaps, original_order(chunks, results)):
            filled[number] = text
        return filled

    def encode_examples(self, texts: Sequence[str]) -> EncodedCorpus:
        """Encodes texts, the same noise in them at each call; long ones are split into several rows."""
        return self.corrupted(check_texts(texts), 0)

    def corrupted(self, texts: Sequence[str], seed: int) -> EncodedCorpus:
        """Encodes texts with noise that `seed` determines."""
        return self._noise(self.encode_texts(texts), (seed,))

    def encode_texts(self, texts: Sequence[str]) -> EncodedTexts:
        """Encodes texts without noise; long ones are split into several rows."""
        return encode_texts(texts, self.tokenizer, self.max_tokens, self._config.permute_sentences)

    def losses(self, corpus: EncodedCorpus) -> tuple[np.ndarray, np.ndarray]:
        """Computes the cross entropy of each target, summed over its tokens, and the numbers of tokens, `[rows]`."""
        source, target = corpus.lengths()
        chunks, sums = length_sorted_chunks(np.maximum(source, target), self.batch_tokens), []
        for chunk in chunks:
            batch = corpus.gather(chunk, [int(source[chunk].max()), int(target[chunk].max())], 0)
            sums.append(ops.convert_to_numpy(self.compiled(self._loss_sums)(batch["source"], batch["target"])))
        return np.array(original_order(chunks, sums), "float64"), target

    def _loss_sums(self, source, target):
        labels = target[:, 1:]
        logits = self.model({"source": source, "target": target[:, :-1]}, training=False)
        real = ops.cast(ops.not_equal(labels, PAD_ID), "float32")
        return ops.sum(smoothed_cross_entropy(labels, logits) * real, axis=-1)

    def _with_gaps(self, text):
        """Returns the ids of a text with a sentinel or a mask at each gap."""
        marked = text.replace(_GAP_CHARACTER, "\ufffd").replace(GAP, _GAP_CHARACTER)
        (ids,), ((*_, first, second, third),) = self.tokenizer.encode([marked]), self.tokenizer.encode([_GAP_CHARACTER])
        row, gap, count = [], [first, second, third], 0  # The bytes of the character.
        for token in ids:
            row.append(token)
            if row[-3:] == gap:
                del row[-3:]
                if row and self.tokenizer.pieces[row[-1]] == _SPACE:
                    row.pop()  # That before a word, which is a part of its first piece.
                row.append(self._gap_id(count))
                count += 1
        if len(row) >= self.max_tokens:
            raise ValueError(
                f"A text must have fewer than max_tokens={self.max_tokens} tokens. Received: {len(row)} tokens, "
                f"{text[:40]!r}... Divide it."
            )
        return row

    def _gap_id(self, count):
        if self._config.objective == "infilling":
            return self.tokenizer.mask_id
        if count == len(self.tokenizer.sentinels):
            raise ValueError(
                f"A text must have at most {count} gaps, as many as the vocabulary has sentinels. Received: more. "
                "Divide it."
            )
        return int(self.tokenizer.sentinels[count])

    def _restored(self, row, ids):
        return join_spans(row, ids, self.tokenizer.sentinels) if self._config.objective == "spans" else ids

    def _search(self, source, limits, beam_size, length_penalty):
        """Searches the targets of sources `[B, S]` with at most `limits` `[B]` tokens; returns `Hypotheses`."""
        step, state = self.model.step_function(beam_size), self.model.init_state(source, beam_size)
        sizes = {"max_lengths": limits, "max_length": ops.shape(source)[1] + _EXTRA_TOKENS, **_SPECIAL}
        if beam_size == 1:
            return greedy_search(step, state, **sizes)
        return beam_search(step, state, **sizes, beam_size=beam_size, length_penalty=length_penalty)
