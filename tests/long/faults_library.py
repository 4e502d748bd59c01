"""Faults to plant in `keras_transformer`."""

from faults import Fault

ATTENTION_TESTS = "tests/layers/test_multi_head_attention.py tests/layers/test_attention_like_keras.py"
CACHE_TESTS = "tests/layers/test_attention_cache.py"
BLOCK_TESTS = "tests/layers/test_encoder_block.py tests/layers/test_decoder_block.py"
SCORE_TESTS = "tests/layers/test_score_variants.py"
BEAM_TESTS = "tests/decoding/test_beam_search.py"
LOSS_TESTS = "tests/training/test_losses.py tests/training/test_labels.py"

LIBRARY = [
    Fault(
        "keras_transformer/ops/updates.py",
        "if not _in_place.get() or compiled_by_xla(new.graph):",
        "if not _in_place.get():",
        "tests/ops/test_updates.py",
    ),
    Fault("keras_transformer/ops/updates.py", "return start + steps", "return start + 1", "tests/ops/test_updates.py"),
    Fault(
        "keras_transformer/ops/masks.py",
        "expand_dims(ahead <= 0, 0)",
        "expand_dims(ahead < 0, 0)",
        "tests/ops/test_masks.py",
    ),
    Fault(
        "keras_transformer/ops/masks.py",
        "ops.any(mask, axis=-1, keepdims=True)",
        "ops.all(mask, axis=-1, keepdims=True)",
        "tests/ops/test_masks.py tests/ops/test_attention.py",
    ),
    Fault(
        "keras_transformer/ops/attention.py",
        "query.shape[-1] ** -0.5",
        "query.shape[-2] ** -0.5",
        "tests/ops/test_attention.py",
    ),
    Fault(
        "keras_transformer/ops/attention.py",
        "        output = keep_sizes(ops.where(visible, output, ops.zeros((), output.dtype)), output)\n",
        "",
        "tests/ops/test_attention.py",
    ),
    Fault(
        "keras_transformer/ops/attention.py",
        'if keras.backend.standardize_dtype(x.dtype) != "float16"',
        'if keras.backend.standardize_dtype(x.dtype) != "bfloat16"',
        "tests/ops/test_attention.py",
    ),
    Fault(
        "keras_transformer/ops/blockwise.py",
        "of_weights - weights * ops.sum(",
        "of_weights - ops.sum(",
        "tests/ops/test_blockwise.py",
    ),
    Fault(
        "keras_transformer/ops/blockwise.py",
        "of_key + _outer(queries, of_scores), of_value",
        "_outer(queries, of_scores), of_value",
        "tests/ops/test_blockwise.py",
    ),
    Fault(
        "keras_transformer/ops/positions.py",
        "_rates(hidden_dim, base=10_000.0)",
        "_rates(hidden_dim, base=1_000.0)",
        "tests/ops/test_positions.py",
    ),
    Fault(
        "keras_transformer/ops/updates.py",
        "ops.slice_update(x, stacked(0, start, 0), new)",
        "ops.slice_update(x, stacked(0, 0, 0), new)",
        f"tests/ops/test_updates.py {CACHE_TESTS}",
    ),
    Fault(
        "keras_transformer/ops/cache.py",
        "ops.reshape(ops.transpose(weights, (0, 2, 1, 3, 4)), (rows",
        "ops.reshape(weights, (rows",
        f"tests/ops/test_cache.py {CACHE_TESTS} tests/layers/test_attention_weights.py",
    ),
    Fault(
        "keras_transformer/ops/packing.py",
        'ops.cumsum(ops.cast(real, "int32")) - 1',
        'ops.cumsum(ops.cast(real, "int32"))',
        "tests/ops/test_packing.py",
    ),
    Fault("keras_transformer/ops/dropout.py", "x * (kept * scale)", "x * kept", "tests/ops/test_dropout.py"),
    Fault("keras_transformer/ops/dropout.py", '"threefry" if', '"auto_select" if', "tests/ops/test_dropout.py"),
    Fault(
        "keras_transformer/ops/masks.py",
        "ops.abs(ahead) < window",
        "ops.abs(ahead) <= window",
        "tests/layers/test_attention_variants.py tests/layers/test_attention_like_keras.py",
    ),
    Fault(
        "keras_transformer/ops/ancestry.py",
        "numbers(rows) % num_beams",
        "numbers(rows) // num_beams",
        f"tests/ops/test_ancestry.py {CACHE_TESTS} tests/layers/test_decoder.py",
    ),
    Fault(
        "keras_transformer/ops/gradients.py",
        "value = loss(model(inputs, training=training))",
        "value = loss(model(inputs, training=False))",
        "tests/ops/test_gradients.py",
    ),
    Fault(
        "keras_transformer/layers/multi_head_attention.py",
        "0 if cache_index is None else cache_index, beams",
        "0, beams",
        CACHE_TESTS,
    ),
    Fault(
        "keras_transformer/layers/multi_head_attention.py",
        "use_causal_mask or writes, self.sliding_window",
        "use_causal_mask, self.sliding_window",
        CACHE_TESTS,
    ),
    Fault(
        "keras_transformer/layers/multi_head_attention.py",
        '            "sliding_window": self.sliding_window,\n',
        "",
        ATTENTION_TESTS + " tests/layers/test_attention_variants.py",
    ),
    Fault(
        "keras_transformer/layers/attention_heads.py",
        "masks.merge(value_mask, key_mask)",
        "masks.merge(value_mask)",
        ATTENTION_TESTS,
    ),
    Fault(
        "keras_transformer/ops/masks.py",
        "return ops.any(visible, axis=1)",
        "return ops.all(visible, axis=1)",
        ATTENTION_TESTS,
    ),
    Fault(
        "keras_transformer/layers/positional_encoding.py",
        ' + ops.cast(start_index, "int32")',
        "",
        "tests/layers/test_positional_encoding.py",
    ),
    Fault(
        "keras_transformer/layers/feed_forward.py",
        "self.output_dense(self.dropout_layer(self.inner_dense(inputs)))",
        "self.dropout_layer(self.output_dense(self.inner_dense(inputs)))",
        "tests/layers/test_feed_forward.py",
    ),
    Fault(
        "keras_transformer/layers/residual.py",
        "inputs + self.dropout_layer(sublayer_outputs)",
        "self.dropout_layer(inputs + sublayer_outputs)",
        "tests/layers/test_residual.py",
    ),
    Fault(
        "keras_transformer/layers/block.py",
        "residual_class(self.dropout, self.normalize_first, self.epsilon,",
        "residual_class(self.dropout, self.normalize_first,",
        BLOCK_TESTS,
    ),
    Fault("keras_transformer/layers/block.py", "dropout=self.attention_dropout", "dropout=self.dropout", BLOCK_TESTS),
    Fault(
        "keras_transformer/layers/token_embedding.py",
        "RandomNormal(stddev=hidden_dim**-0.5)",
        "RandomNormal(stddev=vocabulary_size**-0.5)",
        "tests/layers/test_token_embedding.py",
    ),
    Fault(
        "keras_transformer/layers/decoder_block.py",
        "self.cross_attention_residual.prepare(x, steps_mask)",
        "x",
        "tests/layers/test_decoder_block.py",
    ),
    Fault(
        "keras_transformer/layers/stack.py",
        "if self.norm is not None:\n            x = normalize(",
        "if self.norm is not None and cache is None:\n            x = normalize(",
        "tests/layers/test_encoder.py tests/layers/test_decoder.py",
    ),
    Fault(
        "keras_transformer/decoding/beam_search.py", "(5.0 + ops.cast(lengths", "(6.0 + ops.cast(lengths", BEAM_TESTS
    ),
    Fault(
        "keras_transformer/decoding/beam_search.py",
        "extended.log_probs[:, -1:]",
        "extended.log_probs[:, :1]",
        BEAM_TESTS,
    ),
    Fault("keras_transformer/decoding/beam_search.py", "largest = ops.maximum(", "largest = ops.minimum(", BEAM_TESTS),
    Fault(
        "keras_transformer/layers/relative_attention.py",
        "ops.clip(distance, -self.max_distance, self.max_distance)",
        "ops.clip(-distance, -self.max_distance, self.max_distance)",
        SCORE_TESTS,
    ),
    Fault(
        "keras_transformer/ops/positions.py",
        "first * cosine - second * sine,",
        "first * cosine,",
        SCORE_TESTS,
    ),
    Fault(
        "keras_transformer/ops/local.py",
        "1 if seen.causal else 2",
        "1",
        "tests/ops/test_local.py",
    ),
    Fault("keras_transformer/decoding/beam_search.py", "search.needed - 1", "search.needed * 0", BEAM_TESTS),
    Fault(
        "keras_transformer/decoding/loop.py",
        "ops.logical_and(full, index < room)",
        "ops.logical_and(full, index <= room)",
        "tests/zoo/models/test_growing_caches.py",
    ),
    Fault(
        "keras_transformer/decoding/candidates.py",
        "min(count + len(never), logits.shape[-1])",
        "min(count, logits.shape[-1])",
        f"tests/decoding/test_candidates.py {BEAM_TESTS}",
    ),
    Fault(
        "keras_transformer/decoding/candidates.py",
        'best = ops.sort(ops.cast(best, "int32"), axis=-1)',
        'best = ops.cast(best, "int32")',
        "tests/decoding/test_candidates.py",
    ),
    Fault(
        "keras_transformer/decoding/sampling.py",
        "cumulative - weights < top_p",
        "cumulative < top_p",
        "tests/decoding/test_sampling.py",
    ),
    Fault(
        "keras_transformer/decoding/greedy.py",
        "{pad_id, start_id} - {end_id}",
        "{pad_id} - {end_id}",
        "tests/decoding/test_greedy.py",
    ),
    Fault("keras_transformer/training/losses.py", "(label_smoothing - 1.0) * weight", "-1.0 * weight", LOSS_TESTS),
    Fault(
        "keras_transformer/training/losses.py",
        "divide_no_nan(all_rows, replicas * rows)",
        "divide_no_nan(all_rows, rows)",
        f"{LOSS_TESTS} tests/training/test_replicas.py",
    ),
    Fault(
        "keras_transformer/training/schedules.py",
        "(self.total_steps + 1.0 - step)",
        "(self.total_steps - step)",
        "tests/training/test_schedules.py",
    ),
    Fault(
        "keras_transformer/training/averaging.py",
        "np.rint(mean) if np.issubdtype(dtype, np.integer) else mean",
        "mean",
        "tests/training/test_averaging.py",
    ),
    Fault(
        "keras_transformer/training/lora.py",
        "dense.lora_alpha / dense.lora_rank",
        "dense.lora_alpha",
        "tests/training/test_lora.py",
    ),
    Fault(
        "keras_transformer/verification/probes.py",
        "real & (steps >= cut)",
        "real & (steps > cut)",
        "tests/verification",
    ),
    Fault(
        "keras_transformer/verification/influence.py",
        "<= self.steps[..., None]",
        "< self.steps[..., None]",
        "tests/verification",
    ),
    Fault(
        "keras_transformer/verification/report.py",
        "if finding.passed is False",
        "if not finding.passed",
        "tests/verification",
    ),
    Fault("keras_transformer/ops/once.py", "*map(_identity, arguments)", "arguments[0]", "tests/ops/test_once.py"),
    Fault("keras_transformer/ops/rows.py", "adj_y=transpose_y", "adj_y=False", "tests/ops/test_rows.py"),
    Fault("keras_transformer/ops/rows.py", "x - ops.max(x, axis=-1, keepdims=True)", "x", "tests/ops/test_rows.py"),
    Fault(
        "keras_transformer/ops/sizes.py",
        "return moved == sorted(moved)",
        "return True",
        "tests/ops/test_sizes.py tests/layers/test_multi_head_attention.py",
    ),
    Fault(
        "keras_transformer/layers/normalization.py",
        "ops.rsqrt(variance + self.epsilon)",
        "ops.rsqrt(variance)",
        "tests/layers/test_normalization.py",
    ),
]
