"""Tests of generated texts and of the probabilities of texts."""

import numpy as np
import pytest
from keras import ops

import zoo
from zoo.config import END_ID


def test_greedy_text_is_what_the_model_has_learned(generator):
    assert generator.generate(["tek", "soba pim tek lu"], max_tokens=60, temperature=0)[0].startswith(" luri soba pim")
    (text,) = generator.generate(["luri soba"], max_tokens=200, temperature=0)
    assert text.endswith("pim.")  # It ends by itself.


def reference(generator, prompt, count):
    """Generates greedily by full passes, one for each token."""
    ids = [END_ID, *generator.tokenizer.encode([prompt])[0]]
    for _ in range(count):
        logits = ops.convert_to_numpy(generator.model({"token_ids": np.array([ids], "int32")}, training=False))[0, -1]
        logits = np.array(logits, "float64")
        logits[[0, 1, 2]] = -np.inf
        ids.append(int(logits.argmax()))
    return ids


def test_greedy_text_equals_full_passes(generator):
    ids = reference(generator, "so", 20)
    until = ids.index(END_ID, 1) if END_ID in ids[1:] else len(ids)
    (text,) = generator.generate(["so"], max_tokens=20, temperature=0)
    assert "so" + text == generator.tokenizer.decode([ids[1:until]])[0]


def test_a_text_does_not_depend_on_other_prompts_or_their_number(generator):
    prompts = ["tek", "", "soba pim tek luri soba", "pim"]
    together = generator.generate(prompts, max_tokens=25, seed=3)
    assert together == generator.generate(prompts, max_tokens=25, seed=3)
    assert generator.generate(["tek", "luri", "luri"], max_tokens=25, seed=3)[0] == together[0]
    assert together != generator.generate(prompts, max_tokens=25, seed=4)
    assert all(len(text) <= 25 for text in together)
    shorter = generator.generate(prompts, max_tokens=7, seed=3)
    assert all(text.startswith(short) for text, short in zip(together, shorter))


def test_parts_of_a_list_give_the_texts_of_the_whole(generator):
    prompts = ["tek", "tek", "luri", "tek"]
    whole = generator.generate(prompts, max_tokens=25, seed=3, temperature=2.0)
    parts = [generator.generate(prompts[i : i + 2], max_tokens=25, seed=3, temperature=2.0, first=i) for i in (0, 2)]
    assert sum(parts, []) == whole and len({whole[0], whole[1], whole[3]}) == 3


def test_stream_gives_the_parts_of_the_text(generator):
    parts = [*generator.stream("tek", max_tokens=40, seed=2, temperature=1.5)]
    assert "".join(parts) == generator.generate(["tek"], max_tokens=40, seed=2, temperature=1.5)[0]
    assert len(parts) > 1


def test_options_change_the_text(generator):
    assert generator.generate(["tek"], max_tokens=40, temperature=0, stop=[" pim"]) == [" luri soba"]
    assert generator.generate(["tek"], max_tokens=40, top_k=1) == generator.generate(
        ["tek"], max_tokens=40, temperature=0
    )
    plain, penalized = (
        generator.generate(["tek luri"], max_tokens=40, temperature=0, repetition_penalty=penalty)[0]
        for penalty in (1.0, 50.0)
    )
    assert plain != penalized and len({*penalized}) > len({*plain}) / 2


def test_sampled_characters_have_the_probabilities_of_the_model(generator):
    """The first characters of 400 texts: chi-squared against the model."""
    prompt = "tek luri soba pim"
    ids = np.array([[END_ID, *generator.tokenizer.encode([prompt])[0]]], "int32")
    logits = np.array(ops.convert_to_numpy(generator.model({"token_ids": ids}, training=False))[0, -1], "float64") / 3
    logits[[*generator.never]] = -np.inf
    expected = np.exp(logits - logits.max())
    expected /= expected.sum()
    texts = generator.generate([prompt] * 400, max_tokens=1, temperature=3.0, seed=1)
    counts = np.zeros(len(expected))
    for text in texts:
        counts[generator.tokenizer.encode([text])[0][0] if text and text != "\ufffd" else END_ID] += 1
    likely = expected * 400 > 5
    likely[END_ID] = False  # Half characters count there, too.
    differences = (counts - 400 * expected)[likely] ** 2 / (400 * expected)[likely]
    assert likely.sum() >= 2 and differences.sum() < 12 + 4 * likely.sum()


def test_a_model_of_one_document_never_ends(single):
    (text,) = single.generate(["tek"], max_tokens=100, temperature=0)
    assert len(text) == 100 and "\n" in text
    assert single.generate([""], max_tokens=5)[0]
    assert END_ID in single.never


def test_bytes_that_the_corpus_lacks_are_never_generated(single):
    lacking = [
        token for token, piece in enumerate(single.tokenizer.pieces) if piece.startswith("<0x") and "0A" not in piece
    ]
    assert {*lacking} <= {*single.unseen} and single.tokenizer.encode(["\n"])[0][0] not in single.unseen
    texts = single.generate(["中国 🙂"] * 20, max_tokens=30, temperature=5.0)
    assert not any("\ufffd" in text for text in texts) and all(map(str.isascii, texts))


def test_a_text_beyond_the_context_goes_on(single):
    (text,) = single.generate(["tek luri soba pim tek luri " * 5], max_tokens=3 * single.max_tokens, temperature=0)
    assert len(text) == 3 * single.max_tokens and text.count("soba pim") > 3


def test_log_probs_equal_the_logits(generator):
    text = "tek luri"
    ids = [END_ID, *generator.tokenizer.encode([text])[0], END_ID]
    logits = ops.convert_to_numpy(generator.model({"token_ids": np.array([ids[:-1]], "int32")}, training=False))[0]
    logits = logits.astype("float64")
    expected = (logits - np.log(np.exp(logits).sum(-1, keepdims=True)))[np.arange(len(ids) - 1), ids[1:]]
    np.testing.assert_allclose(generator.log_probs([text]), expected, atol=1e-4)


def test_loading_gives_the_same_texts(generator):
    loaded = zoo.load(generator.folder)
    assert loaded.documents and loaded.max_tokens == 32
    assert loaded.generate(["tek"], seed=5) == generator.generate(["tek"], seed=5)


def test_examples_are_for_fit(generator):
    (batch,) = generator.examples(["tek luri soba pim. " * 8], batch_size=32, shuffle=False).take(1)
    inputs, labels = batch
    assert inputs["token_ids"].shape == labels.shape and labels.shape[1] == 32
    assert (inputs["token_ids"].numpy()[:, 1:] == labels.numpy()[:, :-1]).all()


def test_bad_input_is_refused(generator):
    with pytest.raises(ValueError, match="list of strings"):
        generator.generate("tek")
    with pytest.raises(ValueError, match="`temperature` must"):
        generator.generate(["tek"], temperature=-1)
    assert generator.generate([]) == []


def test_texts_end_where_learned_positions_end(positional, monkeypatch):
    """By default; each depends on its own prompt, the others of the batch may be shorter."""
    monkeypatch.setattr(type(positional), "never", {0, 1, 2, END_ID, *positional.unseen})
    positional = zoo.load(positional.folder)  # Whose functions are not yet compiled.
    prompts = ["", "tek", "tek luri soba pim tek luri soba pim"]
    together = positional.generate(prompts, seed=3)
    for number, (prompt, text) in enumerate(zip(prompts, together)):
        taken = len(positional.encode_prompt(prompt))
        assert len(positional.tokenizer.encode([text])[0]) == 40 - taken
        assert positional.generate([prompt], seed=3, first=number, max_tokens=40 - taken) == [text]
    assert "".join(positional.stream(prompts[2])) == positional.generate(prompts[2:])[0]


def test_prompts_that_learned_positions_cannot_hold_are_refused(positional):
    """And no part of them is read instead, unlike with rotary positions."""
    longest = "tek luri " * 4 + "so"
    assert len(positional.encode_prompt(longest)) == 39
    assert positional.encode_prompt(longest * 9)[0] == END_ID
    positional.generate([longest])
    with pytest.raises(
        ValueError, match="at most 40 tokens.* Received: 40 in the prompt, which leaves none .* Shorten"
    ):
        positional.generate([longest + "b"])
    with pytest.raises(ValueError, match=r"Received: 343 in the prompt and max_tokens=2\. Shorten the prompt or lower"):
        positional.generate([longest * 9], max_tokens=2)


@pytest.mark.parametrize("seed", [-1, 1.5, "1"])
def test_seeds_are_checked(generator, seed):
    with pytest.raises(ValueError, match="`seed` must be an integer of 0 or more. Received: seed="):
        generator.generate(["tek"], seed=seed)


@pytest.mark.parametrize("stride", [0, -5, 33])
def test_strides_are_checked(generator, stride):
    with pytest.raises(ValueError, match=f"between 1 and the context of 32 tokens. Received: stride={stride}"):
        generator.log_probs(["tek"], stride=stride)
