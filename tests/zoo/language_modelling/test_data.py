"""Tests of readers of documents."""

import gzip

import pytest

from zoo.corpora.held_out import hold_out
from zoo.language_modelling.data import open_documents

TEXT = "One\r\ntwo\n\n \nthree\nfour"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "deeper").mkdir()
    (tmp_path / "b.txt").write_bytes(TEXT.encode())
    (tmp_path / "deeper" / "a.txt.gz").write_bytes(gzip.compress("Straße\n".encode()))
    (tmp_path / "empty.txt").write_bytes(b"\n")
    (tmp_path / "no.md").write_bytes(b"# Not read")
    return tmp_path


def test_a_file_is_a_document_as_it_is(folder):
    documents = open_documents(folder / "b.txt")
    assert [*documents] == [*documents] == [TEXT]


def test_a_folder_has_its_text_files_in_order(folder):
    assert [*open_documents(folder)] == [TEXT, "Straße\n"]
    assert [*open_documents([folder / "deeper", folder / "b.txt"])] == ["Straße\n", TEXT]


def test_paragraphs_and_lines(folder):
    assert [*open_documents(folder / "b.txt", documents="paragraph")] == ["One\ntwo", "three\nfour"]
    assert [*open_documents(folder / "b.txt", documents="line")] == ["One", "two", "three", "four"]


def test_a_part_is_held_out(tmp_path):
    (tmp_path / "lines.txt").write_text("".join(f"line {i}\n" for i in range(200)))
    documents = open_documents(tmp_path / "lines.txt", documents="line")
    train, dev = hold_out(documents, 0.2)
    assert sorted([*train, *dev]) == sorted(documents) and 20 < len([*dev]) < 60


def test_columns_of_a_table(tmp_path):
    (tmp_path / "table.tsv").write_text("1\tfirst text\n2\tsecond text\n")
    assert [*open_documents(tmp_path / "table.tsv", columns=[1])] == ["first text", "second text"]


def test_bad_input_is_refused(folder, tmp_path):
    with pytest.raises(ValueError, match="file, paragraph, line. Received: 'word'"):
        open_documents(folder, documents="word")
    with pytest.raises(FileNotFoundError, match="missing"):
        open_documents(folder / "missing")
    (tmp_path / "nothing").mkdir()
    with pytest.raises(ValueError, match="end in .txt"):
        open_documents(tmp_path / "nothing")
    with pytest.raises(ValueError, match="only corpus"):
        open_documents([folder, folder / "b.txt"], columns=[0])
    (folder / "latin.txt").write_bytes(b"fine\nStra\xdfe\n")
    with pytest.raises(ValueError, match="latin.txt, line 2, is not UTF-8"):
        [*open_documents(folder / "latin.txt")]
    (folder / "utf16.txt").write_bytes("some text".encode("utf-16"))
    with pytest.raises(ValueError, match="UTF-16"):
        [*open_documents(folder / "utf16.txt")]
