"""Options of generation, and the texts that grow from prompts."""

import dataclasses
import math
import numbers
from collections.abc import Sequence

from zoo.text.tokenizer import Tokenizer

_MOST_TOKENS = 200  # Of a text, by default.
_BROKEN = "\ufffd"  # Of a character whose last bytes are missing.


def check_seed(seed: int) -> int:
    """Returns a seed; raises `ValueError` if it is not an integer of at least 0."""
    if not isinstance(seed, numbers.Integral) or seed < 0:
        raise ValueError(f"`seed` must be an integer of 0 or more. Received: seed={seed!r}.")
    return seed


@dataclasses.dataclass(frozen=True)
class GenerationOptions:
    """How texts are generated; see `keras_transformer.decoding.sample` for the choice of tokens.

    Args:
        max_tokens: The most tokens of a text, without its prompt; None for 200, or fewer where learned positions end.
        temperature: 0 for the most probable token at each step, 1 for the distribution of the model.
        top_k: Number of tokens kept at each step; 0 keeps all.
        top_p: Share of the probability that is kept at each step.
        repetition_penalty: Makes tokens that have occurred less probable; 1 for none. See
            `keras_transformer.decoding.with_repetition_penalty`.
        stop: Texts that end a text; they do not belong to it.

    Raises:
        ValueError: If a value is outside of its range.
    """

    max_tokens: int | None = None
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    stop: tuple[str, ...] = ()

    def __post_init__(self):
        object.__setattr__(self, "stop", (self.stop,) if isinstance(self.stop, str) else tuple(self.stop))
        rules = {
            "max_tokens": (self.max_tokens is None or self.max_tokens >= 1, "be at least 1"),
            "temperature": (0 <= self.temperature < math.inf, "be 0 or more"),
            "top_k": (self.top_k >= 0, "be 0 or more"),
            "top_p": (0 < self.top_p <= 1, "lie in (0, 1]"),
            "repetition_penalty": (0 < self.repetition_penalty < math.inf, "be above 0"),
            "stop": (all(self.stop), "have no empty text"),
        }
        for name, (holds, rule) in rules.items():
            if not holds:
                raise ValueError(f"`{name}` must {rule}. Received: {name}={getattr(self, name)!r}.")

    def most_tokens(self, room: float = math.inf) -> int:
        """Returns the most tokens of a text: `max_tokens`, by default 200, or `room` if that is less."""
        return min(_MOST_TOKENS, room) if self.max_tokens is None else self.max_tokens

    def sampling(self) -> dict:
        """Returns the options of `keras_transformer.decoding.sample_steps`."""
        return {name: getattr(self, name) for name in ("temperature", "top_k", "top_p")}


class GrowingText:
    """The text after one prompt, token by token.

    Args:
        tokenizer: The vocabulary.
        options: Limits and stop texts.
        end_id: Token that ends a text; None if there is none.
    """

    def __init__(self, tokenizer: Tokenizer, options: GenerationOptions, end_id: int | None):
        self._tokenizer, self._options, self._end_id = tokenizer, options, end_id
        self._ids, self._given, self._most = [], 0, options.most_tokens()
        self.text, self.done = "", False

    def append(self, token_ids: Sequence[int]) -> None:
        """Appends tokens, up to the one that ends the text."""
        if self.done:
            return
        for token_id in token_ids:
            if token_id == self._end_id or len(self._ids) == self._most:
                self.done = True
                break
            self._ids.append(int(token_id))
        self.done = self.done or len(self._ids) == self._most
        self.text = self._tokenizer.decode([self._ids])[0]
        places = [place for place in map(self.text.find, self._options.stop) if place >= 0]
        if places:
            self.text, self.done = self.text[: min(places)], True

    def new_text(self) -> str:
        """Returns what has become certain since the last call: no half characters, no beginning of a stop text."""
        certain = len(self.text)
        if not self.done:
            certain = len(self.text.rstrip(_BROKEN))
            begun = [n for stop in self._options.stop for n in range(1, len(stop)) if self.text.endswith(stop[:n])]
            certain = min(certain, len(self.text) - max(begun, default=0))
        first, self._given = self._given, max(self._given, certain)
        return self.text[first : self._given]
