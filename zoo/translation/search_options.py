"""Options of the searches of `keras_transformer.decoding` for translations."""

import numbers


def search_options(
    num_return: int, beam_size: int, length_penalty: float, extra: int = 1, max_repeats: int = 0
) -> dict:
    """Returns the `name` of a search, "greedy" for a beam of 1 or "beam", and the options of its function.

    `extra` is the maximum number of tokens by which a translation is longer than its segment; `max_repeats` how often
    the same words may follow each other, 0 for no limit.

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
    if max_repeats < 0:
        raise ValueError(f"`max_repeats` must be at least 0, for no limit. Received: max_repeats={max_repeats}.")
    limits = {"extra": extra, "max_repeats": max_repeats}
    if beam_size == 1:
        return {"name": "greedy", **limits}
    options = {"beam_size": beam_size, "length_penalty": float(length_penalty), "num_return": num_return}
    return {"name": "beam", **limits, **options}
