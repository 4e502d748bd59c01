"""A score with its interval and the protocol that it was measured by."""

from typing import NamedTuple


class Score(NamedTuple):
    """A score of a corpus: `value`, half the width of its 95 % interval (0 if not asked for), and its protocol."""

    metric: str
    value: float
    interval: float
    signature: str

    def __str__(self):
        interval = f" ± {self.interval:.2f} (95 % bootstrap)" if self.interval else ""
        return f"{self.metric} {self.value:.2f}{interval}  {self.signature}"
