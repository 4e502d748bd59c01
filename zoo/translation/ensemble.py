"""Translators that decode together."""

from collections.abc import Sequence

from zoo.models.ensemble import Seq2SeqEnsemble
from zoo.models.seq2seq import Seq2Seq
from zoo.serving.ensembles import check_members
from zoo.text.known_words import merge_words
from zoo.translation.predictor import Translator


class EnsembleTranslator(Translator):
    """Translates with the mean of the probabilities of several translators, such as training runs of several seeds.

    Settings and alignments are those of the first; all the words that one of them knows are known.

    Args:
        translators: At least one, with the same vocabulary and, as far as their cards name them, the same languages.
    """

    def __init__(self, translators: Sequence[Translator]):
        self.translators = translators = check_members(translators)
        first = translators[0]
        for translator in translators:
            if not isinstance(translator.model, Seq2Seq):
                raise ValueError(
                    "Translators decode together token by token. Received: a non-autoregressive one. Leave it out."
                )
        _check_languages([translator.card for translator in translators])
        settings = {name: getattr(first, name) for name in first.settings}
        if first.placeholders:
            settings["known_words"] = merge_words(*(translator.known_words for translator in translators))
        card = {name: first.card[name] for name in ("source_language", "target_language", "bleu") if name in first.card}
        model = Seq2SeqEnsemble([translator.model for translator in translators])
        super().__init__(model, first.tokenizer, card, **settings)

    def attention(self):
        return self.translators[0].attention()

    def save(self, folder, dtype="float32", base=None):
        """Raises `ValueError`: an ensemble is no checkpoint."""
        raise ValueError(
            "An ensemble is several checkpoints, which are saved already. Received: a call of save. To make one model "
            "of it, translate a corpus by `python -m zoo.translation distill` and train on that."
        )


def _check_languages(cards):
    """Raises `ValueError` if cards name different languages; one may name none."""
    for side in ("source_language", "target_language"):
        first, *others = [card[side] for card in cards if side in card] or [None]
        for other in others:
            if other != first:
                raise ValueError(
                    f"Translators that decode together need the same languages. Received: {side} {first!r} and "
                    f"{other!r}. Leave one of both out."
                )
