"""Tab-separated files, CSV files, and class names of data sets."""

import gzip

import pytest

from zoo.corpora.reading import TableRows


def write(path, content):
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_csv_quotes_and_rows_of_several_lines(tmp_path, name):
    content = 'label,text\r\n1,"one, ""two"""\r\n0,"a\nb"\r\n\r\n2\r\nü,é\r\n'.encode()
    path = write(tmp_path / name, content)
    assert list(TableRows(path, (0, 1), commas=True)) == [
        (b"label", b"text"),
        (b"1", b'one, "two"'),
        (b"0", b"a\nb"),
        (b"", b""),
        None,
        ("ü".encode(), "é".encode()),
    ]


def test_an_unterminated_cell_is_invalid_csv(tmp_path):
    path = write(tmp_path / "a.csv", b'1,good\n0,"' + b"x" * 200_000)
    with pytest.raises(ValueError, match="a.csv, line 2, is not valid CSV: field larger than field limit"):
        list(TableRows(path, (0, 1), commas=True))


def test_quotes_have_no_meaning_between_tabs(tmp_path):
    path = write(tmp_path / "a.tsv", b'1\t"one\n\n2\n')
    assert list(TableRows(path, (1, 0))) == [(b'"one', b"1"), (b"", b""), None]


@pytest.mark.parametrize("columns", [(0, 0), (-1, 1), (1, 2, 1)])
def test_columns_must_differ(tmp_path, columns):
    with pytest.raises(ValueError, match="`columns` must be different numbers from 0"):
        TableRows(write(tmp_path / "a", b""), columns)
