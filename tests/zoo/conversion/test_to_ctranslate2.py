"""Translators in CTranslate2 make the same translations as here, by greedy search."""

import subprocess
import sys

import marian_folder as marian
import numpy as np
import pytest

from keras_transformer.decoding.repetition import extend_runs, is_loop, no_runs
from zoo.__main__ import main as convert_main
from zoo.config import PAD_ID, START_ID
from zoo.conversion.from_marian import load_marian
from zoo.conversion.to_ctranslate2 import ctranslate2_search, loop_end, write_ctranslate2
from zoo.translation.__main__ import main


@pytest.mark.slow
def test_translations_are_the_same(trained, corpus, tmp_path):
    """Also from the pieces of the folder's own vocabulary, in a process that has nothing of this package."""
    pytest.importorskip("ctranslate2", reason="ctranslate2 is not installed")
    translator, texts = trained.translator, [source for source, _ in corpus.test]
    expected = translator.translate(texts, beam_size=1)
    for quantization, least in ((None, len(texts)), ("int8", 0.8 * len(texts)), ("float16", 0.8 * len(texts))):
        folder = tmp_path / str(quantization)
        write_ctranslate2(translator, folder, quantization)
        found = translator.decode(texts, ctranslate2_search(translator, folder, beam_size=1), 1)
        assert sum(best[0].text == text for best, text in zip(found, expected)) >= least
    program = (
        "import sys, ctranslate2, sentencepiece; folder, text = sys.argv[1:]\n"
        "pieces = sentencepiece.SentencePieceProcessor(model_file=folder + '/sentencepiece.model')\n"
        "found = ctranslate2.Translator(folder).translate_batch([pieces.encode(text, out_type=str)], beam_size=1)\n"
        "print(pieces.decode(found[0].hypotheses[0]))"
    )
    command = [sys.executable, "-I", "-c", program, str(tmp_path / "None"), texts[0]]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == expected[0]


LOOPING = ["The dog sees the road 3 times.", "A cat, 47 trees!", "The lake " * 9, "The house paints the house"]


@pytest.fixture(scope="module")
def looping(tmp_path_factory):
    """A Marian with random weights, which repeats itself up to the limit, and its CTranslate2 folder."""
    pytest.importorskip("ctranslate2", reason="ctranslate2 is not installed")
    folder = tmp_path_factory.mktemp("ctranslate2")
    marian.write_marian(folder / "marian", languages=("fra", "ita"))
    translator = load_marian(folder / "marian", target_language="ita")
    translator.jit_compile = False
    write_ctranslate2(translator, folder / "engine")
    return translator, folder / "engine"


@pytest.mark.parametrize(("max_extra_tokens", "max_repeats"), [(13, 0), (50, 2)])
def test_greedy_translations_end_at_the_same_limits(looping, max_extra_tokens, max_repeats):
    translator, engine = looping
    translator.max_extra_tokens, translator.max_repeats = max_extra_tokens, max_repeats
    search = ctranslate2_search(translator, engine, beam_size=1)
    source, limits = translator.search_inputs(translator.tokenizer.encode(LOOPING))
    expected, found = translator.search(beam_size=1)(source, limits), search(source, limits)
    lengths = np.asarray(expected.lengths)[:, 0]
    assert (lengths == limits).any() if max_repeats == 0 else (lengths < limits).any()
    np.testing.assert_array_equal(found.lengths[:, 0], lengths)
    width = found.ids.shape[2]
    np.testing.assert_array_equal(found.ids, np.asarray(expected.ids)[:, :, :width])
    texts = [best[0].text for best in translator.decode(LOOPING, search, 1)]
    assert texts == translator.translate(LOOPING, beam_size=1)


def test_several_beams_keep_the_limits(looping):
    translator, engine = looping
    translator.max_extra_tokens, translator.max_repeats = 7, 2
    source, limits = translator.search_inputs(translator.tokenizer.encode(LOOPING))
    found = ctranslate2_search(translator, engine, beam_size=3, num_return=2)(source, limits)
    assert (found.lengths <= limits[:, None]).all() and (found.lengths > 0).all()


@pytest.mark.parametrize("max_repeats", [1, 2, 3])
def test_loops_end_where_searches_end_them(max_repeats):
    rows = np.random.default_rng(max_repeats).integers(5, 7, (40, 30)).astype("int32")
    runs, ends = no_runs(rows[:, 0]), np.full(40, None)
    for i in range(30):
        runs = extend_runs(runs, rows, rows[:, i], i)
        looping = np.asarray(is_loop(runs, np.full(40, max_repeats)))
        ends = np.where(looping & (ends == None), i + 1, ends)  # noqa: E711 (an array)
    assert [loop_end(row.tolist(), max_repeats) for row in rows] == ends.tolist()
    assert len({*ends.tolist()}) > 2


def test_the_language_is_a_token_before_the_pieces_of_the_text(looping):
    import ctranslate2
    import sentencepiece

    translator, engine = looping
    translator.max_extra_tokens, translator.max_repeats = 13, 0
    source, limits = translator.search_inputs(translator.tokenizer.encode(LOOPING[:1]))
    expected = ctranslate2_search(translator, engine, beam_size=1)(source, limits).scores[0, 0]
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(engine / "source.spm"))
    row = pieces.encode(LOOPING[0], out_type=str)
    found = ctranslate2.Translator(str(engine)).translate_batch(
        [[">>ita<<", *row], row],
        beam_size=1,
        return_scores=True,
        max_decoding_length=int(limits[0]) - 1,
        suppress_sequences=[[translator.tokenizer.pieces[i]] for i in (PAD_ID, START_ID)],
    )
    with_language, without = (result.scores[0] for result in found)
    assert with_language == pytest.approx(expected, rel=1e-4) != pytest.approx(without, rel=1e-4)


def test_unknown_quantization_raises(trained, tmp_path):
    pytest.importorskip("ctranslate2", reason="ctranslate2 is not installed")
    with pytest.raises(ValueError, match="must be one of int8, float16, or None.*Received: 'int4'"):
        write_ctranslate2(trained.translator, tmp_path / "a", "int4")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("option", ["--beam-size 2", "--compile 1", "--alignments", "--n-best 2", "--data x"])
def test_options_of_the_other_format_are_refused(option, tmp_path, capsys):
    command = ["export", "--format", "ctranslate2", "--output", str(tmp_path / "a"), *option.split()]
    assert main(command) == 2
    assert f"Received: {option.split()[0]}. Leave it out." in capsys.readouterr().err
    assert main(["export", "--quantization", "int8", "--output", str(tmp_path / "a")]) == 2
    assert "--quantization int8 is for --format ctranslate2, onnx, litert" in capsys.readouterr().err


def test_commands_refuse_weights_of_nan(tmp_path, capsys):
    vocabulary = marian.make_vocabulary()
    arrays = marian.random_arrays(len(vocabulary), np.random.default_rng(1))
    arrays["model.decoder.layers.1.fc1.bias"][3] = np.nan
    marian.write_marian(tmp_path / "marian", arrays=arrays)
    given, output = str(tmp_path / "marian"), str(tmp_path / "output")
    for program, arguments in (
        (convert_main, ["convert", given, "--output", output]),
        (main, ["export", "--checkpoint", given, "--format", "ctranslate2", "--output", output]),
        (main, ["translate", "--checkpoint", given, "--text", "The dog"]),
    ):
        assert program(arguments) == 2
        assert "Received: NaN or infinity in 'decoder/block_1/feed_forward/inner_dense/bias'" in capsys.readouterr().err
        assert not (tmp_path / "output").exists()
