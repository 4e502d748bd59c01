"""The models of the server, loaded when they are first used."""

import collections
from typing import Any

import zoo
from zoo.storage import checkpoints


class UnknownModelError(ValueError):
    """Raised for a model that the server does not have."""


class ModelPool:
    """Loads models by name, and keeps those that were used last.

    Args:
        names: Names, folders or addresses of checkpoints; empty for all that come with the package.
        most: Number of models that are kept in memory.

    Raises:
        ValueError: If one of them is no checkpoint.
    """

    def __init__(self, names: tuple[str, ...] = (), most: int = 6):
        shipped = {card["name"]: card for card in zoo.list()}
        self._cards = {name: shipped.get(name) or _card(name) for name in names} or shipped
        self._loaded, self._most = collections.OrderedDict(), most

    def task(self, name: str) -> str:
        """Returns the task of a model."""
        if name not in self._cards:
            raise UnknownModelError(f"There is no model {name!r} here. GET /v1/models lists those that there are.")
        return self._cards[name]["task"]

    def names(self) -> list[str]:
        """Returns the names of all models."""
        return [*self._cards]

    def describe(self) -> list[dict]:
        """Returns what is known of each model."""
        return [_description(name, card) | {"loaded": name in self._loaded} for name, card in self._cards.items()]

    def loaded(self) -> int:
        """Returns the number of models in memory."""
        return len(self._loaded)

    def get(self, name: str) -> Any:
        """Returns the predictor, which is loaded if it is not in memory; one that was long not used is let go.

        Called by one thread only, in which models compute.

        Raises:
            RuntimeError: If it cannot be loaded, which is no fault of the request.
        """
        if name not in self._loaded:
            while len(self._loaded) >= self._most:
                self._loaded.popitem(last=False)
            try:
                self._loaded[name] = zoo.load(name)
            except (ValueError, OSError) as error:
                raise RuntimeError(f"{name} cannot be loaded.") from error
        self._loaded.move_to_end(name)
        return self._loaded[name]


def _card(name):
    return {**checkpoints.read_card(checkpoints.find(name)), "name": name}


def _description(name, card):
    scores = card.get("scores") or [None]
    score = scores[0] and {key: scores[0][key] for key in ("metric", "value", "data") if key in scores[0]}
    found = {"name": name, "task": card["task"], "parameters": card["parameters"], "score": score}
    return {**found, "licence": str(card.get("licence_short") or card.get("licence", "unknown"))}
