"""Settings of the search of Hugging Face's translators."""

import os
from collections.abc import Mapping
from typing import Any

from zoo.conversion.settings import CONFIG, GENERATION_CONFIG, NUMBER, Rule, check_values, read_json, read_setting

_BEAMS = Rule("a whole number from 1 to 1024", lambda value: type(value) is int and 1 <= value <= 1024)
_DEFAULT_BEAMS = 4
_OBEYED = {"beam_size": ("num_beams", _BEAMS), "length_penalty": ("length_penalty", NUMBER)}
# Settings that change what a search finds, and the values without a change.
_UNCHANGED = {
    **dict.fromkeys(
        ("repetition_penalty", "encoder_repetition_penalty", "guidance_scale", "num_beam_groups"), (1, None)
    ),
    **dict.fromkeys(("no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "diversity_penalty"), (0, None)),
    **dict.fromkeys(("min_length", "min_new_tokens"), (0, None)),
    **dict.fromkeys(("suppress_tokens", "begin_suppress_tokens", "force_words_ids", "sequence_bias"), ([], {}, None)),
    **dict.fromkeys(("forced_bos_token_id", "forced_decoder_ids", "exponential_decay_length_penalty"), (None,)),
    **dict.fromkeys(("do_sample", "force_bos_token_to_be_generated"), (False, None)),
}


def read_search(folder: str | os.PathLike, found: Mapping, what: str, start: int, end: int, pad: int) -> dict[str, Any]:
    """Returns the arguments of the search, from `generation_config.json` or else `config.json`.

    Options of single tasks, `task_specific_params`, and lengths are not read.

    Args:
        folder: Hugging Face folder of the model.
        found: Content of `config.json`.
        what: What the folder must describe, such as "a T5".
        start, end, pad: Rows of these tokens. Padding is never predicted in any case.

    Raises:
        ValueError: If a setting asks for a search that this package does not have.
    """
    expected = {
        **_UNCHANGED,
        "forced_eos_token_id": (end, [end], None),
        "bad_words_ids": ([[pad]], [], None),
    }
    generation = read_json(folder, GENERATION_CONFIG, required=False)
    tokens = {"decoder_start_token_id": (start, None), "eos_token_id": (end, [end], None)}
    check_values(folder, generation, tokens, what, GENERATION_CONFIG)
    search = {"beam_size": _DEFAULT_BEAMS, "length_penalty": 1.0}
    for file, settings in {CONFIG: found, GENERATION_CONFIG: generation}.items():
        check_values(folder, settings, expected, what, file, "Delete the line to search without it.")
        for ours, (theirs, rule) in _OBEYED.items():
            if settings.get(theirs) is not None:
                search[ours] = read_setting(folder, settings, theirs, rule, file=file)
    return search
