"""Language models that predict together."""

from collections.abc import Sequence

from zoo.language_modelling.predictor import TextGenerator
from zoo.models.ensemble import LanguageModelEnsemble
from zoo.serving.ensembles import check_members


class EnsembleGenerator(TextGenerator):
    """Generates and scores texts with the mean of the probabilities of several language models.

    The context is the shortest one; a token that one of them knows may be generated. A repetition penalty changes
    log-probabilities here, not logits.

    Args:
        generators: At least one, with the same vocabulary, which all know documents or none.
    """

    def __init__(self, generators: Sequence[TextGenerator]):
        first, *others = self.generators = check_members(generators)
        for other in others:
            if other.documents != first.documents:
                raise ValueError(
                    "Language models that predict together must all know where documents end, or none. Received: some "
                    "that do. Train all on the same corpus."
                )
        super().__init__(
            LanguageModelEnsemble([generator.model for generator in self.generators]),
            first.tokenizer,
            max_tokens=min(generator.max_tokens for generator in self.generators),
            documents=first.documents,
            unseen=sorted(set.intersection(*(set(generator.unseen) for generator in self.generators))),
        )

    def save(self, folder, dtype="float32", base=None):
        """Raises `ValueError`: an ensemble is no checkpoint."""
        raise ValueError(
            "An ensemble is several checkpoints, which are saved already. Received: a call of save. Load them together."
        )
