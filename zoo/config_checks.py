"""Frozen dataclasses that check their values: the base of all configurations."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any


def checked(default: Any, rule: str, holds: Callable[[Any], bool]) -> Any:
    """Declares a field whose values a `CheckedConfig` checks: `holds(value)` is whether they follow the `rule`."""
    return field(default=default, metadata={"rule": rule, "holds": holds})


def positive(default: int) -> int:
    """Declares a field of integers of at least 1."""
    return checked(default, "be at least 1", lambda value: value >= 1)


def zero_or_more(default: float) -> Any:
    """Declares a field of finite numbers of at least 0."""
    return checked(default, "be 0 or more", lambda value: 0 <= value < math.inf)


def rate(default: float) -> float:
    """Declares a field of probabilities below 1."""
    return checked(default, "lie in [0, 1)", lambda value: 0 <= value < 1)


def share(default: float = 0.0) -> float:
    """Declares a field of shares."""
    return checked(default, "lie in [0, 1]", lambda value: 0 <= value <= 1)


def choice(default: str, *others: str) -> str:
    """Declares a field with one of the given values."""
    choices = default, *others
    return checked(default, f"be one of {', '.join(choices)}", lambda value: value in choices)


@dataclass(frozen=True)
class CheckedConfig:
    """Base of configurations whose fields are declared with the rules that their values follow."""

    def __post_init__(self):
        for item in fields(self):
            value, rule = getattr(self, item.name), item.metadata.get("rule")
            try:
                holds = rule is None or item.metadata["holds"](value)
            except TypeError:  # Such as a text where a number belongs.
                holds = False
            if not holds:
                raise ValueError(f"`{item.name}` must {rule}. Received: {item.name}={value!r}.")
