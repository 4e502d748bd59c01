"""Faults in models that predict all tokens at once."""

from faults import Fault

SEARCH = "tests/decoding/test_mask_predict.py"
MASKS = "tests/zoo/corpora/test_masked_targets.py"
MODEL = "tests/zoo/models/test_non_autoregressive.py"
TRANSLATOR = "tests/zoo/translation/test_non_autoregressive.py"
ALIGNED = "tests/zoo/models/test_aligned.py"
ALIGNED_TRANSLATOR = "tests/zoo/translation/test_aligned.py"

PARALLEL = [
    Fault(
        "keras_transformer/decoding/mask_predict.py",
        "(iterations - index) // iterations",
        "(iterations - index - 1) // iterations",
        SEARCH,
    ),
    Fault("keras_transformer/decoding/mask_predict.py", " + lengths - kept", "", SEARCH),
    Fault("keras_transformer/decoding/mask_predict.py", "ops.pad(values, [(0, 1)])", "values", SEARCH),
    Fault("keras_transformer/decoding/mask_predict.py", "step(ops.where(masked, mask_id, ids)", "step(ids", SEARCH),
    Fault("zoo/corpora/masked_targets.py", "np.maximum(counts, 1) + 1)", "np.maximum(counts, 2))", MASKS),
    Fault("zoo/corpora/masked_targets.py", "[seed, number]", "[seed, 0]", MASKS),
    Fault("zoo/models/non_autoregressive.py", "            use_causal_mask=False,\n", "", MODEL),
    Fault(
        "keras_transformer/layers/stack.py",
        "{} if writes else",
        "{} if cache is not None else",
        "tests/layers/test_decoder.py",
    ),
    Fault("zoo/models/non_autoregressive.py", "masked_mean(memory, memory_mask)", "ops.mean(memory, axis=1)", MODEL),
    Fault("zoo/translation/length_loss.py", "y_pred[:, 1:, : self.num_tokens]", "y_pred[:, 1:]", MODEL),
    Fault(
        "zoo/translation/parallel_search.py",
        "total / ops.cast(ops.maximum(_count(real)",
        "total + 0 * ops.cast(ops.maximum(_count(real)",
        TRANSLATOR,
    ),
    Fault(
        "zoo/translation/parallel_search.py",
        " - config.max_length_change",
        " - config.max_length_change + 1",
        TRANSLATOR,
    ),
    Fault("zoo/models/non_autoregressive.py", "x if copies is None else x + copies", "x", ALIGNED),
    Fault("zoo/models/non_autoregressive.py", "self.config.glancing * wrong", "self.config.glancing * count", ALIGNED),
    Fault("zoo/models/non_autoregressive.py", "ops.equal(target, PAD_ID), END_ID, target", "False, 3, target", ALIGNED),
    Fault("zoo/models/non_autoregressive.py", "ops.where(shown, path, positions)", "path", ALIGNED),
    Fault("zoo/models/non_autoregressive.py", "ops.logical_or(shown, padding)", "padding", ALIGNED),
    Fault("zoo/models/non_autoregressive.py", "any_rate < 1.0, any_rate", "any_rate < 1.0, 0.5", ALIGNED),
    Fault("zoo/models/non_autoregressive.py", "ops.shape(rate)) / ", "ops.shape(positions)) / ", ALIGNED),
    Fault("zoo/models/class_padding.py", "_CERTAINLY_NOT = -1e30", "_CERTAINLY_NOT = -1e4", ALIGNED),
    Fault("zoo/training/text_ctc.py", "ops.where(ops.any(real, axis=1), losses, 0.0)", "losses", ALIGNED),
    Fault("zoo/translation/length_loss.py", "losses = losses * ops.reshape(", "ops.reshape(", ALIGNED),
    Fault(
        "zoo/translation/parallel_search.py",
        "ops.logical_or(repeated, ops.logical_or(",
        "ops.logical_or(ops.zeros_like(repeated), ops.logical_or(",
        ALIGNED_TRANSLATOR,
        slow=True,
    ),
    Fault(
        "zoo/translation/parallel_search.py",
        "ops.minimum(_count(ops.logical_not(left_out)), limits - 1)",
        "_count(ops.logical_not(left_out))",
        ALIGNED_TRANSLATOR,
        slow=True,
    ),
    Fault("zoo/translation/parallel_search.py", "() if model.aligned else ", "", ALIGNED_TRANSLATOR, slow=True),
    Fault(
        "zoo/translation/parallel_search.py", "END_ID if model.aligned else None", "None", ALIGNED_TRANSLATOR, slow=True
    ),
    Fault("keras_transformer/decoding/mask_predict.py", "log_probs + _BLANK", "log_probs", SEARCH),
    Fault("keras_transformer/decoding/mask_predict.py", "log_probs), _KEPT)", "log_probs), log_probs)", SEARCH),
    Fault("zoo/translation/task.py", "target - 1 > source", "target > source", ALIGNED_TRANSLATOR, slow=True),
]
