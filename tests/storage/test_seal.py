"""Every checked format with a bit turned over: it is refused by its name, or reads as before."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shard_files import provenance, read_table, write_shard

from algophase.core.errors import InputError
from algophase.core.settings import RunSettings, TaskSettings, TrainingSettings, TransformerSettings
from algophase.networks import initialize
from algophase.storage import load, save
from algophase.storage._checkpoints import DirectoryCheckpoints
from algophase.storage._seal import BLANK, is_intact, sealed
from algophase.storage.runs_table import encode_table
from algophase.training.run.loop import Ensemble, Watch
from algophase.training.run.plan import plan

RUN = RunSettings(TaskSettings(modulus=5), TransformerSettings(width=8), TrainingSettings(epochs=9))
Content = dict[str, Any]


def test_a_checksum_is_of_all_but_itself() -> None:
    content = b"".join(sealed(b"before " + BLANK.encode() + b" after"))
    assert is_intact(content, sealed_by_us=True)
    assert BLANK.encode() not in content
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1
        inside = (
            b"before " in changed and b" after" in changed
        )  # a changed mark or checksum may go unseen: nothing else changed
        assert not is_intact(bytes(changed), sealed_by_us=False) or inside
    assert is_intact(b"another program's file", sealed_by_us=False)
    assert not is_intact(b"another program's file", sealed_by_us=True)


def shard(path: Path) -> Callable[[], Content]:
    rows = [
        {"index": index, "run_id": f"id{index}", "circularity": index / 7, "verdict": "Pizza"}
        for index in range(30)
    ]
    write_shard(path, rows, {"device": "one"})
    return lambda: {**read_table(path).to_pydict(), "about": provenance(path)}


def checkpoint(path: Path) -> Callable[[], Content]:
    kept = DirectoryCheckpoints(path.parent)
    kept.write(Ensemble(plan([RUN], device="cpu")[0], Watch()).checkpoint())
    (written,) = path.parent.iterdir()
    written.rename(path)

    def read() -> Content:
        (held,) = kept.pending()
        found = kept.read(held)
        return {
            "description": found.description,
            **{name: value.tolist() for name, value in found.tensors.items()},
        }

    return read


def network(path: Path) -> Callable[[], Content]:
    file = path.with_suffix(".safetensors")
    save(initialize(RUN), file)

    def read() -> Content:
        found = load(file)
        return {
            "id": found.id,
            "run": found.run,
            **{name: value.tolist() for name, value in found.state_dict().items()},
        }

    return read


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (shard, "a.parquet"),
        (checkpoint, "a.safetensors"),
        (network, "a.safetensors"),
        (network, "a.json"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_a_flipped_bit_is_noticed_or_changes_nothing(tmp_path: Path, make: Any, name: str) -> None:
    path, draw, refused = tmp_path / "kept" / name, random.Random(0), list[str]()
    read = make(path)
    before, content = read(), path.read_bytes()
    for _ in range(100):
        place = draw.randrange(len(content))
        changed = bytearray(content)
        changed[place] ^= 1 << draw.randrange(8)
        path.write_bytes(changed)
        try:
            assert read() == before
        except InputError as error:
            refused.append(str(error))
    assert len(refused) > 70
    assert all(str(path.parent) in line for line in refused)
    path.write_bytes(content)
    assert read() == before


def test_a_shard_that_was_changed_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "runs-000000-30-00000000" / "runs.parquet"
    shard(path)
    content = bytearray(path.read_bytes())
    content[20] ^= 1
    path.write_bytes(content)
    with pytest.raises(
        InputError,
        match=r"runs.parquet does not match its checksum: .* remove runs-000000-30-00000000, and "
        r"the sweep",
    ):
        read_table(tmp_path)


def test_a_file_of_another_program_is_read_but_not_as_a_shard(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"index": [0], "run_id": ["x"]})
    pyarrow.parquet.write_table(table, tmp_path / "theirs.parquet")
    assert read_table(tmp_path).to_pydict() == table.to_pydict()
    assert b"algophase-sha256:" in encode_table(table, {})
    shard = tmp_path / "runs-000000-1-00000000"
    shard.mkdir()
    pyarrow.parquet.write_table(table, shard / "runs.parquet")
    with pytest.raises(InputError, match="does not match its checksum"):
        read_table(tmp_path)
