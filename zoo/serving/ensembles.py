"""Several predictors as one."""

from collections.abc import Sequence

from zoo.serving.predictor import Predictor


def check_members(predictors: Sequence[Predictor]) -> list[Predictor]:
    """Returns the members of an ensemble; raises `ValueError` unless there is one, and all have one vocabulary."""
    predictors = list(predictors)
    if not predictors:
        raise ValueError("An ensemble needs at least one model. Received: none. Load some.")
    expected = predictors[0].tokenizer.digest
    for other in predictors[1:]:
        if other.tokenizer.digest != expected:
            raise ValueError(
                f"Models that predict together need the same vocabulary, {expected[:8]}. Received: another, "
                f"{other.tokenizer.digest[:8]}. Train all with --vocabulary of the first run."
            )
    return predictors
