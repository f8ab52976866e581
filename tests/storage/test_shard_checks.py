"""Files that no sweep wrote: bombs, and columns of other types. A command says one line, and
none ends in a traceback.
"""

import io
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import torch
from commands import call
from shard_files import read_table

from algophase.core.errors import InputError
from algophase.explore.visible_runs import open_sweep
from algophase.runs.runs import Runs
from algophase.storage import load
from algophase.storage.formats.pickles import read_pickled
from algophase.storage.runs_table import read_runs

ROWS = {
    "index": [0, 1],
    "run_id": ["000000000000", "111111111111"],
    "verdict": ["Pizza", "Clock"],
    "paper_label": ["Pizza", "Clock"],
    "validation_accuracy": [1.0, 1.0],
    "circularity": [0.999, 0.9],
    "gradient_symmetricity": [0.99, 0.1],
    "attention_rate": [0.1, 0.9],
}
NOT_TEXT = pyarrow.array([b"\xff\xfe", b"\xc0"]).view(pyarrow.binary()).view(pyarrow.string())
STRANGE: dict[str, Any] = {
    "not UTF-8": NOT_TEXT,
    "bytes": [b"x", b"y"],
    "lists": [[1.0], [2.0]],
    "dictionaries": [{"a": 1}, {"a": 2}],
    "maps": pyarrow.array([[("a", 1)], []], pyarrow.map_(pyarrow.string(), pyarrow.int64())),
    "dates": pyarrow.array([2**62, 1], pyarrow.timestamp("us")),
}


def write(path: Path, **changes: Any) -> Path:
    pyarrow.parquet.write_table(pyarrow.table({**ROWS, **changes}), path)
    return path


@pytest.mark.parametrize("kind", STRANGE)
@pytest.mark.parametrize(
    "column", ["run_id", "verdict", "circularity", "validation_accuracy", "width", "space"]
)
def test_a_column_of_another_type_is_named(tmp_path: Path, column: str, kind: str) -> None:
    path = write(tmp_path / "a.parquet", **{column: STRANGE[kind]})
    for read in (read_runs, read_table, Runs.read):
        with pytest.raises(
            InputError, match=r"a\.parquet(: column \w+ holds .*; it must hold|.*Invalid UTF8)"
        ):
            read(path)
    assert len(open_sweep(path).runs) == 0


@pytest.mark.parametrize("kind", STRANGE)
def test_no_command_ends_in_a_traceback(tmp_path: Path, kind: str) -> None:
    good = write(tmp_path / "good.parquet")
    for column in ("run_id", "circularity", "surprise", "frequencies"):
        path = write(tmp_path / "bad.parquet", **{column: STRANGE[kind]})
        for command in (
            ("runs", path),
            ("runs", path, "--csv", "-"),
            ("compare", path, good, "--bootstrap", 100),
        ):
            done = call(*command)  # anything but a clean end is an error of the call itself
            assert "Traceback" not in done.stderr
            assert len(done.stderr.splitlines()) == int(done.returncode == 1)
            if column in ("run_id", "circularity"):
                assert done.returncode == 1


def test_numbers_and_texts_in_other_forms_are_read(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.parquet",
        verdict=pyarrow.array(["Pizza", None]).dictionary_encode(),
        circularity=pyarrow.array([0.5, 1.0], pyarrow.float16()),
        attention_rate=[Decimal("1.00"), Decimal("2.00")],
        run_id=pyarrow.array(["a", "b"], pyarrow.large_string()),
    )
    runs = read_runs(path)
    assert runs["circularity"].tolist() == [0.5, 1.0]
    assert runs["attention_rate"].tolist() == [1.0, 2.0]
    assert read_table(path).to_pydict()["verdict"] == ["Pizza", None]


def test_a_column_that_is_there_twice_is_named(tmp_path: Path) -> None:
    table = pyarrow.Table.from_arrays([pyarrow.array([1]), pyarrow.array([2])], names=["y", "y"])
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.parquet has several columns 'y'"):
        read_runs(tmp_path / "a.parquet")


def many_rows() -> pyarrow.Table:
    return pyarrow.table({"x": pyarrow.nulls(30_000_000, pyarrow.int8())})


def long_texts() -> pyarrow.Table:
    """One text, ten thousand times: the file holds it once."""
    indices = pyarrow.array([0] * 10_000, pyarrow.int32())
    return pyarrow.table(
        {"x": pyarrow.DictionaryArray.from_arrays(indices, pyarrow.array(["y" * 1_000_000]))}
    )


def long_texts_in_lists() -> pyarrow.Table:
    items = long_texts()["x"].combine_chunks()
    return pyarrow.table(
        {"x": pyarrow.ListArray.from_arrays(pyarrow.array([0, 10_000], pyarrow.int32()), items)}
    )


def zeros() -> pyarrow.Table:
    return pyarrow.table({"x": [b"\0" * 68_000_000]})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (many_rows, "declares 30,000,000 values in "),
        (long_texts, "holds 10,000,000,000 bytes of text, packed into "),
        (long_texts_in_lists, "holds 10,000,000,000 bytes of text, packed into "),
        (zeros, "declares 68,000,0.. bytes, packed into "),
    ],
)
def test_a_small_file_that_would_fill_the_memory_is_not_read(
    tmp_path: Path, make: Callable[[], pyarrow.Table], message: str
) -> None:
    pyarrow.parquet.write_table(
        make(), tmp_path / "bomb.parquet", compression="zstd", write_statistics=False
    )
    assert (tmp_path / "bomb.parquet").stat().st_size < 3_000_000
    with pytest.raises(InputError, match=message):
        read_runs(tmp_path)


def test_a_compressed_archive_is_not_unpacked_beyond_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("algophase.storage.formats.pickles.LARGEST_UNPACKED", 1_000_000)
    saved, packed = io.BytesIO(), tmp_path / "model_x.pt"
    torch.save({"a": torch.zeros(500_000)}, saved)
    with (
        zipfile.ZipFile(saved) as archive,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as copy,
    ):
        for name in archive.namelist():
            copy.writestr(name, archive.read(name))
    assert packed.stat().st_size < 30_000
    with pytest.raises(
        InputError,
        match=r"2,\d+,\d+ bytes .*; at most 1,000,000",
    ):
        read_pickled(packed)


def test_one_number_shown_as_many_is_not_a_tensor_of_a_network(tmp_path: Path) -> None:
    """A .pt file of a few hundred bytes can say that its tensors are of any shape."""
    (tmp_path / "config_x.json").write_text(
        '{"C": 5, "model_type": "A", "d_model": 20000, "d_hidden": 20000}'
    )
    names = {
        "embed.weight": (5, 20_000),
        "unembed.weight": (5, 20_000),
        "l1.weight": (20_000, 20_000),
        "l1.bias": (20_000,),
    }
    torch.save(
        {name: torch.zeros(1).expand(*shape) for name, shape in names.items()},
        tmp_path / "model_x.pt",
    )
    with pytest.raises(InputError, match=r"tensor \w+.* [\d,]+ numbers, .* 1"):
        load(tmp_path / "model_x.pt")
