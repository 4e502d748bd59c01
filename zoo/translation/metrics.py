"""BLEU and chrF by sacrebleu, with signatures and bootstrap intervals. No Keras."""

from collections.abc import Sequence

from zoo.extras import require
from zoo.training.scores import Score


def bleu(
    hypotheses: Sequence[str],
    references: Sequence[str],
    tokenize: str = "13a",
    lowercase: bool = False,
    resamples: int = 0,
) -> Score:
    """Computes corpus BLEU of four-grams (Papineni et al. 2002; Post 2018).

    Args:
        hypotheses, references: Translations and their references, in the same order.
        tokenize: Tokenizer of sacrebleu: "13a" for plain text, "none" for tokenised text.
        lowercase: Whether to ignore case.
        resamples: Number of bootstrap samples for the interval (Koehn 2004); 0 for none.

    Raises:
        ValueError: If the numbers of hypotheses and references differ or are zero.
        ImportError: If sacrebleu is not installed.
    """
    metrics = _sacrebleu(hypotheses, references)
    return _score(metrics.BLEU(tokenize=tokenize, lowercase=lowercase, force=True), hypotheses, references, resamples)


def chrf(hypotheses: Sequence[str], references: Sequence[str], resamples: int = 0) -> Score:
    """Computes chrF2 of character six-grams (Popovic 2015); arguments and errors as for `bleu`."""
    return _score(_sacrebleu(hypotheses, references).CHRF(), hypotheses, references, resamples)


def sentence_chrf(hypothesis: str, reference: str) -> float:
    """Computes chrF2 of one sentence."""
    return _sacrebleu([hypothesis], [reference]).CHRF().sentence_score(hypothesis, [reference]).score


def _sacrebleu(hypotheses, references):
    if len(hypotheses) != len(references) or not references:
        raise ValueError(
            f"There must be references, and a hypothesis for each. Received: {len(hypotheses)} hypotheses, "
            f"{len(references)} references. Pass both for the same texts."
        )
    require("BLEU", "sacrebleu")
    from sacrebleu import metrics

    return metrics


def _score(metric, hypotheses, references, resamples):
    compute = metric._compute_score_from_stats

    def as_float(statistics):
        # sacrebleu 2.6 returns chrF as np.float32, but 0.0 as float, and fails to compute the mean of both.
        score = compute(statistics)
        score.score = float(score.score)
        return score

    metric._compute_score_from_stats = as_float
    result = metric.corpus_score(list(hypotheses), [list(references)], n_bootstrap=resamples or 1)
    interval = float(result._ci) if resamples > 1 else 0.0
    return Score(result.name, float(result.score), interval, str(metric.get_signature()))
