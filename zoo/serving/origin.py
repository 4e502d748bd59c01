"""What a predictor was when it was loaded or saved, to tell later whether its card still describes it."""

import copy
import dataclasses

from zoo.config_values import to_dict
from zoo.storage.arrays import arrays_digest, named_arrays
from zoo.storage.checkpoints import WEIGHTS

# Entries of a card that are only true for certain weights, and for certain answers.
_OF_WEIGHTS = ("name", "command", "recipe", "seed", "weights")
_OF_ANSWERS = ("scores", "exported_scores", "checks")
_OF_FILES = ("format", "dtype", "base", "parameters", "files", "card_sha256")


def model_digest(predictor) -> str:
    """Computes a hash of the weights, sizes and vocabulary of a predictor."""
    text = f"{to_dict(predictor.model.config)} {predictor.tokenizer and predictor.tokenizer.digest}"
    return arrays_digest({name: array + 0 for name, array in named_arrays(predictor.model).items()}, text)  # -0 is 0.


@dataclasses.dataclass(frozen=True)
class Origin:
    """The checkpoint that a predictor was loaded from, or saved to.

    Args:
        card: Its card.
        digest: The `model_digest` of the predictor at that time.
        settings: The `saved_settings` of the predictor at that time.
    """

    card: dict
    digest: str
    settings: dict

    @classmethod
    def of(cls, predictor, card: dict) -> "Origin":
        """Returns the origin of a predictor that is now as the checkpoint with a card."""
        return cls(*copy.deepcopy((card, model_digest(predictor), predictor.saved_settings())))

    def current_card(self, predictor) -> dict:
        """Returns the predictor's card without entries of this checkpoint that are no longer true.

        Other settings give other scores. Other weights also have another name and come from another training run:
        `derived_from` has the name of this checkpoint, the hash of its weights, and what it was derived from itself.
        Entries that were set since then remain.
        """
        card, old = dict(predictor.card), self.card
        trained, changed = model_digest(predictor) != self.digest, predictor.saved_settings() != self.settings
        stale = [*_OF_ANSWERS * (trained or changed), *_OF_WEIGHTS * trained]
        left_out = [name for name in stale if name in card and card[name] == old.get(name)]
        left_out += _OF_FILES * (trained or changed)
        if trained:
            source = {name: old[name] for name in ("name", "derived_from") if name in old}
            card["derived_from"] = {**source, "sha256": old["files"][WEIGHTS]}
        return {name: value for name, value in card.items() if name not in left_out}
