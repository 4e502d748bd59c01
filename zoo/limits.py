"""What a call may ask for."""

import dataclasses
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Limits:
    """What a call of an exported model may ask for; what asks for more is an error of that call alone.

    Args:
        max_bytes: Of a text, or of the words of a sentence together. Refused before anything is computed.
        max_seconds: From the beginning of a call to that of the last chunk or step of a search; None sets no limit.

    Raises:
        ValueError: If one is not positive.
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
    """`function`, with a check before each call."""

    def checked(*arguments):
        check()
        return function(*arguments)

    return checked
