"""Faults in what lets training runs outlive machines, and in estimates of them."""

from faults import Fault

MIRRORS = "tests/zoo/storage/test_mirrors.py"
HEARTBEATS = "tests/zoo/distribution/test_heartbeats.py"
STOPPING = "tests/zoo/training/test_stopping.py"
ESTIMATES = "tests/zoo/training/test_estimates.py"
TRACKING = "tests/zoo/training/test_tracking.py"
MODELS = "tests/zoo/models/test_training_argument.py"
MESH = "tests/zoo/distribution/test_mesh.py"
VERIFY = "tests/verification/test_dropout_probe.py"

RUNNING = [
    Fault("zoo/storage/mirrors.py", "if newest <= self._number():", "if False:", MIRRORS),
    Fault("zoo/storage/mirrors.py", 'if there["number"] > self._number():', "if False:", MIRRORS),
    Fault(
        "zoo/storage/mirrors.py",
        'if (size := self._system.info(target)["size"]) != file["bytes"]:',
        "if False:",
        MIRRORS,
    ),
    Fault("zoo/storage/mirrors.py", "self.pending.touch()", "pass", MIRRORS),
    Fault("zoo/storage/mirrors.py", 'or ".." in path.parts', "", MIRRORS),
    Fault("zoo/storage/mirrors.py", "_GENERATIONS[number % 2]", "_GENERATIONS[0]", MIRRORS),
    Fault("zoo/storage/mirrors.py", "for digest in older - kept:", "for digest in older:", MIRRORS),
    Fault("zoo/storage/mirrors.py", "if attempt + 1 == ATTEMPTS:", "if True:", MIRRORS),
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
    ),
    Fault("keras_transformer/verification/probes.py", '{"training": True} if takes else {}', "{}", VERIFY),
]
