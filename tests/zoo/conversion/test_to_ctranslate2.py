"""Translators in CTranslate2 make the same translations as here, by greedy search."""

import subprocess
import sys

import pytest

from zoo.conversion.to_ctranslate2 import ctranslate2_search, write_ctranslate2
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
