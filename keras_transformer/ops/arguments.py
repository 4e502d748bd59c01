"""Checks of the arguments of constructors."""

import math
import numbers
from typing import Any


def check_positive_integers(**arguments: Any) -> None:
    """Raises `ValueError`, with its name, for the first argument that is not an integer of at least 1."""
    for name, value in arguments.items():
        if not is_integer(value) or value < 1:
            raise ValueError(f"`{name}` must be a positive integer. Received: {name}={value!r}.")


def check_positive_numbers(**arguments: Any) -> None:
    """Raises `ValueError`, with its name, for the first argument that is not a finite number above 0."""
    for name, value in arguments.items():
        known = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not known or not 0 < value < math.inf:
            raise ValueError(f"`{name}` must be a positive number. Received: {name}={value!r}.")


def is_integer(value: Any) -> bool:
    """Returns whether a value is an integer of Python, and not a boolean, which Python counts among them."""
    return isinstance(value, int) and not isinstance(value, bool)
