"""The report of a training run: its lines about the corpora, and the page that is written at the end."""

from collections.abc import Callable
from typing import Any

from zoo.corpora.batching import Corpus
from zoo.distribution.workers import Workers
from zoo.reports.reports import write_training
from zoo.serving.predictor import Predictor
from zoo.training.runs import Run
from zoo.training.tracking import TrackedRun, is_tracked


class KeptLog:
    """Logs lines, and keeps those before `end`.

    Args:
        log: Called with each line.
    """

    def __init__(self, log: Callable[[str], None]):
        self._log, self._ended, self.lines = log, False, []

    def __call__(self, text: str) -> None:
        self._log(text)
        if not self._ended:
            self.lines.append(text)

    def end(self) -> None:
        """Keeps no further lines."""
        self._ended = True


def write_report(run: Run, predictor: Predictor, evaluation: Any, corpus: Corpus, workers: Workers) -> None:
    """Writes `report.html` to the folder of a run, and what MLflow keeps of it; only the first worker has either.

    Args:
        run: The run, whose `log` is a `KeptLog`.
        predictor: The trained predictor.
        evaluation: The `zoo.training.tasks.Evaluation` on the dev set.
        corpus: The training corpus.
        workers: The processes of the run.
    """
    if not workers.chief:
        return
    lengths = corpus.epoch(0).lengths()
    write_training(run.folder / "report.html", predictor, evaluation, run.folder, run.log.lines, lengths)
    if is_tracked():
        TrackedRun(run.folder).finish()
