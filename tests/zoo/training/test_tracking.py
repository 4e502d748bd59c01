"""Runs in MLflow, in a store on this machine."""

import json
import sys

import pytest

pytest.importorskip("mlflow")

import mlflow

from zoo.training.scalars import ScalarLog
from zoo.training.tracking import TrackedRun, is_tracked

RECIPE = {"model": {"hidden_dim": 16}, "training": {"steps": 3, "augment": {"upper": 0.1}}, "source": "here"}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """The folder of a training run, and a store for it."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "store").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    folder = tmp_path / "runs" / "mine"
    (folder / "training").mkdir(parents=True)
    (folder / "recipe.json").write_text(json.dumps(RECIPE))
    return folder


def found():
    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name("keras_transformer")
    (only,) = client.search_runs([experiment.experiment_id])
    return client, only


def test_a_resumed_run_continues_the_run_of_mlflow(run):
    with pytest.raises(KeyboardInterrupt), ScalarLog(run / "training") as log:
        log.write(1, {"step": 1, "train_loss": 2.5, "note": "text"})
        assert found()[1].info.status == "RUNNING"
        raise KeyboardInterrupt
    assert found()[1].info.status == "KILLED"
    with ScalarLog(run / "training") as log:
        log.write(2, {"step": 2, "train_loss": 1.5})
    client, only = found()
    assert only.info.status == "RUNNING" and only.info.run_name == "mine"
    assert only.data.params == {
        "model.hidden_dim": "16",
        "training.steps": "3",
        "training.augment.upper": "0.1",
        "source": "here",
    }
    history = client.get_metric_history(only.info.run_id, "train_loss")
    assert sorted((metric.step, metric.value) for metric in history) == [(1, 2.5), (2, 1.5)]
    assert only.data.metrics.keys() == {"train_loss"}
    (run / "checkpoint").mkdir()
    (run / "checkpoint" / "card.json").write_text("{}")
    (run / "report.html").write_text("<p>")
    TrackedRun(run).finish()
    client, only = found()
    assert only.info.status == "FINISHED"
    assert [file.path for file in client.list_artifacts(only.info.run_id)] == ["checkpoint", "report.html"]
    assert [file.path for file in client.list_artifacts(only.info.run_id, "checkpoint")] == ["checkpoint/card.json"]


def test_an_error_ends_the_run_as_failed(run):
    with pytest.raises(FloatingPointError), ScalarLog(run / "training") as log:
        log.write(1, {"train_loss": 2.5})
        raise FloatingPointError
    assert found()[1].info.status == "FAILED"


def test_a_server_that_is_not_there_is_told_once(run, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with ScalarLog(run / "training") as log:
        with pytest.warns(UserWarning, match="MLflow is not told any more"):
            log.write(1, {"train_loss": 2.5})
        log.write(2, {"train_loss": 2.5})  # Warnings are errors.


def test_only_on_request(run, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    assert not is_tracked()
    with ScalarLog(run / "training") as log:
        log.write(1, {"train_loss": 2.5})
    assert not (run.parents[1] / "store").exists()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    with ScalarLog(run / "training", tracked=False) as log:  # A worker that is not the chief.
        log.write(1, {"train_loss": 2.5})
    monkeypatch.setitem(sys.modules, "mlflow", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="MLFLOW_TRACKING_URI is set; tracking needs mlflow-skinny. Install it"):
        is_tracked()
