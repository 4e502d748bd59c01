"""Faults to plant in the tasks of `zoo`."""

from faults import Fault

DENOISING = "tests/zoo/corpora/test_denoising.py"
METRICS_TESTS = "tests/zoo/{}/test_metrics.py".format

TASKS = [
    Fault(
        "zoo/translation/alignment.py",
        "row[start:end].sum()",
        "row[start:end].mean()",
        "tests/zoo/translation/test_alignment.py",
    ),
    Fault(
        "zoo/translation/data.py",
        "if counts[0] != counts[1]:",
        "if counts[0] > counts[1]:",
        "tests/zoo/translation/test_data.py",
    ),
    Fault(
        "zoo/translation/segments.py",
        "sum(option.score for option in chosen)",
        "max(option.score for option in chosen)",
        "tests/zoo/translation/test_segments.py tests/zoo/translation/test_translator.py",
    ),
    Fault(
        "zoo/translation/metrics.py",
        "lowercase=lowercase, force=True",
        "lowercase=False, force=True",
        METRICS_TESTS("translation"),
    ),
    Fault(
        "zoo/translation/predictor.py",
        "ops.sum(smoothed_cross_entropy(labels, logits) * real)",
        "ops.sum(smoothed_cross_entropy(labels, logits))",
        "tests/zoo/translation/test_translator.py",
    ),
    Fault(
        "zoo/classification/metrics.py",
        "np.asarray(gold) * num_classes + np.asarray(predicted)",
        "np.asarray(predicted) * num_classes + np.asarray(gold)",
        METRICS_TESTS("classification"),
    ),
    Fault(
        "zoo/classification/metrics.py",
        "np.ceil(confidence * bins).astype(int) - 1",
        "np.floor(confidence * bins).astype(int)",
        METRICS_TESTS("classification"),
    ),
    Fault(
        "zoo/classification/data.py",
        "sorted(names, key=int if numbers else None)",
        "sorted(names)",
        "tests/zoo/classification/test_data.py",
    ),
    Fault("zoo/labelling/metrics.py", '(prefix != "I" or name != kind)', 'prefix != "I"', METRICS_TESTS("labelling")),
    Fault(
        "zoo/labelling/data.py", "first = first if words else line", "first = line", "tests/zoo/labelling/test_data.py"
    ),
    Fault(
        "zoo/labelling/task.py",
        "(probabilities)[flat != NO_LABEL], flat[flat != NO_LABEL]",
        "(probabilities), flat",
        "tests/zoo/labelling/test_task.py",
    ),
    Fault(
        "zoo/parsing/chart.py",
        "ended[:, width:, width - 1 : 0 : -1]",
        "ended[:, width:, 1:width]",
        "tests/zoo/parsing/test_chart.py",
    ),
    Fault(
        "zoo/parsing/tree_crf.py",
        "ops.where(now == 1, ops.softplus(score), score + longer)",
        "score + longer",
        "tests/zoo/parsing/test_tree_crf.py",
    ),
    Fault(
        "zoo/parsing/tree_crf.py",
        "of_item * ops.where(now == 1, ops.sigmoid(score), 1.0)",
        "of_item",
        "tests/zoo/parsing/test_tree_crf.py",
    ),
    Fault("zoo/parsing/metrics.py", '_SAME = {"PRT": "ADVP"}', "_SAME = {}", METRICS_TESTS("parsing")),
    Fault(
        "zoo/parsing/linear.py",
        "room >= left + open_ + 3",
        "room >= left + open_ + 2",
        "tests/zoo/parsing/test_linear.py",
    ),
    Fault("zoo/parsing/trees.py", "(span[0], -span[1])", "(span[0], span[1])", "tests/zoo/parsing/test_trees.py"),
    Fault(
        "zoo/parsing/data.py",
        "last <= words[:, None]",
        "last < words[:, None]",
        "tests/zoo/parsing/test_task.py",
        slow=True,
    ),
    Fault(
        "zoo/parsing/predictor.py",
        "ops.max(probabilities, axis=-1) - self.threshold",
        "ops.max(probabilities, axis=-1)",
        "tests/zoo/parsing/test_task.py",
        slow=True,
    ),
    Fault(
        "zoo/corpora/plain_texts.py", "if text.strip()]", "if text]", "tests/zoo/pretraining/test_task.py", slow=True
    ),
    Fault("zoo/corpora/denoising.py", "ranks < np.repeat", "ranks <= np.repeat", DENOISING),
    Fault("zoo/corpora/denoising.py", "mask[_rolled(lengths, rng)]", "mask", DENOISING),
    Fault("zoo/corpora/denoising.py", "lengths[shuffled]", 'lengths[np.argsort(owners, kind="stable")]', DENOISING),
    Fault("zoo/corpora/denoising.py", "(self._seed, epoch, 1)", "(self._seed, 0, 1)", DENOISING),
    Fault(
        "zoo/pretraining/denoiser.py",
        "row.pop()  # That",
        "pass  # That",
        "tests/zoo/pretraining/test_denoising.py",
        slow=True,
    ),
    Fault(
        "zoo/pretraining/predictor.py",
        "range(0, len(ids), room)",
        "range(0, len(ids), max_tokens)",
        "tests/zoo/pretraining/test_task.py",
        slow=True,
    ),
    Fault(
        "zoo/pretraining/task.py",
        "np.exp(-log_probabilities[rows].mean())",
        "np.exp(-log_probabilities[rows]).mean()",
        "tests/zoo/pretraining/test_task.py",
        slow=True,
    ),
]
