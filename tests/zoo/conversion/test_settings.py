"""Settings of damaged folders, and settings that change what a model computes, are refused by name."""

import json
import struct

import bert_arrays
import byte_pair_folder as files
import marian_folder as marian
import numpy as np
import pytest
import safetensors.numpy
import t5_folder as t5

import zoo

VOCABULARY = files.make_vocabulary(last=[files.END])
V, D = len(VOCABULARY), 8
GPT2 = {
    **{"model_type": "gpt2", "activation_function": "gelu_new", "vocab_size": V, "n_layer": 1, "n_embd": D},
    **{"n_head": 2, "n_positions": 16, "eos_token_id": V - 1, "bos_token_id": V - 1},
}
VIT = {
    **{"model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_act": "gelu", "hidden_size": 8},
    **{"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "image_size": 8, "patch_size": 4},
    "id2label": {"0": "a", "1": "b"},
}


def write(folder, kind, config=(), **settings):
    """Writes a folder with changes of `config.json` and, as keywords, of other files."""
    config = dict(config)
    folder.mkdir()
    if kind == "marian":
        marian.write_marian(folder, **config)
    elif kind == "t5":
        t5.write_t5(folder, **config)
    elif kind == "gpt2":
        files.write_folder(folder, {**GPT2, **config}, VOCABULARY, {"wte.weight": np.zeros((V, D), "float32")})
    else:
        values = {**(bert_arrays.CONFIG if kind == "bert" else VIT), **config}
        (folder / "config.json").write_text(json.dumps(values))
        (folder / "vocab.txt").write_text("\n".join(bert_arrays.PIECES), "utf-8")
        arrays = bert_arrays.random_arrays() if kind == "bert" else {"x": np.zeros(1, "float32")}
        safetensors.numpy.save_file(arrays, folder / "model.safetensors")
    for name, content in settings.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


PUBLISHED = {  # Further settings of bert-base-uncased, opus-mt-en-de and t5-small.
    "bert": {
        **{"architectures": ["BertForMaskedLM"], "gradient_checkpointing": False, "initializer_range": 0.02},
        **{"pad_token_id": 0, "position_embedding_type": "absolute", "use_cache": True, "torch_dtype": "float32"},
    },
    "marian": {
        **{"architectures": ["MarianMTModel"], "add_bias_logits": False, "add_final_layer_norm": False},
        **{"bos_token_id": 0, "classif_dropout": 0.0, "classifier_dropout": 0.0, "decoder_layerdrop": 0.0},
        **{"decoder_vocab_size": len(marian.make_vocabulary()), "dropout": 0.1, "forced_eos_token_id": 0},
        **{"bad_words_ids": [[len(marian.make_vocabulary()) - 1]], "id2label": {"0": "LABEL_0"}, "init_std": 0.02},
        **{"is_encoder_decoder": True, "max_length": 512, "max_position_embeddings": 512, "num_hidden_layers": 6},
        **{"normalize_embedding": False, "static_position_embeddings": True, "use_cache": True, "num_beams": 6},
    },
    "t5": {
        **{"architectures": ["T5ForConditionalGeneration"], "initializer_factor": 1.0, "is_encoder_decoder": True},
        **{"n_positions": 512, "output_past": True, "relative_attention_num_buckets": 32, "layer_norm_epsilon": 1e-6},
        "task_specific_params": {"summarization": {"min_length": 30, "no_repeat_ngram_size": 3, "num_beams": 4}},
    },
}


@pytest.mark.parametrize("kind", PUBLISHED)
def test_published_settings_load(tmp_path, kind):
    zoo.load(write(tmp_path / "a", kind, PUBLISHED[kind]))


RATES = {
    "marian": ("dropout", "attention_dropout", "activation_dropout"),
    "t5": ("dropout_rate",),
    "gpt2": ("resid_pdrop", "attn_pdrop"),
    "bert": ("hidden_dropout_prob", "attention_probs_dropout_prob"),
    "vit": ("hidden_dropout_prob", "attention_probs_dropout_prob"),
}
EPSILONS = {"t5": "layer_norm_epsilon", "gpt2": "layer_norm_epsilon", "bert": "layer_norm_eps", "vit": "layer_norm_eps"}
COUNTS = {
    "marian": ("d_model", "encoder_layers"),
    "t5": ("d_kv", "vocab_size", "num_decoder_layers"),
    "gpt2": ("n_layer", "n_inner", "n_positions"),
    "bert": ("vocab_size", "hidden_size", "type_vocab_size", "max_position_embeddings"),
    "vit": ("image_size", "patch_size"),
}
NUMBERS = [
    *((kind, name, "a number from 0 to below 1") for kind, names in RATES.items() for name in names),
    *((kind, name, "a number between 0 and 1") for kind, name in EPSILONS.items()),
    *((kind, name, "a positive whole number") for kind, names in COUNTS.items() for name in names),
]


@pytest.mark.parametrize(("kind", "name", "rule"), NUMBERS)
def test_numbers_of_other_kinds_are_named(tmp_path, kind, name, rule):
    values = ["x", [], {}, True, -1, float("nan"), 1e999] + ([None] if rule != "a positive whole number" else [])
    for i, value in enumerate(values):
        folder = write(tmp_path / str(i), kind, {name: value})
        with pytest.raises(ValueError, match=rf"config.json must have {rule} as {name}. Received: .* Fetch it again"):
            zoo.load(folder)


CHANGING = [
    *((kind, {"quantization_config": {"bits": 4}}, "quantization_config") for kind in COUNTS),
    *((kind, {"architectures": {"a": 1}}, "must have an architecture of .* Received: {'a': 1}") for kind in COUNTS),
    (
        "marian",
        {"architectures": ["MarianForCausalLM"]},
        "architecture of MarianMTModel. Received: 'MarianForCausalLM'",
    ),
    ("marian", {"is_encoder_decoder": False}, "is_encoder_decoder of True or None. Received: is_encoder_decoder=False"),
    ("marian", {"static_position_embeddings": False}, "static_position_embeddings=False"),
    ("marian", {"decoder_vocab_size": 7}, "decoder_vocab_size=7"),
    ("bert", {"add_cross_attention": True}, "add_cross_attention=True"),
    ("bert", {"pruned_heads": {"0": [1]}}, "pruned_heads"),
    ("bert", {"tokenizer_class": "BertJapaneseTokenizer"}, "tokenizer_class='BertJapaneseTokenizer'"),
    ("gpt2", {"architectures": ["GPT2ForSequenceClassification"]}, "Received: 'GPT2ForSequenceClassification'"),
    ("gpt2", {"rope_scaling": {"factor": 2}}, "rope_scaling"),
    ("t5", {"architectures": ["T5ForSequenceClassification"]}, "Received: 'T5ForSequenceClassification'"),
    ("t5", {"is_decoder": True}, "is_decoder=True"),
    ("t5", {"tie_word_embeddings": "no"}, "true or false as tie_word_embeddings. Received: 'no'"),
]


@pytest.mark.parametrize(("kind", "config", "message"), CHANGING)
def test_settings_that_change_the_outputs_are_named(tmp_path, kind, config, message):
    with pytest.raises(ValueError, match=message):
        zoo.load(write(tmp_path / "a", kind, config))


@pytest.mark.parametrize("value", [["bert"], {"bert": 1}, 3, None])
def test_a_model_type_of_another_kind(tmp_path, value):
    with pytest.raises(ValueError, match="must have a model_type of bert or"):
        zoo.load(write(tmp_path / "a", "bert", {"model_type": value}))


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("t5", {"added_tokens_decoder": []}, "added_tokens_decoder"),
        ("t5", {"added_tokens_decoder": [1]}, r"tokens by their numbers as added_tokens_decoder. Received: \[1\]"),
        ("t5", {"added_tokens_decoder": {"3": {}}}, "added_tokens_decoder"),
        ("t5", {"added_tokens_decoder": {"x": "a"}}, "added_tokens_decoder"),
        ("t5", {"added_tokens_decoder": {"9" * 5000: "a"}}, "added_tokens_decoder"),
        ("t5", {"added_tokens_decoder": {"3": "x"}}, "neither in spiece.model nor a sentinel: 'x'"),
        ("gpt2", {"added_tokens_decoder": {"3": {"content": ["x"]}}}, "added_tokens_decoder"),
        ("gpt2", {"pad_token": {"content": ["x"]}}, r"a token, .* as pad_token. Received: {'content': \['x'\]}"),
        ("gpt2", {"add_prefix_space": "x"}, "true or false as add_prefix_space. Received: 'x'"),
        ("marian", {"target_lang": ["x"]}, "a text or null as target_lang"),
        ("marian", {"separate_vocabs": True}, "separate_vocabs=True"),
    ],
)
def test_settings_of_tokenizers_are_named(tmp_path, kind, settings, message):
    folder = write(tmp_path / "a", kind, tokenizer_config={"extra_ids": t5.SENTINELS, **settings})
    with pytest.raises(ValueError, match=message):
        zoo.load(folder)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"image_mean": [0.5]}, "three numbers as image_mean"),
        ({"image_mean": "x"}, "three numbers as image_mean"),
        ({"image_std": [0.5, 0.5, 0]}, "three positive numbers as image_std"),
        ({"do_rescale": False}, "do_rescale=False"),
    ],
)
def test_settings_of_pixels_are_named(tmp_path, settings, message):
    folder = write(tmp_path / "a", "vit", preprocessor_config=settings)
    with pytest.raises(ValueError, match=message):
        zoo.load(folder)


def test_indexes_and_dtypes_of_weights_are_named(tmp_path):
    folder = write(tmp_path / "a", "bert")
    header = json.dumps({"x": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [0, 2]}}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"\0\0")
    with pytest.raises(ValueError, match="arrays of float32, float16 or bfloat16. Received: float8_e4m3fn"):
        zoo.load(folder)
    (folder / "model.safetensors").unlink()
    for value in (["x"], "x", None, {"x": 1}):
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": value}))
        with pytest.raises(ValueError, match="index.json must have an object of file names as weight_map"):
            zoo.load(folder)


@pytest.mark.parametrize("content", [b'{"model_type": "bert"', '{"model_type": "bert"}'.encode("utf-16")])
def test_a_damaged_config_is_named(tmp_path, content):
    folder = write(tmp_path / "a", "bert")
    (folder / "config.json").write_bytes(content)
    with pytest.raises(ValueError, match="config.json is not JSON: .* Fetch it again"):
        zoo.load(folder)


def test_an_encoder_with_another_pooling_is_refused(tmp_path):
    folder = write(tmp_path / "a", "bert")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    with pytest.raises(ValueError, match="must have pooling_mode_mean_tokens alone.* Received: pooling_mode_cls_token"):
        zoo.load(folder)
