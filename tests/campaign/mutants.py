"""Files of every format we read, damaged at random, swapped, or made to hold code: refused in a
line, or read as they were.

A format with a checksum may never read differently. The others may, where what was changed is still
a file of that kind.
"""

import gzip
import io
import json
import os
import pickle
import random
import sys
import zipfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import kills
import pyarrow.parquet
import torch
from shard_files import provenance, read_table
from trial import BROKEN, Ended, in_child, nothing_may_run

from algophase import analyze, wrap
from algophase.cli import main
from algophase.core.errors import InputError
from algophase.record.codec import encode_value
from algophase.runs.released_table import read_released_table
from algophase.runs.runs import Runs
from algophase.storage import load, save
from algophase.storage._checkpoints import DirectoryCheckpoints
from algophase.storage.runs_table import shard_paths
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps.spaces import load_space
from algophase.training.run.loop import Ensemble, Watch
from algophase.training.run.plan import plan


@dataclass(frozen=True)
class Format:
    """A file of a kind, how it is read, and whether a change of it may go unnoticed."""

    name: str
    path: Path
    read: Callable[[], Any]
    checked: bool


def command(*words: object) -> str:
    """A command in this process, as a shell would see it. Anything but an exit is an error of
    ours.
    """
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["algophase", *map(str, words)]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as stop:
            if stop.code == 1:
                lines = err.getvalue().splitlines()
                if (
                    len(lines) != 1
                    or not lines[0].startswith("algophase: error: ")
                    or len(lines[0]) > 1100
                ):
                    raise AssertionError(f"not one line: {err.getvalue()}") from None
                raise InputError(lines[0]) from None
            if stop.code not in (0, None, 3):
                raise
    return out.getvalue()


def _state(network: Any) -> Any:
    numbers = {name: value.tolist() for name, value in network.state_dict().items()}
    kept_analysis = encode_value(getattr(network, "known", None))
    return network.id, network.run, network.notes, kept_analysis, numbers


def _save_wrapped(path: Path) -> None:
    """A network with code of its own: its file keeps an analysis and notes."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(10, 6), torch.nn.ReLU(), torch.nn.Linear(6, 5))
    network = wrap(module, 5)
    save(network, path, analysis=analyze(network))


def formats(scratch: Path) -> list[Format]:
    """One file of each kind, made anew."""
    place = scratch / "formats"
    for ended in (
        in_child(lambda: kills.run_sweep(place / "sweep")),
        in_child(lambda: kills.run_training(place / "trained")),
        in_child(lambda: _save_wrapped(place / "wrapped")),
    ):
        assert ended.code == 0, ended.said
    sweep, run = SweepDirectory(place / "sweep"), kills.RUNS[0]
    shard = shard_paths(sweep.path)[0]
    moments = shard_paths(sweep.path / "moments")[0]
    network = SweepDirectory(place / "trained").kept_files()[run.run_id]
    wrapped = place / "wrapped.safetensors"
    kept = DirectoryCheckpoints(place / "checkpoints")
    kept.write(Ensemble(plan(kills.RUNS[:2], device="cpu")[0], Watch()).checkpoint())
    (checkpoint,) = kept.directory.iterdir()
    released = place / "released"
    released.mkdir()
    torch.save(_released_tensors(), released / "model_x.pt")
    (released / "config_x.json").write_text(
        json.dumps({"C": 5, "model_type": "A", "d_model": 8, "d_hidden": 8})
    )
    table = place / "table.csv"
    table.write_text(_TABLE)
    space = place / "space.toml"
    space.write_text(
        "runs = 5\n[task]\nmodulus = 7\n[network]\nwidth = { log_uniform = [8, 16], integer = "
        "true }\n"
    )

    def read_checkpoint() -> Any:
        (held,) = kept.pending()
        found = kept.read(held)
        return found.description, {name: value.tolist() for name, value in found.tensors.items()}

    def read_shard() -> Any:
        return (
            read_table(sweep.path).to_pylist(),
            provenance(shard),
            sweep.finished(),
            len(Runs.read(sweep.path)),
        )

    return [
        Format("shard", shard, read_shard, True),
        Format("shard, listed", shard, lambda: command("runs", sweep.path), True),
        Format(
            "moments", moments, lambda: (sweep.moments() or read_table(moments)).to_pylist(), True
        ),
        Format("checkpoint", checkpoint, read_checkpoint, True),
        Format("network", network, lambda: _state(load(network)), True),
        Format("network's JSON", network.with_suffix(".json"), lambda: _state(load(network)), True),
        Format("wrapped network", wrapped, lambda: _state(load(wrapped)), True),
        Format(
            "wrapped network's JSON",
            wrapped.with_suffix(".json"),
            lambda: _state(load(wrapped)),
            True,
        ),
        Format(
            "released network",
            released / "model_x.pt",
            lambda: _state(load(released / "model_x.pt")),
            False,
        ),
        Format(
            "released config",
            released / "config_x.json",
            lambda: _state(load(released / "model_x.pt")),
            False,
        ),
        Format("sweep.json", sweep.path / "sweep.json", lambda: command("runs", sweep.path), False),
        Format("space", space, lambda: load_space(space), False),
        Format("released table", table, lambda: read_released_table(table).to_dict(), False),
    ]


def _released_tensors() -> dict[str, torch.Tensor]:
    shapes = {
        "embed.weight": (5, 8),
        "unembed.weight": (5, 8),
        "l1.weight": (8, 8),
        "l1.bias": (8,),
    }
    generator = torch.Generator().manual_seed(0)
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


_TABLE = "runid,attn_coeff,n_layers,d_model,C,diff_vocab,eqn_sign,act_fn,validation_accuracy,circularity,gradient_sim,"
_TABLE += "distance_irrelevance\n"
_TABLE += "".join(
    f"r{number},{number / 10},1,128,59,0,0,ReLU,1.0,0.99{number},0.5,0.5\n" for number in range(10)
)


NUMBERS = [
    b"-1",
    b"1e400",
    b"NaN",
    b"null",
    b"[]",
    b'""',
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"99999999999999",
]


class Payload:
    """A pickle of this leaves a mark when it is opened by a program that runs what it is told."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.mark}",)


def hostile(draw: random.Random, content: bytes, mark: Path) -> bytes:
    """A file of another kind in its place, or one that holds code."""
    packed, archive = pickle.dumps({"embed.weight": Payload(mark)}), io.BytesIO()
    with zipfile.ZipFile(archive, "w") as entries:
        entries.writestr("archive/data.pkl", packed)
        entries.writestr("archive/version", "3\n")
    saved = io.BytesIO()
    torch.save({"embed.weight": torch.zeros(3), "more": Payload(mark)}, saved)
    table = io.BytesIO()
    pyarrow.parquet.write_table(
        pyarrow.table({"index": [0], "run_id": [draw.choice(["x", b"\xff", ["y"], {"a": 1}])]}),
        table,
    )
    files = [
        packed,
        archive.getvalue(),
        saved.getvalue(),
        table.getvalue(),
        gzip.compress(content),
        content + content,
    ]
    texts = [
        b"",
        b"\0" * 4096,
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"format": "' + b"x" * 100_000 + b'"}',
        b"1" * 10_000,
    ]
    return draw.choice([*files, *texts])


def flip(draw: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def mutate(draw: random.Random, content: bytes, others: list[bytes], mark: Path) -> bytes:
    """Content changed in one of many ways, several times over now and then."""
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 1, 2, 5))):
        place, size = (
            draw.randrange(len(changed) + 1),
            min(draw.choice((1, 4, 16, 200)), len(changed) or 1),
        )
        kind = draw.randrange(9)
        if kind == 0:
            changed = bytearray(flip(draw, bytes(changed))) if changed else changed
        elif kind == 1:
            changed[place : place + size] = draw.randbytes(size)
        elif kind == 2:
            changed = changed[:place]
        elif kind == 3:
            changed[place : place + size] = bytes(size)
        elif kind == 4:
            changed[place:place] = changed[draw.randrange(len(changed) + 1) :][:size]
        elif kind == 5:
            del changed[place : place + size]
        elif kind == 6:
            other = draw.choice(others)
            changed[place:] = other[draw.randrange(len(other)) :]
        elif kind == 7:
            numbers = [
                b"-1",
                b"1e400",
                b"NaN",
                b"null",
                b"[]",
                b'""',
                b"\xff\xff\xff\xff",
                b"\x7f\xff\xff\xff",
                b"99999999999999",
            ]
            changed[place : place + size] = draw.choice(numbers)
        else:
            return hostile(draw, content, mark)
    return bytes(changed)


def attack(form: Format, variants: list[bytes], mark: Path) -> tuple[Ended, list[str]]:
    """Read these contents in one child, in place of the file's own. Gives what became of each:
    same, refused, differs.

    A whole other file, without a checksum, is taken for an older version's, and may differ: it is
    "another".
    """
    content, record = form.path.read_bytes(), form.path.with_name("outcomes")
    expected = in_child(lambda: record.write_text(repr(form.read())))
    assert expected.code == 0, expected.said
    before = record.read_text()
    record.unlink()

    def work() -> None:
        nothing_may_run()
        with record.open("w", buffering=1) as file:
            for variant in variants:
                form.path.write_bytes(variant)
                try:
                    same = repr(form.read()) == before
                except InputError:
                    file.write("refused\n")
                else:
                    other = (
                        form.checked and form.path.suffix != ".json" and b"sha256" not in variant
                    )
                    file.write("same\n" if same else "another\n" if other else "differs\n")

    ended = in_child(work, patience=10.0 + 0.5 * len(variants))
    outcomes = record.read_text().splitlines() if record.exists() else []
    record.unlink(missing_ok=True)
    form.path.write_bytes(content)
    if mark.exists():
        ended = Ended(BROKEN, "code in a file was run", ended.seconds, ended.megabytes)
    return ended, outcomes
