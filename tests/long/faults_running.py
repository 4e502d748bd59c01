"""Faults in what lets training runs outlive machines, and in estimates of them."""

from faults import Fault

MIRRORS = "tests/zoo/storage/test_mirrors.py"
STORES = "tests/zoo/storage/test_failing_stores.py"
HEARTBEATS = "tests/zoo/distribution/test_heartbeats.py"
STOPPING = "tests/zoo/training/test_stopping.py"
ESTIMATES = "tests/zoo/training/test_estimates.py"
TRACKING = "tests/zoo/training/test_tracking.py"
MODELS = "tests/zoo/models/test_training_argument.py"
MESH = "tests/zoo/distribution/test_mesh.py"
DATA_WORKERS = "tests/zoo/training/test_data_workers.py"
SERVICE = "tests/zoo/tf/test_batch_service.py"
WORKERS = "tests/zoo/distribution/test_workers.py"
VERIFY = "tests/verification/test_dropout_probe.py"

RUNNING = [
    Fault("zoo/training/trainer.py", "self.workers.sums([0])", "pass", WORKERS),
    Fault("zoo/training/data_workers.py", "number % len(self._lanes)", "0", DATA_WORKERS),
    Fault("zoo/training/data_workers.py", "epoch + 1, self._index", "epoch + 1, 0", DATA_WORKERS),
    Fault("zoo/training/data_workers.py", "if place > (epoch, number):", "if False:", DATA_WORKERS),
    Fault("zoo/training/data_workers.py", "        self._told = True", "        self._told = False", DATA_WORKERS),
    Fault("zoo/training/data_workers.py", "if time.monotonic() - began > self._patience:", "if False:", DATA_WORKERS),
    Fault("zoo/training/data_workers.py", "            lane.close()", "            pass", DATA_WORKERS),
    Fault("zoo/training/data_workers.py", '"subword_dropout", "token_dropout"', '"subword_dropout"', DATA_WORKERS),
    Fault("zoo/tf/batch_service.py", "plan = self._plan(*settings)", "plan = self._plan(24, 1, 3, 2)", SERVICE),
    Fault("zoo/tf/batch_service.py", 'if facts["identity"].get(name) != value', "if False", SERVICE),
    Fault("zoo/tf/batch_service.py", "found.result(_ANSWER)", "found.result()", SERVICE),
    Fault("zoo/tf/batch_service.py", "self.made += 1", "pass", SERVICE),
    Fault("zoo/storage/checkpoints.py", 'scheme == "file" and is_mirror(name)', "False", MIRRORS),
    Fault("zoo/storage/mirrors.py", "if newest <= self._number():", "if False:", MIRRORS),
    Fault("zoo/storage/mirrors.py", 'if there["number"] > self._number():', "if False:", STORES),
    Fault(
        "zoo/storage/mirrors.py",
        'if (size := self._system.info(target)["size"]) != file["bytes"]:',
        "if False:",
        STORES,
    ),
    Fault("zoo/storage/mirrors.py", "self.pending.touch()", "pass", STORES),
    Fault("zoo/storage/mirrors.py", 'or ".." in path.parts', "", STORES),
    Fault("zoo/storage/mirrors.py", "_GENERATIONS[number % 2]", "_GENERATIONS[0]", STORES),
    Fault("zoo/storage/mirrors.py", "(wait or not self", "(True or not self", STORES),
    Fault("zoo/storage/mirrors.py", "shutil.copyfile(path, found[name])", "found[name] = path", STORES),
    Fault("zoo/storage/mirrors.py", "for digest in older - kept:", "for digest in older:", MIRRORS),
    Fault("zoo/storage/mirrors.py", "if attempt + 1 == ATTEMPTS:", "if True:", STORES),
    Fault("zoo/storage/mirrors.py", "for path in [*self._others(files)]:", "for path in []:", MIRRORS),
    Fault("zoo/distribution/heartbeats.py", "if waited > self._seconds:", "if False:", HEARTBEATS),
    Fault("zoo/distribution/heartbeats.py", "if now - when > self._seconds:", "if False:", HEARTBEATS),
    Fault("zoo/distribution/heartbeats.py", "self._heard.pop(index, None)", "pass", HEARTBEATS),
    Fault("zoo/distribution/heartbeats.py", "                self._making = None\n", "", HEARTBEATS),
    Fault("zoo/training/stopping.py", "self._timer.cancel()", "pass", STOPPING),
    Fault("zoo/training/stopping.py", "exit_process(128 + number)", "exit_process(number)", STOPPING),
    Fault("zoo/training/estimates.py", "(4 if training.remat else 3) * products", "2 * products", ESTIMATES),
    Fault("zoo/training/estimates.py", "4 * attentions * length * width", "2 * attentions * length * width", ESTIMATES),
    Fault("zoo/training/estimates.py", "<= 0.9 * device.memory:", "<= 9 * device.memory:", ESTIMATES),
    Fault("zoo/training/tracking.py", 'client.update_run(run, status="RUNNING")', "pass", TRACKING),
    Fault("zoo/training/tracking.py", "self._broken = True", "pass", TRACKING),
    Fault(
        "zoo/models/encoder_model.py", "outputs = self(*args, **kwargs)", "outputs = self.call(*args, **kwargs)", MODELS
    ),
    Fault("zoo/distribution/mesh.py", "return parts * (replicas if free else 1)", "return parts * replicas", ESTIMATES),
    Fault(
        "keras_transformer/layers/multi_head_attention.py",
        'elif cache is None and keras.backend.backend() == "jax":',
        "elif False:",
        MESH,
        slow=True,
    ),
    Fault("keras_transformer/verification/probes.py", '{"training": True} if takes else {}', "{}", VERIFY),
]
