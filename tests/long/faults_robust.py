"""Faults in what makes translators robust and checkpoints small."""

from faults import Fault

AUGMENTATION = "tests/zoo/corpora/test_augmentation.py"
SUBSTITUTION = "tests/zoo/corpora/test_substitution.py"
TIMES = "tests/zoo/corpora/test_times.py"
DATES = "tests/zoo/corpora/test_dates.py"
GLOSSARY = "tests/zoo/text/test_glossary.py"
TITLES = "tests/zoo/corpora/test_titles.py"
LINKS = "tests/zoo/corpora/test_word_links.py"
KNOWN = "tests/zoo/text/test_known_words.py"
PACKING = "tests/zoo/storage/test_packing.py"

ROBUST = [
    Fault("zoo/corpora/substitution.py", "frozenset(known) - CALENDAR", "frozenset(known)", SUBSTITUTION),
    Fault("zoo/corpora/times.py", 'else "dem"', 'else "den"', TIMES),
    Fault("zoo/corpora/times.py", "halb {following}", "halb {name}", TIMES),
    Fault("zoo/corpora/times.py", "word not in _PRONOUNS", "word", TIMES),
    Fault("zoo/corpora/times.py", "words[place - 1] in _ADVERBS", "False", TIMES),
    Fault("zoo/text/sentences.py", "[0-9]{{1,2}}\\\\))", "[0-9]{{1,2}}\\\\.)", "tests/zoo/text/test_sentences.py"),
    Fault("zoo/text/known_words.py", "not titled <= {*plain_words}", "titled", KNOWN),
    Fault("zoo/text/known_words.py", "return invented or translated or", "return invented or", KNOWN),
    Fault("zoo/text/known_words.py", "{_TITLES})+)", "{_TITLES}))", KNOWN),
    Fault("zoo/text/known_words.py", "(?:[^{_LETTERS}]|$))", "(?:[^{_LETTERS}]))", KNOWN),
    Fault("zoo/tf/known_words.py", "loses_titled & tf", "loses_titled | tf", "tests/zoo/tf/test_known_words.py"),
    Fault("zoo/text/glossary.py", "(_with_capital, str.upper)", "(_with_capital,)", GLOSSARY),
    Fault("zoo/text/glossary.py", "mark_titled(text))", "text)", GLOSSARY),
    Fault("zoo/text/glossary.py", "key=len, reverse=True", "key=len", GLOSSARY),
    Fault(
        "zoo/text/glossary.py",
        "setdefault(change(term), change(translation))",
        "update({change(term): change(translation)})",
        GLOSSARY,
    ),
    Fault("zoo/text/glossary.py", "found[len(kept) :]", "found", GLOSSARY),
    Fault(
        "zoo/tf/glossary.py",
        "tf.cast(kept.row_lengths(), tf.int32)",
        "tf.zeros(parts.nrows(), tf.int32)",
        "tests/zoo/tf/test_glossary.py",
    ),
    Fault(
        "zoo/translation/decoding.py",
        "KnownWords.of(translator.known_words, terms)",
        "KnownWords.of(translator.known_words)",
        "tests/zoo/translation/test_known_words.py",
    ),
    Fault(
        "zoo/tf/translation_service.py",
        "merge_words(known_words, words_of(glossary or {}))",
        "known_words",
        "tests/zoo/translation/test_known_words.py",
    ),
    Fault("zoo/corpora/titles.py", "1 if mister is None else 0", "0", TITLES),
    Fault(
        "zoo/corpora/titles.py",
        "_mister(pair[german], pair[1 - german]",
        "_mister(pair[1 - german], pair[german]",
        TITLES,
    ),
    Fault("zoo/corpora/titles.py", "not last[-1:].isalnum() or", "", TITLES),
    Fault("zoo/corpora/titles.py", "if last in _UNCLEAR or", "if", TITLES),
    Fault("zoo/corpora/titles.py", "new if has_title else ", "", "tests/zoo/corpora/test_titles.py"),
    Fault("zoo/corpora/clauses.py", " in small else text", " in text else text", "tests/zoo/corpora/test_clauses.py"),
    Fault("zoo/corpora/clauses.py", 'not text.endswith(".") or', "", "tests/zoo/corpora/test_clauses.py"),
    Fault("zoo/corpora/dates.py", ", *map(str.capitalize, near)]", "]", DATES),
    Fault("zoo/corpora/word_links.py", "== best[1][j] == probability", "== probability", LINKS),
    Fault("zoo/corpora/word_links.py", "np.tile(row, lengths[0])", "np.repeat(row, lengths[0])", LINKS),
    Fault("zoo/text/placeholders.py", "[0-9@#/]|", "[0-9@/]|", "tests/zoo/text/test_placeholders.py"),
    Fault("zoo/text/placeholders.py", r"|\.[^ ]", "", "tests/zoo/text/test_placeholders.py"),
    Fault("zoo/corpora/dates.py", "if day // 10 != 1 else", "if True else", DATES),
    Fault("zoo/corpora/dates.py", "and found[0][0][1] == found[1][0][1]", "", DATES),
    Fault(
        "zoo/corpora/dates.py", "return text[0].upper() + text[1:] if old[0].isupper() else text", "return text", DATES
    ),
    Fault(
        "zoo/corpora/dates.py",
        "for known, text in zip(words, pair):",
        "for known, text in zip(words, pair[::-1]):",
        DATES,
    ),
    Fault("zoo/corpora/dates.py", "            if any(found):\n", "            if False:\n", DATES),
    Fault("zoo/corpora/augmentation.py", "return changed  # Whose", "pair = changed  # Whose", SUBSTITUTION),
    Fault("zoo/corpora/augmentation.py", "[(self._dates.change, 2)] if self._dates else []", "[]", SUBSTITUTION),
    Fault("zoo/corpora/augmentation.py", "if i % _BLOCK == 0:", "if i == 0:", AUGMENTATION),
    Fault(
        "zoo/corpora/augmentation.py",
        "cuts = [cut for cut in cuts if all(",
        "cuts = [cut for cut in cuts if any(",
        AUGMENTATION,
    ),
    Fault("zoo/corpora/typos.py", "if found[0] not in kept", "if found[0]", AUGMENTATION),
    Fault("zoo/corpora/substitution.py", "== {words[0].count(name)}", "", SUBSTITUTION),
    Fault("zoo/corpora/word_links.py", "(i < p) == (j < q)", "(i < p) <= (j < q)", LINKS),
    Fault("zoo/text/case_markup.py", "{{2,}}", "{{1,}}", "tests/zoo/text/test_case_markup.py"),
    Fault("zoo/storage/packing.py", "* rows * columns - matrix", "* rows - matrix", PACKING),
    Fault("zoo/storage/packing.py", "left_out > error * left_out[0]", "left_out > 0.5 * left_out[0]", PACKING),
    Fault(
        "zoo/serving/calibration.py",
        "wrong = 1 / (len(gold) + 2)",
        "wrong = 0",
        "tests/zoo/serving/test_calibration.py",
    ),
    Fault("zoo/models/ensemble.py", "ops.logsumexp(", "ops.max(", "tests/zoo/translation/test_ensemble.py"),
    Fault(
        "keras_transformer/decoding/repetition.py",
        "runs >= limits * (1",
        "runs > limits * (1",
        "tests/decoding/test_repetition.py",
    ),
    Fault("keras_transformer/training/r_drop.py", "self.alpha / 2 *", "self.alpha *", "tests/training/test_r_drop.py"),
    Fault(
        "zoo/training/optimizers.py",
        "% accumulation == 0, self._ema_momentum",
        "% accumulation >= 0, self._ema_momentum",
        "tests/zoo/training/test_optimizers.py",
    ),
    Fault(
        "zoo/text/placeholders.py",
        "if text in _KEPT.findall(target)",
        "if text in target",
        "tests/zoo/text/test_placeholders.py",
    ),
    Fault(
        "zoo/text/placeholders.py",
        'kept[number] if number < len(kept) else ""',
        "kept[min(number, len(kept) - 1)]",
        "tests/zoo/text/test_placeholders.py",
    ),
    Fault(
        "zoo/text/known_words.py",
        "if names <= {*plain_words} or not names <= {*kept_words}:",
        "if names <= {*plain_words}:",
        "tests/zoo/text/test_known_words.py",
    ),
    Fault(
        "zoo/text/known_words.py",
        "for word in plain_words if word not in read",
        "for word in plain_words",
        "tests/zoo/text/test_known_words.py",
    ),
    Fault(
        "zoo/translation/decoding.py",
        "progress(sum(i < len(searched) for i in chunk))",
        "progress(len(chunk))",
        "tests/zoo/translation/test_known_words.py",
    ),
    Fault(
        "zoo/translation/task.py",
        'others = getattr(run.initial, "known_words", "")',
        'others = ""',
        "tests/zoo/translation/test_known_words.py",
    ),
    Fault(
        "zoo/translation/task.py",
        "if same else options",
        "if False else options",
        "tests/zoo/translation/test_known_words.py",
    ),
    Fault(
        "zoo/tf/placeholders.py",
        "number += tf.gather(first, parts.value_rowids())",
        "",
        "tests/zoo/tf/test_known_words.py",
    ),
    Fault("zoo/tf/known_words.py", "loses[0] & ~loses[1]", "loses[0]", "tests/zoo/tf/test_known_words.py"),
    Fault("zoo/tf/known_words.py", "& ~_among(plain, read)", "", "tests/zoo/tf/test_known_words.py"),
    Fault("zoo/tf/placeholders.py", "chosen &= number < MOST", "", "tests/zoo/tf/test_placeholders.py"),
    Fault(
        "zoo/models/auto_compile.py",
        "shape.compiled_seconds < shape.plain_seconds(rows)",
        "shape.compiled_seconds < math.inf",
        "tests/zoo/models/test_auto_compile.py",
    ),
    Fault("zoo/tf/xla_cache.py", "if _digest(path) == digest:", "if True:", "tests/zoo/tf/test_xla_cache.py"),
    Fault("zoo/__init__.py", ".start_program_cache()", "", "tests/zoo/tf/test_xla_cache.py"),
    Fault("zoo/tf/graphs.py", "                        cache.fill()\n", "", "tests/zoo/tf/test_xla_cache.py"),
    Fault("zoo/tf/xla_cache.py", "/process-\\S+", "/nothing", "tests/zoo/tf/test_xla_cache.py"),
    Fault("zoo/tf/xla_cache.py", "_SETTLED = 1.0", "_SETTLED = 0.0", "tests/zoo/tf/test_xla_cache.py"),
    Fault(
        "zoo/translation/searches.py",
        "count(source)[:, None] - count(found.ids), 0)",
        "count(source)[:, None] - count(found.ids), -9)",
        "tests/zoo/translation/test_searches.py",
    ),
    Fault(
        "zoo/text/tokenizer.py",
        '[piece.strip("\\u2581") for',
        "[piece for",
        "tests/zoo/translation/test_searches.py",
    ),
    Fault(
        "zoo/translation/decoding.py", "= _distinct(options)", "= options", "tests/zoo/tf/test_translation_service.py"
    ),
    Fault(
        "zoo/tf/translation_service.py", "(earlier > 0)", "(earlier > 1)", "tests/zoo/tf/test_translation_service.py"
    ),
    Fault(
        "zoo/tf/compiled_search.py",
        "(width <= shape[1])",
        "(width <= shape[1] + 1)",
        "tests/zoo/tf/test_compiled_search.py",
    ),
    Fault("zoo/training/trainer.py", "layer.remat = True", "pass", "tests/zoo/training/test_trainer.py"),
    Fault(
        "zoo/training/fine_tuning.py",
        "array[targets] = taken[name][sources]",
        "array[sources] = taken[name][targets]",
        "tests/zoo/translation/test_other_vocabulary.py",
    ),
    Fault("zoo/models/encoder_model.py", "jit_compile = False", "pass", "tests/zoo/training/test_shapes.py"),
    Fault("zoo/distribution/exiting.py", "exit_process(_status)", "pass", "tests/zoo/distribution/test_exiting.py"),
    Fault("zoo/quiet.py", "sys.modules.pop(name, None)", "pass", "tests/zoo/test_quiet.py"),
    Fault(
        "zoo/translation/searches.py",
        "lost * num_beams + ",
        "lost + ",
        "tests/zoo/translation/test_searches.py",
    ),
]
