"""Faults in the detection of objects."""

from faults import Fault

DATA = "tests/zoo/detection/test_data.py"
LOSS = "tests/zoo/detection/test_loss.py"
CELLS = "tests/zoo/detection/test_cell_loss.py"
METRICS = "tests/zoo/detection/test_metrics.py"
MODEL = "tests/zoo/models/test_detector.py"
TWO_STAGES = "tests/zoo/models/test_two_stage_detector.py"
ROWS = "tests/zoo/corpora/test_box_rows.py"
TASK = "tests/zoo/detection/test_task.py"

DETECTION = [
    Fault("zoo/detection/data.py", "(left - 1, top - 1, right, bottom)", "(left, top, right, bottom)", DATA),
    Fault("zoo/detection/data.py", "(left, top, left + width, top + height)", "(left, top, width, height)", DATA),
    Fault("zoo/detection/data.py", "min(float(width), right)", "right", DATA),
    Fault("zoo/detection/data.py", "all(map(math.isfinite, box))", "any(map(math.isfinite, box))", DATA),
    Fault("zoo/detection/data.py", 'bool(item.get("iscrowd"))', "False", DATA),
    Fault("zoo/detection/boxes.py", "- (around - union) /", "+ (around - union) /", LOSS),
    Fault("zoo/detection/boxes.py", "ops.maximum(most - least, 0.0)", "most - least", LOSS),
    Fault("zoo/detection/loss.py", "cost[:, :count].T", "-cost[:, :count].T", LOSS),
    Fault("zoo/detection/loss.py", "+ self.no_object_weight * nothing_there", "", LOSS),
    Fault("zoo/detection/loss.py", "real[:, None], axis=-1)", "real[:, None] + 0 * of_real, axis=-1) * 2", LOSS),
    Fault("zoo/detection/loss.py", "ops.where(y_true[:, 0, 1] < 0, 0.0,", "ops.where(y_true[:, 0, 1] < -9, 0.0,", LOSS),
    Fault("zoo/detection/loss.py", "np.nan_to_num(costs, nan=_WORST", "np.nan_to_num(costs, nan=-_WORST", LOSS),
    Fault("zoo/detection/cell_loss.py", "_LEAST_WIDTH = 0.3", "_LEAST_WIDTH = 3.0", CELLS),
    Fault("zoo/detection/cell_loss.py", "0, size - 1)", "0, size)", CELLS),
    Fault("zoo/detection/cell_loss.py", "(1 - by_class) ** 4 * probability**2", "probability**2", CELLS),
    Fault("zoo/detection/cell_loss.py", "heat[..., None] * classes[:, :, None, :]", "heat[..., None]", CELLS),
    Fault("zoo/detection/cell_loss.py", "weights * count /", "weights /", CELLS),
    Fault("zoo/detection/metrics.py", "overlaps & (gold", "overlaps | (gold", METRICS),
    Fault("zoo/detection/metrics.py", "weights[self._image] * self._counts", "weights[self._image]", METRICS),
    Fault("zoo/detection/metrics.py", 'side="left"', 'side="right"', METRICS),
    Fault(
        "zoo/detection/predictor.py",
        "image.shape[1::-1]) / sizes[i, ::-1]",
        "image.shape[:2]) / sizes[i]",
        TASK,
        slow=True,
    ),
    Fault("zoo/detection/predictor.py", "if not item.ignored", "", TASK, slow=True),
    Fault("zoo/detection/predictor.py", "centres - lengths / 2, ", "centres - lengths, ", TASK, slow=True),
    Fault("zoo/models/detector.py", "ops.logical_and(rows", "ops.logical_or(rows", MODEL),
    Fault("zoo/models/detector.py", "use_causal_mask=False, **alone", "use_causal_mask=True, **alone", MODEL),
    Fault("zoo/models/detector.py", "group[None, :, None] == group", "group[None, :, None] <= group", MODEL),
    Fault("zoo/models/detector.py", "(place + 0.5) * scale - 0.5", "place * scale", MODEL),
    Fault("zoo/models/detector.py", "ops.where(highest, grid, grid - 1)", "grid", TWO_STAGES),
    Fault("zoo/models/detector.py", "classes, -1e4)", "classes, classes)", TWO_STAGES),
    Fault("zoo/models/detector.py", "+ 0.5) * stride / sizes", ") * stride / sizes", TWO_STAGES),
    Fault("zoo/models/backbone.py", "ops.relu(norm(x)) for", "norm(x)[:1] for", MODEL),
    Fault("zoo/models/host_calls.py", 'keras.backend.backend() == "tensorflow"', "False", MODEL),
    Fault("zoo/corpora/box_rows.py", "[width - right, top, width - left, bottom]", "[left, top, right, bottom]", ROWS),
    Fault("zoo/corpora/box_rows.py", "_LEAST_VISIBLE = 0.3", "_LEAST_VISIBLE = 0.0", ROWS),
    Fault("zoo/corpora/box_rows.py", "default_rng((self.seed, epoch))", "default_rng(self.seed)", ROWS),
    Fault(
        "zoo/corpora/archives.py", 'startswith((".", "__MACOSX"))', 'startswith("_")', "tests/zoo/images/test_data.py"
    ),
]
