"""Faults in models that predict all tokens at once."""

from faults import Fault

SEARCH = "tests/decoding/test_mask_predict.py"
MASKS = "tests/zoo/corpora/test_masked_targets.py"
MODEL = "tests/zoo/models/test_non_autoregressive.py"
TRANSLATOR = "tests/zoo/translation/test_non_autoregressive.py"

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
    Fault("zoo/translation/parallel_search.py", "total / ops.cast(", "total + 0 * ops.cast(", TRANSLATOR),
    Fault(
        "zoo/translation/parallel_search.py",
        " - config.max_length_change",
        " - config.max_length_change + 1",
        TRANSLATOR,
    ),
]
