"""GPT-2 from a folder computes the equations of its program, from text to text; unknown folders are refused."""

import dataclasses
import json

import byte_pair_folder as files
import keras
import numpy as np
import pytest
import reference as ref

import zoo
from zoo.__main__ import main
from zoo.conversion.from_gpt2 import load_gpt2
from zoo.language_modelling import task
from zoo.language_modelling.recipes import SMALL

D, F, N, POSITIONS, BLOCKS = 8, 12, 2, 260, 2
VOCABULARY = files.make_vocabulary(last=[files.END])
V = len(VOCABULARY)
CONFIG = {
    "model_type": "gpt2",
    "activation_function": "gelu_new",
    "vocab_size": V,
    "n_layer": BLOCKS,
    "n_embd": D,
    "n_inner": F,
    "n_head": N,
    "n_positions": POSITIONS,
    "eos_token_id": V - 1,
    "bos_token_id": V - 1,
    "layer_norm_epsilon": 1e-3,
    "resid_pdrop": 0.1,
    "attn_pdrop": 0.2,
}
PROMPTS = ["the see", "", " dog\n don't"]


def random_arrays(rows=V, inner=F):
    rng = np.random.default_rng(2)
    shapes = {"wte.weight": (rows, D), "wpe.weight": (POSITIONS, D), "ln_f.weight": (D,), "ln_f.bias": (D,)}
    for i in range(BLOCKS):
        layers = {"attn.c_attn": (D, 3 * D), "attn.c_proj": (D, D), "mlp.c_fc": (D, inner), "mlp.c_proj": (inner, D)}
        for name, shape in {**layers, "ln_1": (D,), "ln_2": (D,)}.items():
            shapes |= {f"h.{i}.{name}.weight": shape, f"h.{i}.{name}.bias": shape[-1:]}
    return {name: rng.normal(0, 0.5, shape).astype("float32") for name, shape in shapes.items()}


def write(folder, arrays=None, vocabulary=VOCABULARY, merges=files.MERGES, settings=(), **config):
    values = {name: value for name, value in {**CONFIG, **config}.items() if value != "missing"}
    return files.write_folder(folder, values, vocabulary, arrays or random_arrays(), merges, **dict(settings))


def gpt2_logits(arrays, ids, activation=ref.gelu_tanh):
    """Computes logits `[T, V]` of a row of published ids as the program of Radford et al. (2019) does."""
    arrays = {name: array.astype("float64") for name, array in arrays.items()}

    def dense(x, name):
        return x @ arrays[f"{name}.weight"] + arrays[f"{name}.bias"]

    def norm(x, name):
        return ref.layer_norm(x, {"gamma": arrays[f"{name}.weight"], "beta": arrays[f"{name}.bias"]}, 1e-3)

    x = arrays["wte.weight"][ids] + arrays["wpe.weight"][: len(ids)]
    for i in range(BLOCKS):
        block = f"h.{i}."
        parts = np.split(dense(norm(x, f"{block}ln_1"), f"{block}attn.c_attn"), 3, axis=1)
        query, key, value = (part.reshape(len(ids), N, -1).transpose(1, 0, 2) for part in parts)
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(D / N)
        weights = ref.softmax(np.where(np.tril(np.ones(scores.shape[1:], bool)), scores, -np.inf))
        x = x + dense((weights @ value).transpose(1, 0, 2).reshape(len(ids), D), f"{block}attn.c_proj")
        x = x + dense(activation(dense(norm(x, f"{block}ln_2"), f"{block}mlp.c_fc")), f"{block}mlp.c_proj")
    return norm(x, "ln_f") @ arrays["wte.weight"].T


@pytest.fixture(scope="module")
def generator(tmp_path_factory):
    """Returns a loaded model, and its folder."""
    folder = write(tmp_path_factory.mktemp("gpt2") / "a")
    made = zoo.load(folder)
    made.folder = folder
    return made


def rows_of(generator):
    """Returns the published row of each of our ids, -1 for those that GPT-2 lacks."""
    return np.array([-1, -1, -1, V - 1, *map(VOCABULARY.get, generator.tokenizer.pieces[4:])])


@pytest.mark.parametrize(("prefix", "activation"), [("transformer.", "gelu_pytorch_tanh"), ("", "relu"), ("", "gelu")])
def test_logits_follow_the_equations(tmp_path, prefix, activation):
    """With the names of both kinds of files, and the arrays that they have besides."""
    arrays = random_arrays()
    named = {prefix + name: array for name, array in arrays.items()}
    named |= {f"{prefix}h.0.attn.bias": np.ones((1, 1, 4, 4), "float32"), "lm_head.weight": arrays["wte.weight"]}
    named[f"{prefix}h.1.attn.masked_bias"] = np.array(-1e4, "float32")
    made = load_gpt2(write(tmp_path / "a", named, activation_function=activation))
    rows = rows_of(made)
    ids = np.random.default_rng(1).integers(3, len(rows), (2, 9))
    found = np.asarray(made.model({"token_ids": ids}))
    for row, logits in zip(ids, found):
        expected = gpt2_logits(arrays, rows[row], getattr(ref, activation.replace("pytorch_", "")))
        np.testing.assert_allclose(logits[:, 3:], expected[:, rows[3:]], atol=1e-4)
    assert (found[..., :3] < -1000).all()


def test_ids_and_probabilities_of_a_text(generator):
    """Texts begin and end with GPT-2's end token; the tokens that it lacks take no probability."""
    text, rows = "the see doo", rows_of(generator)
    ids = [V - 1, *rows[generator.tokenizer.encode([text])[0]], V - 1]
    assert [VOCABULARY[piece] for piece in ("t", "he", "Ġsee", "Ġdo", "o")] == ids[1:-1]
    logits = gpt2_logits(random_arrays(), ids[:-1])
    expected = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    np.testing.assert_allclose(generator.log_probs([text]), expected[np.arange(len(ids) - 1), ids[1:]], atol=1e-4)
    evaluation = task.evaluate(generator, [text], resamples=0)
    assert evaluation.loss == pytest.approx(-expected[np.arange(len(ids) - 1), ids[1:]].mean(), abs=1e-4)


def test_greedy_texts_follow_the_equations(generator):
    arrays, rows = random_arrays(), rows_of(generator)
    for prompt in PROMPTS:
        ids = [V - 1, *rows[generator.tokenizer.encode([prompt])[0]]]
        begin = len(ids)
        while len(ids) < begin + 12 and (len(ids) == begin or ids[-1] != V - 1):
            ids.append(int(gpt2_logits(arrays, ids)[-1].argmax()))
        ours = [[*rows].index(i) for i in ids[begin:]]
        expected = generator.tokenizer.decode([ours])
        assert generator.generate([prompt], max_tokens=12, temperature=0) == expected
        assert ["".join(generator.stream(prompt, max_tokens=12, temperature=0))] == expected


def test_convert_writes_a_checkpoint_that_answers_alike(generator, tmp_path, capsys):
    assert main(["convert", str(generator.folder), "--output", str(tmp_path / "a")]) == 0
    loaded = zoo.load(tmp_path / "a")
    assert (loaded.documents, loaded.max_tokens, loaded.card["name"]) == (True, POSITIONS, "a")
    assert loaded.generate(PROMPTS, max_tokens=9, seed=3) == generator.generate(PROMPTS, max_tokens=9, seed=3)
    (tmp_path / "texts").write_text("the\nsee do\n")
    assert main(["check", str(tmp_path / "a"), "--record", str(tmp_path / "texts")]) == 0
    assert "answers" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="SavedModels are for TensorFlow")
def test_exports_from_prompt_to_text(generator, tmp_path):
    """`export` itself compares the texts of test prompts."""
    pytest.importorskip("tensorflow_text", reason="tensorflow-text is not installed")
    import tensorflow as tf

    generator.export(tmp_path / "served", max_tokens=9, temperature=0, repetition_penalty=1.2)
    function = tf.saved_model.load(str(tmp_path / "served")).signatures["serving_default"]
    found = function(prompt=tf.constant(PROMPTS), seed=tf.constant([1, 2, 3]))["text"].numpy()
    expected = generator.generate(PROMPTS, max_tokens=9, temperature=0, repetition_penalty=1.2)
    assert [text.decode() for text in found] == expected
    with pytest.raises(tf.errors.InvalidArgumentError, match="A prompt may have at most 251 tokens"):
        function(prompt=tf.constant(["x" * 300]), seed=tf.constant([1]))


@pytest.mark.slow
def test_fine_tuning_starts_from_the_logits(generator, tmp_path):
    """And tokens that the new corpus lacks are still generated."""
    changes = {"steps": 1, "cooldown_steps": 0, "evaluate_every": 1, "peak_learning_rate": 1e-9, "batch_tokens": 64}
    recipe = dataclasses.replace(SMALL, training=dataclasses.replace(SMALL.training, **changes))
    texts = ["the see", "do the"] * 9
    tuned = task.train(recipe, texts, texts[:2], tmp_path / "run", initial=generator, log=lambda text: None)
    ids = {"token_ids": np.array([[3, 5, 6, 7]])}
    np.testing.assert_allclose(*(np.asarray(found.model(ids)) for found in (tuned, generator)), atol=1e-4)
    assert (tuned.unseen, tuned.max_tokens, tuned.model.config.num_impossible) == ([], SMALL.training.max_tokens, 3)
    assert zoo.load(tmp_path / "run").generate(PROMPTS, max_tokens=5) == tuned.generate(PROMPTS, max_tokens=5)


def test_rows_without_a_piece_and_padding(tmp_path):
    """A padding token that was added later, and rows that no piece has."""
    vocabulary = {**VOCABULARY, "[PAD]": V}
    settings = {"pad_token": {"content": "[PAD]"}, "added_tokens_decoder": {str(V): {"content": "[PAD]"}}}
    made = load_gpt2(write(tmp_path / "a", random_arrays(V + 3), vocabulary, settings=settings, vocab_size=V + 3))
    assert made.model.config.vocabulary_size == V + 3 and made.tokenizer.pieces[0] == "[PAD]"
    same = {**settings, "pad_token": files.END, "added_tokens_decoder": {}}
    assert load_gpt2(write(tmp_path / "b", settings=same)).tokenizer.pieces[:4] == ("<pad>", "<unk>", "<s>", files.END)


def test_a_tokenizer_in_one_file(tmp_path):
    folder = write(tmp_path / "a")
    whole = {
        "added_tokens": [{"id": V - 1, "content": files.END}],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
        "model": {"type": "BPE", "vocab": VOCABULARY, "merges": [merge.split(" ") for merge in files.MERGES]},
    }
    expected = load_gpt2(folder).tokenizer.digest
    for name in ("vocab.json", "merges.txt"):
        (folder / name).unlink()
    with pytest.raises(ValueError, match="neither tokenizer.json nor merges.txt"):
        load_gpt2(folder)
    (folder / "tokenizer.json").write_text(json.dumps(whole))
    assert load_gpt2(folder).tokenizer.digest == expected
    for change, message in (
        ({"normalizer": {"type": "NFC"}}, "Received: BPE, NFC, ByteLevel"),
        ({"pre_tokenizer": {"type": "Sequence"}}, "Received: BPE, None, Sequence"),
        ({"pre_tokenizer": {"type": "ByteLevel", "use_regex": False}}, "use_regex=False"),
        ({"model": {**whole["model"], "ignore_merges": True}}, "ignore_merges=True"),
        ({"model": {"type": "Unigram", "vocab": [], "merges": []}}, "Received: Unigram"),
        ({"model": {"type": "BPE"}}, "is no tokenizer: KeyError"),
        ({"model": None}, "is no tokenizer"),
        ({"model": {**whole["model"], "vocab": [*VOCABULARY]}}, "its vocab must be an object"),
        ({"added_tokens": [{"id": 5, "content": 5}]}, "added_tokens must have texts"),
        ({"added_tokens": [{"id": V, "content": "<|user|>"}]}, "rows from 0 to"),
        ({"added_tokens": [{"id": 5, "content": "<|user|>"}]}, "a number of its own"),
        ({"added_tokens": [{"id": 5, "content": files.BYTES[5]}]}, "no tokens besides its pieces.*Received: '&'"),
    ):
        (folder / "tokenizer.json").write_text(json.dumps({**whole, **change}))
        with pytest.raises(ValueError, match=message):
            load_gpt2(folder)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"activation_function": "tanh"}, "activation_function of relu or gelu or .*activation_function='tanh'"),
        ({"scale_attn_weights": False}, "scale_attn_weights of True or None"),
        ({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx of False or None"),
        ({"reorder_and_upcast_attn": True}, "reorder_and_upcast_attn"),
        ({"add_cross_attention": True}, "add_cross_attention"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings"),
        ({"bos_token_id": 0}, "bos_token_id of .* Received: bos_token_id=0"),
        ({"eos_token_id": None, "bos_token_id": None}, "a whole number as eos_token_id. Received: None"),
        ({"eos_token_id": V, "bos_token_id": V}, "which token is end"),
        ({"n_layer": "missing"}, "a positive whole number as n_layer"),
        ({"n_inner": "many"}, "a positive whole number as n_inner"),
        ({"n_head": 3}, "multiple of `num_heads`"),
        ({"vocab_size": V - 1}, f"rows from 0 to {V - 1} for a model of {V - 1}"),
        ({"n_embd": 2**40}, "'wte.weight' must have shape"),
        ({"n_positions": 2**40}, "'wpe.weight' must have shape"),
        ({"n_layer": 2**40}, "c_fc.weight' must have shape .* Received: none"),
        ({"n_inner": None}, r"'h.1.mlp.c_fc.weight' must have shape \(8, 32\)"),
    ],
)
def test_other_models_are_refused(tmp_path, config, message):
    with pytest.raises(ValueError, match=message):
        zoo.load(write(tmp_path / "a", **config))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.pop("h.0.ln_1.bias"), "Missing arrays: .*block_0/self_attention_residual/norm/beta"),
        (lambda a: a.update({"h.0.crossattention.c_attn.weight": a["ln_f.bias"]}), "'h.0.crossattention"),
        (lambda a: a.update({"score.weight": a["wte.weight"]}), "does not have: 'score.weight'"),
        (lambda a: a.update({"h.x.ln_1.bias": a["ln_f.bias"]}), "does not have: 'h.x.ln_1.bias'"),
        (lambda a: a.update({"h.0.attn.c_attn.bias": a["ln_f.bias"]}), "does not have: 'h.0.attn.c_attn.bias'"),
        (lambda a: a.update({"h.0.attn.c_proj.bias": np.zeros(3, "float32")}), r"must have shape \(8,\)"),
        (lambda a: a.update({"lm_head.weight": a["wte.weight"] + 1}), "as lm_head.weight. Received: another one"),
    ],
)
def test_arrays_that_do_not_fit_are_named(tmp_path, change, message):
    arrays = random_arrays()
    change(arrays)
    with pytest.raises(ValueError, match=message):
        zoo.load(write(tmp_path / "a", arrays))


@pytest.mark.parametrize("kept", [0, 4, len(files.MERGES) - 1])
def test_merges_that_are_cut_off_are_noticed(tmp_path, kept):
    """Pieces such as `madeupword0000` of RoBERTa, which are not two others, need no merge."""
    vocabulary = files.make_vocabulary(last=[files.END])
    last = files.MERGES[-1].replace(" ", "")
    with pytest.raises(ValueError, match=rf"Received: {kept} merges, and none that makes '.*'. Fetch") as error:
        zoo.load(write(tmp_path / "a", merges=files.MERGES[:kept]))
    assert repr(last) in str(error.value) or kept < len(files.MERGES) - 1
    vocabulary["madeupword0000"] = V
    zoo.load(write(tmp_path / "b", random_arrays(V + 1), vocabulary, vocab_size=V + 1))


def test_damaged_vocabularies_are_named(tmp_path):
    folder = write(tmp_path / "a", merges=[*files.MERGES, "x y"])
    with pytest.raises(ValueError, match="without 'xy'"):
        zoo.load(folder)
    (folder / "merges.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="merges.txt is not UTF-8"):
        zoo.load(folder)
    (folder / "vocab.json").write_text("[]")
    with pytest.raises(ValueError, match="vocab.json must be a JSON object|not UTF-8"):
        zoo.load(folder)
    (folder / "added_tokens.json").write_text('{"<|user|>": 3}')
    write(folder)
    with pytest.raises(ValueError, match="a number of its own for each piece"):
        zoo.load(folder)
