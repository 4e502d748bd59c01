"""Tests of reading recordings: tables, folders, zip files, and all that is no recording."""

import zipfile

import numpy as np
import pytest
import tones

from zoo.corpora.held_out import hold_out
from zoo.recognition.data import File, SpeechReader, open_recordings
from zoo.recognition.sound import NoSound, convert_samples, decode_sound, read_recording, split_at_pauses

RNG = np.random.default_rng(0)
SOUND = tones.tone("abc", RNG)


def opened(*arguments, **options):
    reader = open_recordings(*arguments, **options)
    reader.sampling_rate = tones.RATE
    return reader


def test_tables_and_zip_files_have_the_same_recordings(folder, tmp_path):
    reader = opened(folder / "table.tsv")
    examples = [*reader]
    assert len(examples) == 80 and str(reader.report) == "80 recordings (0 minutes) from 80 entries"
    assert examples[0].samples.dtype == np.int16 and examples[0].name == "00.wav"
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for path in folder.glob("*.wav"):
            archive.write(path, path.name)
    lines = (folder / "table.tsv").read_text("utf-8").splitlines()[1:]
    (tmp_path / "plain.csv").write_text("\n".join(f'x,{b},"{a}"' for a, b in (line.split("\t") for line in lines)))
    same = [*opened(tmp_path / "plain.csv", columns=(1, 2), audio=tmp_path / "all.zip")]
    assert [(e.text, e.name) for e in same] == [(e.text, e.name) for e in examples]
    assert all((a.samples == b.samples).all() for a, b in zip(same, examples))
    assert [*reader.texts()] == [e.text for e in examples]


def test_folders_with_texts_beside_or_in_a_transcript(tmp_path):
    for name in ("a/1-0.flac", "a/1-1.flac", "b/x.WAV", "b/y.ogg"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        form = {"format": {"flac": "FLAC", "wav": "WAV", "ogg": "OGG"}[path.suffix[1:].lower()]}
        path.write_bytes(tones.wav(SOUND, **form, **({"subtype": "VORBIS"} if name.endswith("ogg") else {})))
    (tmp_path / "a" / "1.trans.txt").write_text("1-0 ONE TWO\n1-1  THREE\n", "utf-8")
    (tmp_path / "b" / "x.txt").write_text("four\n  five \n", "utf-8")
    reader = opened(tmp_path)
    assert [(e.name, e.text) for e in reader] == [
        ("a/1-0.flac", "ONE TWO"),
        ("a/1-1.flac", "THREE"),
        ("b/x.WAV", "four five"),
    ]
    assert reader.report.no_text.first == ["b/y.ogg"]


def test_what_is_no_recording_is_counted_and_named(tmp_path):
    nan = SOUND.copy()
    nan[5] = np.nan
    files = {
        "good.wav": tones.wav(SOUND),
        "empty.wav": b"",
        "header.wav": tones.wav(SOUND[:0]),
        "text.wav": b"no sound at all, but a text that somebody renamed",
        "half.flac": tones.wav(SOUND, format="FLAC")[:60],
        "half.wav": tones.wav(SOUND)[:4_000],
        "half.mp3": tones.wav(SOUND, format="MP3")[:-1],
        "nan.wav": tones.wav(nan, subtype="FLOAT"),
        "silent.wav": tones.wav(np.zeros(4_000)),
        "long.wav": tones.wav(np.tile(SOUND, 20)),
        "untold.wav": tones.wav(SOUND),
        "few.wav": tones.wav(SOUND[200:203]),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    lines = [f"{name}\t{'' if name == 'untold.wav' else 'a'}" for name in [*files, "missing.wav"]]
    (tmp_path / "table.tsv").write_text("\n".join(["audio\ttext", *lines]), "utf-8")
    reader = opened(tmp_path / "table.tsv", max_seconds=2.0)
    assert [example.name for example in reader] == ["good.wav", "few.wav"]
    found = {name: getattr(reader.report, name).first for name in reader.notes}
    assert found == {
        "missing": ["missing.wav"],
        "empty": ["empty.wav", "header.wav"],
        "no_sound_file": ["text.wav", "half.flac"],
        "truncated": ["half.wav", "half.mp3"],
        "not_finite": ["nan.wav"],
        "silent": ["silent.wav"],
        "too_long": ["long.wav"],
        "no_text": ["untold.wav"],
    }


@pytest.mark.parametrize("rate, channels", [(8_000, 1), (16_000, 2), (44_100, 1), (44_100, 2)])
def test_mp3_files_of_all_kinds_are_read_whole_or_not_at_all(rate, channels):
    """The length of what stands before the sizes depends on the rate and the channels; a tag may come first or last."""
    sound = np.random.default_rng(0).normal(0, 0.1, (rate, channels))
    content = tones.wav(sound, rate, format="MP3")
    first, last = b"ID3\4\0\0" + bytes([0, 0, 1, 5]) + bytes(133), b"TAG" + bytes(125)
    for whole in (content, first + content, content + last):
        assert abs(len(decode_sound(whole, rate)) - rate) <= 1
    for cut in (content[:-1], first + content[: len(content) // 2]):
        with pytest.raises(NoSound, match=r"whose last [\d,]+ bytes are missing"):
            decode_sound(cut, rate)


def test_files_from_a_pipe_do_not_know_their_length():
    """As ffmpeg writes them: with the largest numbers where the lengths should be."""
    whole = tones.wav(SOUND)
    start = whole.index(b"data") + 4
    piped = whole[:4] + b"\xff" * 4 + whole[8:start] + b"\xff" * 4 + whole[start + 4 :]
    np.testing.assert_array_equal(*(decode_sound(content, 8_000) for content in (piped, whole)))


def test_rates_and_channels_are_converted():
    """A tone keeps its height and its length at another rate; channels are averaged."""
    times = np.arange(44_100) / 44_100
    high = np.sin(2 * np.pi * 440 * times)
    stereo = np.stack([high, np.zeros_like(high)], 1) * 0.5
    found = decode_sound(tones.wav(stereo, 44_100), 8_000).astype("float64")
    assert abs(len(found) - 8_000) <= 1
    spectrum = np.abs(np.fft.rfft(found[:8_000]))
    assert spectrum.argmax() == 440
    np.testing.assert_allclose(found[2_000:6_000].std() / 2**15, 0.25 / np.sqrt(2), rtol=1e-2)


def test_arrays():
    whole = (SOUND * 2**15).round().astype("int16")
    np.testing.assert_array_equal(read_recording(whole, 8_000), whole)
    np.testing.assert_allclose(read_recording(SOUND, 8_000), whole, atol=1)
    assert convert_samples(np.array([2.0, -3.0, 0.5]), 8_000, 8_000).tolist() == [32767, -32768, 16384]
    for wrong in (np.zeros((2, 2, 2)), np.zeros(3, "int64"), np.zeros(3, "complex64")):
        with pytest.raises(ValueError, match="A recording must be"):
            read_recording(wrong, 8_000)
    with pytest.raises(NoSound):
        read_recording(np.zeros(0), 8_000)


def test_long_recordings_are_cut_at_pauses():
    sound = np.concatenate([np.tile(SOUND, 3), np.zeros(900), np.tile(SOUND, 2), np.zeros(900), SOUND])
    samples = convert_samples(sound, 8_000, 8_000)
    parts = split_at_pauses(samples, 3 * len(SOUND) + 1_000, 8_000)
    assert len(parts) > 1 and all(len(part) <= 3 * len(SOUND) + 1_000 for part in parts)
    np.testing.assert_array_equal(np.concatenate(parts), samples)
    assert 3 * len(SOUND) <= len(parts[0]) <= 3 * len(SOUND) + 900
    assert split_at_pauses(np.zeros(10**6, "int16"), 1_000, 8_000) == []


def test_divided_by_names(folder):
    train, dev = hold_out(opened(folder / "table.tsv"), 0.3)
    names = [{example.name for example in part} for part in (train, dev)]
    assert len(names[0]) + len(names[1]) == 80 and not names[0] & names[1] and 10 < len(names[1]) < 40
    assert len([*dev.texts()]) == len(names[1])


def test_wrong_arguments(folder, tmp_path):
    (tmp_path / "table.tsv").write_text("file\twords\n", "utf-8")
    with pytest.raises(ValueError, match="columns `audio` and `text`"):
        opened(tmp_path / "table.tsv")
    with pytest.raises(ValueError, match="`max_seconds` must be positive"):
        opened(folder / "table.tsv", max_seconds=0)
    with pytest.raises(ValueError, match="folder or a zip file"):
        opened(folder / "table.tsv", audio=folder / "00.wav")
    with pytest.raises(FileNotFoundError):
        opened(folder / "nothing.tsv")


def test_other_sources():
    """Anything that gives files."""
    reader = SpeechReader([File("x", " a  b ", lambda rate: convert_samples(SOUND, rate, rate))])
    assert [(e.name, e.text) for e in reader] == [("x", "a b")]
