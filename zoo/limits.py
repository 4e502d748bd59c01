"""Request limits of exported models."""

import dataclasses
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Limits:
    """Limits of one call of an exported model; a call that exceeds them fails, and no other call is affected.

    Args:
        max_bytes: Bytes of a text, of a file, or of all words of a sentence; checked before anything is computed.
        max_seconds: Seconds from the beginning of a call to the beginning of its last chunk or search step; None for
            no limit.

    Raises:
        ValueError: If a limit is not positive.
    """

    max_bytes: int = 100_000
    max_seconds: float | None = None

    def __post_init__(self):
        if self.max_bytes < 1 or (self.max_seconds is not None and not self.max_seconds > 0):
            raise ValueError(
                "`max_bytes` and `max_seconds` must be positive; without `max_seconds`, a call may take any time. "
                f"Received: max_bytes={self.max_bytes}, max_seconds={self.max_seconds}."
            )


def with_check(check: Callable[[], None], function: Callable) -> Callable:
    """Returns `function` with a call of `check` before each call."""

    def checked(*arguments):
        check()
        return function(*arguments)

    return checked
