"""Settings of the search are obeyed or refused by name."""

import json

import pytest

from zoo.conversion.search_settings import read_search

START = PAD = 7


def search(folder, config=(), generation=None):
    if generation is not None:
        (folder / "generation_config.json").write_text(json.dumps(generation))
    return read_search(folder, dict(config), "a translator", start=START, end=0, pad=PAD)


def test_published_settings(tmp_path):
    """Those of opus-mt-en-de."""
    config = {"bad_words_ids": [[PAD]], "forced_eos_token_id": 0, "max_length": 512, "num_beams": 6, "use_cache": True}
    config |= {"decoder_start_token_id": PAD, "eos_token_id": 0, "pad_token_id": PAD, "task_specific_params": None}
    assert search(tmp_path) == {"beam_size": 4, "length_penalty": 1.0}
    assert search(tmp_path, config) == {"beam_size": 6, "length_penalty": 1.0}
    generation = {**config, "num_beams": 5, "renormalize_logits": True, "length_penalty": 0.6}
    assert search(tmp_path, config, generation) == {"beam_size": 5, "length_penalty": 0.6}


@pytest.mark.parametrize(
    "setting",
    [
        {"forced_bos_token_id": 5},
        {"forced_eos_token_id": 5},
        {"bad_words_ids": [[PAD], [5]]},
        {"suppress_tokens": [5]},
        {"begin_suppress_tokens": [5]},
        {"no_repeat_ngram_size": 2},
        {"min_length": 3},
        {"repetition_penalty": 2.0},
        {"diversity_penalty": 0.5},
        {"do_sample": True},
    ],
)
def test_other_searches_are_refused(tmp_path, setting):
    ((name, _),) = setting.items()
    with pytest.raises(ValueError, match=rf"config.json must .* Received: {name}=.*Delete the line"):
        search(tmp_path, setting)
    with pytest.raises(ValueError, match=rf"generation_config.json must .* Received: {name}="):
        search(tmp_path, {}, setting)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"num_beams": 2**40}, "a whole number from 1 to 1024 as num_beams. Received: 1099511627776"),
        ({"num_beams": 0}, "as num_beams. Received: 0"),
        ({"num_beams": "x"}, "as num_beams. Received: 'x'"),
        ({"length_penalty": "x"}, "a finite number as length_penalty"),
        ({"decoder_start_token_id": 5}, "decoder_start_token_id of 7 or None. Received: decoder_start_token_id=5"),
        ({"eos_token_id": [0, 5]}, r"eos_token_id=\[0, 5\]"),
    ],
)
def test_values_that_cannot_be_obeyed_are_named(tmp_path, setting, message):
    with pytest.raises(ValueError, match=message):
        search(tmp_path, {}, setting)
