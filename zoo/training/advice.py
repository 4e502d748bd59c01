"""Advice on a training run whose figures look wrong."""

from collections.abc import Mapping, Sequence

_EVALUATIONS = 3


def stagnant_score(history: Sequence[Mapping[str, float]]) -> str | None:
    """Returns a warning if the loss on dev fell in the latest evaluations while the score did not rise; else None.

    A model that predicts better and better tokens, but whose outputs are no better, is often scored wrongly.

    Args:
        history: Figures of all evaluations, with `dev_loss` and `score`, in the order of the training run.
    """
    latest = history[-_EVALUATIONS - 1 :]
    if len(latest) <= _EVALUATIONS or not all({"dev_loss", "score"} <= figures.keys() for figures in latest):
        return None
    losses, scores = ([figures[name] for figures in latest] for name in ("dev_loss", "score"))
    falls = all(after < before for before, after in zip(losses, losses[1:]))
    if not falls or max(scores[1:]) > scores[0] or scores[0] < max(figures.get("score", 0.0) for figures in history):
        return None
    return (
        f"warning: in the last {_EVALUATIONS} evaluations dev_loss fell from {losses[0]:.4g} to {losses[-1]:.4g}, but "
        f"the score did not rise above {scores[0]:.4g}. Look at the predictions: are the references of the dev set of "
        "the kind of the training targets (language, tokenisation, case), and is the score computed for that kind, "
        "such as by --tokenize?"
    )
