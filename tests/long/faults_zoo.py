"""Faults to plant in the parts of `zoo` that all tasks share."""

from faults import Fault

CONFIG_TESTS = "tests/zoo/test_config.py"
BATCHING_TESTS = "tests/zoo/corpora/test_batching.py"
MESH_TESTS = "tests/zoo/distribution/test_mesh.py"
FORMAT_TESTS = "tests/zoo/storage/test_formats.py tests/zoo/storage/test_checkpoints.py"
TRAINER_TESTS = "tests/zoo/training/test_trainer.py"
T5_TESTS = "tests/zoo/conversion/test_from_t5.py"
HEAD_TESTS = "tests/zoo/conversion/test_heads.py"
OPTIMIZERS = "tests/zoo/training/test_optimizers.py"

ZOO = [
    Fault(
        "zoo/serving/predictor.py",
        "return min(width, max(length, limit)) if limit else width",
        "return width",
        "tests/zoo/conversion/test_from_roberta.py",
    ),
    Fault(
        "zoo/config.py",
        "round(settings.cooldown_steps * scale)",
        "round(settings.cooldown_steps / scale)",
        CONFIG_TESTS,
    ),
    Fault("zoo/config_checks.py", "lambda value: 0 <= value < 1)", "lambda value: 0 <= value <= 1)", CONFIG_TESTS),
    Fault("zoo/config_values.py", 'return text.lower() == "true"', "return bool(text)", CONFIG_TESTS),
    Fault(
        "zoo/text/tokenizer.py",
        "if not 0 <= i < NUM_SPECIAL_IDS] for row",
        "if i >= NUM_SPECIAL_IDS] for row",
        "tests/zoo/text/test_tokenizer.py",
    ),
    Fault(
        "zoo/text/word_pieces.py",
        "len(word) > _LONGEST_WORD",
        "len(word) >= _LONGEST_WORD",
        "tests/zoo/text/test_word_pieces.py",
    ),
    Fault(
        "zoo/text/subword_dropout.py",
        "around = max(0, place - 1)",
        "around = place",
        "tests/zoo/text/test_tokenizer.py",
    ),
    Fault("zoo/text/subword_dropout.py", ", reverse=True)", ")", "tests/zoo/text/test_tokenizer.py"),
    Fault(
        "zoo/text/subword_dropout.py",
        "_geometric(1 - rate, rng)",
        "_geometric(rate, rng)",
        "tests/zoo/text/test_tokenizer.py",
    ),
    Fault(
        "zoo/corpora/sampled_corpus.py",
        "self._ahead is not None and self._ahead.epoch == epoch",
        "self._ahead is not None",
        "tests/zoo/corpora/test_sampled_corpus.py",
    ),
    Fault("zoo/text/sentences.py", "[0-9]{{1,2}}|{", "[0-9]{{2}}|{", "tests/zoo/text/test_sentences.py"),
    Fault(
        "zoo/corpora/batching.py", "np.random.default_rng([seed, epoch])", "np.random.default_rng(seed)", BATCHING_TESTS
    ),
    Fault("zoo/corpora/batching.py", "        rng.shuffle(self._spans)\n", "", BATCHING_TESTS),
    Fault("zoo/corpora/held_out.py", "text.strip().encode", "text.encode", "tests/zoo/corpora/test_held_out.py"),
    Fault(
        "zoo/corpora/labelled_corpus.py",
        "        dropped &= ~np.isin(ids, self.kept_ids)\n",
        "",
        "tests/zoo/corpora/test_labelled_corpus.py",
    ),
    Fault(
        "zoo/distribution/mesh.py", "return layout if divides else", "return layout if True else", MESH_TESTS, slow=True
    ),
    Fault(
        "zoo/distribution/mesh.py",
        "axes[max(free, key=lambda i: variable.shape[i])] = DATA",
        "pass",
        MESH_TESTS,
        slow=True,
    ),
    Fault(
        "zoo/models/seq2seq.py",
        "self.encoder(self.embed(source), mask=masks.padding_mask(source, PAD_ID))",
        "self.encoder(self.embed(source))",
        "tests/zoo/models/test_seq2seq.py",
    ),
    Fault(
        "zoo/models/step_decoding.py",
        "self.embed(token_ids[:, None], start_index=index)",
        "self.embed(token_ids[:, None])",
        "tests/zoo/models/test_seq2seq.py",
    ),
    Fault(
        "zoo/models/text_encoder.py",
        "ops.sum(weights, axis=1, keepdims=True)",
        'ops.cast(ops.shape(x)[1], "float32")',
        "tests/zoo/classification/test_classifier.py",
    ),
    Fault("zoo/models/span_parser.py", "ops.maximum(after - 1, 0)", "after", "tests/zoo/models/test_span_parser.py"),
    Fault("zoo/models/ngram_logits.py", "/ ops.sqrt(count)", "/ count", "tests/zoo/models/test_ngram_logits.py"),
    Fault(
        "zoo/storage/arrays.py",
        'metadata.get("sha256") != arrays_digest(arrays, text)',
        'metadata.get("sha256", arrays_digest(arrays, text)) != arrays_digest(arrays, text)',
        "tests/zoo/storage/test_arrays.py",
    ),
    Fault(
        "zoo/storage/checkpoints.py",
        "if found != expected:",
        "if len(found) != len(expected):",
        "tests/zoo/storage/test_checkpoints.py",
    ),
    Fault("zoo/storage/downloads.py", "        part.unlink()\n", "", "tests/zoo/storage/test_downloads.py"),
    Fault(
        "zoo/storage/downloads.py",
        'not in ("https", old.scheme)',
        'not in ("https", "http")',
        "tests/zoo/storage/test_downloads.py",
    ),
    Fault("zoo/storage/formats.py", "if number > 1 or _HASH in card:", "if _HASH in card:", FORMAT_TESTS),
    Fault(
        "zoo/conversion/from_bert.py",
        '"epsilon": "layer_norm_eps",',
        "",
        "tests/zoo/conversion/test_from_bert.py",
    ),
    Fault(
        "zoo/conversion/from_marian.py",
        "reshape(2, -1).T.ravel()",
        "reshape(2, -1).ravel()",
        "tests/zoo/conversion/test_from_marian.py",
        slow=True,
    ),
    Fault("zoo/conversion/heads.py", '"distilbert": "relu"', '"distilbert": "tanh"', HEAD_TESTS),
    Fault("zoo/conversion/heads.py", '"pooling": "first", ', "", HEAD_TESTS),
    Fault("zoo/conversion/heads.py", "arrays[given].T for", "arrays[given] for", HEAD_TESTS),
    Fault("zoo/models/classifier.py", "if self.pooler is None else self.pooler(x)", "", HEAD_TESTS),
    Fault("zoo/conversion/from_t5.py", "array * query_scale(config) if", "array if", T5_TESTS),
    Fault("zoo/models/t5_stacks.py", "bidirectional = False", "bidirectional = True", T5_TESTS),
    Fault("zoo/text/t5_tokenizer.py", "reversed(range(num_sentinels))", "range(num_sentinels)", T5_TESTS),
    Fault(
        "zoo/conversion/pickles.py",
        'if (module, part) == ("torch._utils", "_rebuild_tensor_v2"):',
        'if part == "eval":\n        return eval\n    if (module, part) == ("torch._utils", "_rebuild_tensor_v2"):',
        "tests/zoo/conversion/test_pickles.py",
    ),
    Fault("zoo/training/optimizers.py", ' and "bias" not in each.name', "", OPTIMIZERS),
    Fault("zoo/training/optimizers.py", "learning_rate * decay, 0", "decay, 0", OPTIMIZERS),
    Fault("zoo/training/optimizers.py", "len(each.shape) > 1", "len(each.shape)", OPTIMIZERS),
    Fault("zoo/training/optimizers.py", '"beta_2": 0.98', '"beta_2": 0.999', OPTIMIZERS),
    Fault(
        "zoo/training/optimizers.py",
        "len(layers) - i for",
        "len(layers) - 1 - i for",
        OPTIMIZERS,
    ),
    Fault("zoo/training/run_state.py", "KEPT = 2", "KEPT = 1", "tests/zoo/training/test_resuming.py"),
    Fault(
        "zoo/training/finite.py",
        'math.isfinite(logs["loss"]) and bool(finite)',
        'math.isfinite(logs["loss"])',
        "tests/zoo/training/test_finite.py",
        slow=True,
    ),
    Fault(
        "zoo/training/trainer.py",
        "waited >= self.config.patience",
        "waited > self.config.patience",
        TRAINER_TESTS,
        slow=True,
    ),
    Fault(
        "zoo/training/scores.py",
        "[0.025, 0.975]",
        "[0.05, 0.95]",
        "tests/zoo/classification/test_metrics.py tests/zoo/translation/test_metrics.py",
    ),
    Fault(
        "zoo/training/finishing.py",
        'return 0 if "unfinished" in card else card',
        "return card",
        "tests/zoo/training/test_finishing.py",
    ),
    Fault(
        "zoo/distribution/workers.py",
        "self.index * self.devices",
        "self.index",
        "tests/zoo/distribution/test_workers.py",
    ),
    Fault(
        "zoo/distribution/cluster.py",
        'len(chief) if task["type"] == "worker" else 0',
        "0",
        "tests/zoo/distribution/test_workers.py",
    ),
    Fault(
        "zoo/serving/origin.py",
        "_OF_ANSWERS * (trained or changed)",
        "_OF_ANSWERS * trained",
        "tests/zoo/serving/test_origin.py",
    ),
    Fault(
        "zoo/commands/checking.py",
        "all(abs(float(a) - float(b)) <= _tol",
        "all(float(a) - float(b) <= _tol",
        "tests/zoo/test_main.py",
    ),
    Fault(
        "zoo/tf/adam.py",
        "ops.divide(total, self.accumulation_steps)",
        "total",
        "tests/zoo/training/test_optimizers.py tests/zoo/training/test_trainer.py",
        slow=True,
    ),
    Fault("zoo/tf/limits.py", "assert_less_equal(sizes", "assert_less(sizes", "tests/zoo/tf/test_limits.py"),
    Fault(
        "zoo/tf/tokenizers.py",
        "(PAD_ID, UNKNOWN_ID, START_ID, END_ID)",
        "(PAD_ID, START_ID, END_ID)",
        "tests/zoo/tf/test_tokenizers.py",
    ),
]
