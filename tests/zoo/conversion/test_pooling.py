"""Folders of sentence-transformers that do not take the mean are refused by name."""

import json

import pytest

from zoo.conversion.pooling import check_pooling

MODES = {  # Those of all-MiniLM-L6-v2.
    "word_embedding_dimension": 384,
    "pooling_mode_cls_token": False,
    "pooling_mode_mean_tokens": True,
    "pooling_mode_max_tokens": False,
    "pooling_mode_mean_sqrt_len_tokens": False,
}


def write(folder, modes, modules=()):
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(modes))
    names = "Transformer", "Pooling", "Normalize", *modules
    modules = [{"idx": i, "type": f"sentence_transformers.models.{name}"} for i, name in enumerate(names)]
    (folder / "modules.json").write_text(json.dumps(modules))
    return folder


def test_means_and_folders_of_others(tmp_path):
    check_pooling(tmp_path)
    check_pooling(write(tmp_path, MODES))
    (tmp_path / "1_Pooling" / "config.json").write_text('{"embedding_dimension": 384, "pooling_mode": "mean"}')
    check_pooling(tmp_path)


@pytest.mark.parametrize(
    ("changes", "modules", "message"),
    [
        ({"pooling_mode_cls_token": True}, [], "Received: pooling_mode_cls_token, pooling_mode_mean_tokens. Use"),
        (
            {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False},
            [],
            "Received: pooling_mode_cls_token. U",
        ),
        ({"pooling_mode_mean_tokens": False, "pooling_mode": "cls"}, [], "'pooling_mode': 'cls'"),
        ({}, ["Dense"], "no modules but Transformer, Pooling, Normalize. Received: Dense. .* delete the file"),
    ],
)
def test_others_are_refused(tmp_path, changes, modules, message):
    with pytest.raises(ValueError, match=message):
        check_pooling(write(tmp_path, {**MODES, **changes}, modules))


@pytest.mark.parametrize("content", ["{}x", '{"a": 1}', "[1]", '[{"type": 1}]', "[{}]"])
def test_damaged_lists_of_modules_are_named(tmp_path, content):
    (tmp_path / "modules.json").write_text(content)
    with pytest.raises(ValueError, match="modules.json is no list of modules"):
        check_pooling(tmp_path)
