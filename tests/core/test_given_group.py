"""The group that a user gives, and what is said where it is none."""

import json
from pathlib import Path

import numpy as np
import pytest

from algophase.core.errors import InputError
from algophase.core.given_group import given_group
from algophase.core.named_groups import named_group

S3 = named_group("S3").table


def test_names_groups_and_tables() -> None:
    assert given_group("S5").order == 120
    assert given_group("(1 2 3 4 5); (1 2)").order == 120
    assert given_group(named_group("S3")) is named_group("S3")
    for table in (S3, S3.tolist(), S3.astype(float)):
        np.testing.assert_array_equal(given_group(table).table, S3)


def test_files(tmp_path: Path) -> None:
    np.save(tmp_path / "s3.npy", S3)
    np.savetxt(tmp_path / "s3.csv", S3, fmt="%d", delimiter=",")
    np.savetxt(tmp_path / "spaces.csv", S3, fmt="%d")
    (tmp_path / "s3.json").write_text(json.dumps(S3.tolist()))
    for path in tmp_path.iterdir():
        np.testing.assert_array_equal(given_group(path).table, S3)
        np.testing.assert_array_equal(given_group(str(path)).table, S3)


SPOILED = S3.copy()
SPOILED[1, [2, 3]] = SPOILED[1, [3, 2]]
NOT_TABLES = {
    "rows that differ": ([[0, 1], [1]], "these rows differ"),
    "not square": ([[0, 1]], r"n rows and n columns; this has \(1, 2\)"),
    "empty": ([], "n rows and n columns"),
    "words": ([["a", "b"], ["c", "d"]], "holds numbers of elements"),
    "halves": ([[0.5, 1], [1, 0]], "holds numbers of elements"),
    "not a number": ([[float("nan"), 1], [1, 0]], "holds numbers of elements"),
    "infinite": ([[float("inf"), 1], [1, 0]], "holds numbers of elements"),
    "not closed": ([[0, 1], [1, 2]], r"1 \+ 1 is 2, and elements are 0 to 1"),
    "no identity": ([[1, 0], [1, 0]], "no identity"),
    "no inverse": ([[0, 1], [1, 1]], "element 1 has no inverse"),
    "not associative": (SPOILED, r"not associative: \(\d \+ \d\) \+ \d is \d, and"),
    "a number": (5, "group is 5; give a name"),
    "nothing": (None, "group is None; give a name"),
    "too large": (np.zeros((1001, 1001), dtype=int), "1,001 rows; at most 1,000"),
}


@pytest.mark.parametrize("kind", NOT_TABLES)
def test_what_is_no_group(kind: str) -> None:
    table, said = NOT_TABLES[kind]
    with pytest.raises(InputError, match=said):
        given_group(table)


def test_files_that_are_no_table(tmp_path: Path) -> None:
    (tmp_path / "words.csv").write_text("0,1\n1,zero\n")
    (tmp_path / "broken.json").write_text("[[0, 1")
    (tmp_path / "words.json").write_text('{"table": 1}')
    (tmp_path / "broken.npy").write_bytes(b"\x00\x01")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "group.txt").write_text("0")
    (tmp_path / "empty.csv").write_text("\n")
    (tmp_path / "a directory.csv").mkdir()
    header = b"{'descr': '<i8', 'fortran_order': False, 'shape': (10**9, 10**9), }"
    header = header.replace(b"10**9", b"1000000000")
    written = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    (tmp_path / "lies.npy").write_bytes(written + bytes(80))
    np.save(tmp_path / "code.npy", np.array([{}], dtype=object), allow_pickle=True)
    said = {
        "words.csv": "words.csv: line 2 is not a row of whole numbers",
        "broken.json": "broken.json: it is not JSON",
        "words.json": "words.json: a group's table has n rows",
        "broken.npy": "broken.npy: it is not a NumPy array",
        "binary.csv": "binary.csv: it is not a NumPy array, or not text",
        "group.txt": "group.txt; the file of a table ends in .csv, .npy, .json",
        "empty.csv": "empty.csv: a group's table has n rows",
        "a directory.csv": "a directory.csv: cannot read it",
        "lies.npy": "lies.npy: it is not a NumPy array",
        "code.npy": "code.npy: it is not a NumPy array",
        "missing.csv": "missing.csv: cannot read it: No such file",
    }
    for name, words in said.items():
        with pytest.raises(InputError) as error:
            given_group(str(tmp_path / name))
        assert words in str(error.value), name
