"""The predictor of translations that predicts all tokens at once."""

from collections.abc import Sequence

import numpy as np
from keras import ops

from keras_transformer.decoding.hypotheses import check_count
from zoo.config import NonAutoregressiveConfig
from zoo.corpora.batching import token_batches
from zoo.corpora.labelled_corpus import split_labels
from zoo.corpora.masked_targets import mask_targets
from zoo.models.non_autoregressive import NonAutoregressive
from zoo.text.vocabularies import Vocabulary
from zoo.translation.length_loss import parallel_loss
from zoo.translation.parallel_search import parallel_search
from zoo.translation.predictor import Translator
from zoo.translation.search_options import search_options
from zoo.translation.searches import most_kept

_LOSS_SEED = 1


class NonAutoregressiveTranslator(Translator):
    """Translates texts with a `zoo.models.non_autoregressive.NonAutoregressive`, all tokens at once.

    Decoding is mask-predict (Ghazvininejad et al. 2019): the tokens that the model is least sure of are predicted
    again, given the others. What a beam is elsewhere are lengths here: `beam_size` of them are decoded side by side, of
    which the one with the highest mean log-probability of its tokens is the translation. There is no length penalty.

    Args:
        model, tokenizer, card: As for `Predictor`.
        iterations: Number of predictions; 1 predicts all tokens once. 10 by default; of aligned outputs 4, or 1 if the
            model was trained without `imputed`. An attribute, saved with the checkpoint.
        beam_size: Number of lengths. 1 if the output of the model has a fixed length or is aligned.
        jit_compile: Whether XLA compiles the search, with room for the longest translation that is allowed.
        options: `max_source_tokens`, `batch_tokens`, `split_sentences`, `max_extra_tokens`, `placeholders`,
            `known_words` and `glossary` of `Translator`.
    """

    model_class, config_class = NonAutoregressive, NonAutoregressiveConfig
    searched_with = "beam_size", "iterations"
    settings = (
        *("max_source_tokens", "split_sentences", "placeholders", "known_words", "glossary", "max_extra_tokens"),
        *searched_with,
    )
    fixed_settings = {"decoder": "non-autoregressive"}
    split = staticmethod(split_labels)

    def __init__(
        self,
        model: NonAutoregressive,
        tokenizer: Vocabulary,
        card: dict | None = None,
        iterations: int | None = None,
        beam_size: int | None = None,
        jit_compile: bool = False,
        **options,
    ):
        if jit_compile not in (True, False):
            raise ValueError(
                f"`jit_compile` of a non-autoregressive translator must be True or False. Received: {jit_compile!r}."
            )
        if beam_size is None:
            beam_size = 5 if model.config.num_length_classes else 1
        super().__init__(model, tokenizer, card, beam_size=beam_size, jit_compile=jit_compile, **options)
        if iterations is None:
            iterations = (4 if model.config.imputed else 1) if model.aligned else 10
        self.iterations = iterations
        self.search_settings()  # Checks them.

    def search_settings(
        self, num_return: int = 1, beam_size: int | None = None, length_penalty: float | None = None
    ) -> dict:
        """Returns `num_return` and `beam_size`, with the default of the translator; see `Translator.search_settings`.

        Raises:
            ValueError: If a number is too small, there are not as many lengths, the model was not trained for several
                iterations, or there is a length penalty.
        """
        check_count("iterations", self.iterations, 1)
        if self.model.aligned and not self.model.config.imputed and self.iterations > 1:
            raise ValueError(
                "This translator has learned to predict all positions at once only. Received: "
                f"iterations={self.iterations}. Leave it at 1, or train it with model.imputed=0.7."
            )
        if length_penalty is not None:
            raise ValueError(
                "A non-autoregressive translator compares lengths by the mean log-probability of their tokens. "
                f"Received: length_penalty={length_penalty}. Leave it out."
            )
        beam_size = max(self.beam_size, num_return) if beam_size is None else beam_size
        search_options(num_return, beam_size, 0.0)  # Checks them.
        most = max(1, self.model.config.num_length_classes - 1)
        if beam_size > most:
            raise ValueError(
                f"`beam_size` and `num_return` must be at most {most}, the number of lengths that this model predicts. "
                f"Received: beam_size={beam_size}. Use a smaller one."
            )
        return {"beam_size": beam_size, "num_return": num_return}

    def _search_options(self, settings):
        lengths = {"num_lengths": settings["beam_size"], "num_return": settings["num_return"]}
        return {**lengths, "iterations": self.iterations, "extra": self.max_extra_tokens}

    def _run_search(self, source, limits, uniforms=None, each_step=None, *, num_return, **options):
        chooses = self.placeholders and options["num_lengths"] > 1
        returned = options["num_lengths"] if chooses else num_return
        found = parallel_search(self.model, source, limits, each_step, num_return=returned, **options)
        return most_kept(found, source, self.tokenizer.kept_kinds, num_return) if chooses else found

    def examples(self, sources: Sequence[str], targets: Sequence[str], batch_size=32, shuffle=True, seed=0):
        """Encodes texts and their translations, of which some tokens are masked; see `Predictor.examples`."""
        from zoo.tf.pipeline import numbered_map, shuffled_dataset

        def masked(number, batch):
            return mask_targets(batch, self.model.config, seed, number)

        batches = shuffled_dataset(self.encode_examples(sources, targets), batch_size, shuffle, seed)
        return numbered_map(batches, masked, dict.fromkeys(("source", "target", "labels"), 2)).map(self.split)

    def loss(self, pairs: Sequence[tuple[str, str]]) -> float:
        """Computes the mean cross entropy of masked tokens, and of the lengths, of pairs (source, target).

        Each call masks the same tokens. With aligned outputs it is that of all tokens, the end included, none shown.
        """
        batches = token_batches(self.encode_examples(*map(list, zip(*pairs))), self.batch_tokens, seed=0)
        masked = (mask_targets(batch, self.model.config, _LOSS_SEED, number) for number, batch in enumerate(batches))
        sums = [self.compiled(self._masked_sums)(b["source"], b["target"], b["labels"]) for b in masked]
        total, tokens = np.sum([[float(x) for x in pair] for pair in sums], axis=0)
        return total / tokens

    def _masked_sums(self, source, target, labels):
        logits = self.model({"source": source, "target": target}, training=False)
        return parallel_loss(self.model.config)(labels, logits), ops.sum(ops.cast(ops.not_equal(labels, 0), "float32"))

    def sample(self, texts, *arguments, **options):
        """Raises `ValueError`: the tokens are predicted at once, not one given those before."""
        raise ValueError("A non-autoregressive translator cannot sample. Use its autoregressive teacher.")

    def attention(self):
        """Raises `ValueError`: each step attends to the source before the model has chosen its token."""
        raise ValueError(
            "A non-autoregressive translator does not align words. Received: a call for alignments. Leave them out, or "
            "align its translations by its autoregressive teacher."
        )


def set_iterations(translators: Sequence[Translator], iterations: int) -> None:
    """Sets the number of iterations of non-autoregressive translators; raises `ValueError` for others."""
    for translator in translators:
        if not isinstance(translator, NonAutoregressiveTranslator):
            raise ValueError(
                "Only a non-autoregressive translator predicts tokens several times. Received: "
                f"iterations={iterations} for a {type(translator).__name__}. Leave it out."
            )
        translator.iterations = iterations
        translator.search_settings()  # Checks it.
