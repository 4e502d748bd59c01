"""Options of the searches of `keras_transformer.decoding` for translations."""

import numbers


def search_options(num_return: int, beam_size: int, length_penalty: float, extra: int = 1) -> dict:
    """Returns the `name` of a search, "greedy" for a beam of 1 or "beam", and the options of its function.

    `extra` is the maximum number of tokens by which a translation is longer than its segment.

    Raises:
        ValueError: If a number is too small or not an integer, or `num_return` larger than the beam.
    """
    for name, count in (("beam_size", beam_size), ("num_return", num_return)):
        if isinstance(count, bool) or not isinstance(count, numbers.Integral):
            raise ValueError(f"`{name}` must be an integer. Received: {name}={count!r}.")
    if beam_size < 1 or not 1 <= num_return <= beam_size:
        raise ValueError(
            "`beam_size` must be at least 1, and `num_return` from 1 to `beam_size`. "
            f"Received: beam_size={beam_size}, num_return={num_return}. Change one of both."
        )
    if extra < 1:
        raise ValueError(f"`max_extra_tokens` must be at least 1. Received: max_extra_tokens={extra}.")
    if beam_size == 1:
        return {"name": "greedy", "extra": extra}
    options = {"beam_size": beam_size, "length_penalty": float(length_penalty), "num_return": num_return}
    return {"name": "beam", "extra": extra, **options}
