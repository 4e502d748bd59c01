"""Training runs in MLflow, if `MLFLOW_TRACKING_URI` names a server or a store of it."""

import contextlib
import json
import os
import pathlib
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from zoo.extras import require
from zoo.storage.arrays import write_atomically

_EXPERIMENT = "keras_transformer"  # Unless MLFLOW_EXPERIMENT_NAME names another one.
_RECORD = "mlflow.json"
_ATTEMPTS = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"  # By default seven, which takes minutes.


def is_tracked() -> bool:
    """Returns whether runs are tracked.

    Raises:
        ImportError: If they are to be, and MLflow is missing; the message says what to install.
    """
    if not os.environ.get("MLFLOW_TRACKING_URI"):
        return False
    require("MLFLOW_TRACKING_URI is set; tracking", "mlflow")
    os.environ.setdefault(_ATTEMPTS, "2")
    return True


class TrackedRun:
    """A run in MLflow that a resumed training run continues. An error of the server is a warning, and ends tracking.

    Args:
        folder: Folder of the training run, which has `recipe.json`.
    """

    def __init__(self, folder: pathlib.Path):
        self._folder, self._run, self._broken = folder, None, False

    def write(self, step: int, figures: Mapping[str, object]) -> None:
        """Logs those of the figures that are numbers, at `step`."""
        from mlflow.entities import Metric

        def send(client, run):
            now = int(1000 * time.time())
            numbers = {name: float(value) for name, value in figures.items() if isinstance(value, int | float)}
            metrics = [Metric(name, value, now, step) for name, value in numbers.items() if name != "step"]
            client.log_batch(run, metrics=metrics)

        self._tell(send)

    def finish(self) -> None:
        """Logs checkpoint and report as artefacts, and ends the run as finished."""

        def send(client, run):
            for name in ("checkpoint", "report.html"):
                path = self._folder / name
                if path.is_dir():
                    client.log_artifacts(run, str(path), name)
                elif path.exists():
                    client.log_artifact(run, str(path))
            client.set_terminated(run)

        self._tell(send)

    def stop(self, failed: bool) -> None:
        """Ends the run for now: as failed, or as killed by a signal."""
        if self._run is not None:
            self._tell(lambda client, run: client.set_terminated(run, "FAILED" if failed else "KILLED"))
            self._run = None

    def _tell(self, send: Callable[[Any, str], None]):
        if self._broken:
            return
        try:
            import mlflow

            client = mlflow.MlflowClient()
            self._run = self._run or self._begin(client)
            send(client, self._run)
        except Exception as error:  # Whatever servers and clients raise.
            self._broken = True
            warnings.warn(f"MLflow is not told any more: {error}. The training goes on.", stacklevel=2)

    def _begin(self, client):
        record = self._folder / "training" / _RECORD
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            run = str(json.loads(record.read_text("utf-8"))["run"])
            client.update_run(run, status="RUNNING")
            return run
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", _EXPERIMENT)
        found = client.get_experiment_by_name(name)
        experiment = found.experiment_id if found else client.create_experiment(name)
        run = client.create_run(experiment, run_name=self._folder.name).info.run_id
        recipe = json.loads((self._folder / "recipe.json").read_text("utf-8"))
        for part, value in _flat(recipe):
            client.log_param(run, part, value)
        write_atomically(record, json.dumps({"run": run}).encode())
        return run


def _flat(values: Mapping, prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
