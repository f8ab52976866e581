"""Small files that declare far more than they hold: refused within seconds, and without the
memory they ask for.
"""

import io
import json
import random
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet
import torch
from mutants import command
from network_bombs import PICKLED, SAFETENSORS
from trial import MOST_SECONDS, REFUSED, Ended, in_child

from algophase.core.errors import InputError
from algophase.storage import load


def many_rows(path: Path, draw: random.Random) -> None:
    table = pyarrow.table(
        {
            "x": pyarrow.nulls(
                draw.randint(8, 60) * 1_000_000, draw.choice([pyarrow.int8(), pyarrow.float64()])
            )
        }
    )
    pyarrow.parquet.write_table(table, path, compression="zstd")


def repeated_text(path: Path, draw: random.Random) -> None:
    count = draw.randint(1_000, 100_000)
    text = pyarrow.array(["y" * draw.randint(500_000, 3_000_000)])
    column = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * count, pyarrow.int32()), text)
    if draw.random() < 0.5:
        column = pyarrow.ListArray.from_arrays(pyarrow.array([0, count], pyarrow.int32()), column)
    pyarrow.parquet.write_table(pyarrow.table({"x": column}), path, compression="zstd")


def packed_zeros(path: Path, draw: random.Random) -> None:
    table = pyarrow.table({"x": [b"\0" * draw.randint(70, 120) * 1_000_000]})
    pyarrow.parquet.write_table(
        table, path, compression=draw.choice(["zstd", "gzip"]), write_statistics=False
    )


def holes(path: Path, draw: random.Random) -> None:
    with path.open("wb") as file:
        file.write(b"PAR1")
        file.truncate(draw.randint(2, 2000) << 30)


def packed_archive(path: Path, draw: random.Random) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("archive/version", "3\n")
        archive.writestr("archive/data/0", bytes(draw.randint(270, 320) * 1_000_000))


def expanded_tensor(path: Path, draw: random.Random) -> None:
    size = draw.randint(20_000, 200_000)
    shapes = {
        "embed.weight": (5, size),
        "unembed.weight": (5, size),
        "l1.weight": (size, size),
        "l1.bias": (size,),
    }
    torch.save({name: torch.zeros(1).expand(*shape) for name, shape in shapes.items()}, path)
    config = {"C": 5, "model_type": "A", "d_model": size, "d_hidden": size}
    path.with_name(f"config_{path.stem.removeprefix('model_')}.json").write_text(json.dumps(config))


def lying_header(path: Path, draw: random.Random) -> None:
    """A safetensors file whose header, or tensor, is longer than the file."""
    size = draw.choice([1 << 20, 1 << 40, (1 << 63) - 1])
    header = json.dumps(
        {"a": {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}}
    ).encode()
    told = draw.choice([len(header), size])
    path.write_bytes(struct.pack("<Q", told) + header)
    path.with_suffix(".json").write_text(
        json.dumps({"format": "algophase-network", "version": 1, "id": "x"})
    )


def lying_description(path: Path, draw: random.Random) -> None:
    """A network of a few bytes whose settings ask for terabytes."""
    content = io.BytesIO()
    torch.save({"embed.weight": torch.zeros(5, 8)}, content)
    path.write_bytes(content.getvalue())
    sizes = {
        "d_model": 10 ** draw.randint(5, 30),
        "n_layers": 10 ** draw.randint(0, 9),
        "n_heads": 4,
        "attn_coeff": 1,
        "C": 59,
    }
    path.with_name(f"config_{path.stem.removeprefix('model_')}.json").write_text(json.dumps(sizes))


BOMBS: list[tuple[Callable[[Path, random.Random], None], str]] = [
    (many_rows, "bomb.parquet"),
    (repeated_text, "bomb.parquet"),
    (packed_zeros, "bomb.parquet"),
    (holes, "bomb.parquet"),
    (holes, "model_bomb.pt"),
    (packed_archive, "model_bomb.pt"),
    (expanded_tensor, "model_bomb.pt"),
    (lying_header, "bomb.safetensors"),
    (lying_description, "model_bomb.pt"),
    *((make, "bomb.pt") for make in PICKLED),
    *((make, "bomb.safetensors") for make in SAFETENSORS),
]


def attack(place: Path, draw: random.Random, number: int) -> tuple[Ended, str | None]:
    place.mkdir(parents=True, exist_ok=True)
    make, name = BOMBS[number % len(BOMBS)]
    path = place / name
    path.with_name("config_bomb.json").write_text(
        '{"C": 5, "model_type": "A", "d_model": 8, "d_hidden": 8}'
    )
    made = in_child(lambda: make(path, draw))
    assert made.code == 0, made.said
    ended = in_child(
        lambda: command("runs", path) if name.endswith(".parquet") else _load(path),
        patience=MOST_SECONDS,
    )
    for left in (path, path.with_suffix(".json")):
        left.unlink(missing_ok=True)
    return (
        ended,
        None
        if ended.code == REFUSED
        else f"{make.__name__} was not refused: {ended.code} {ended.said[-300:]}",
    )


def _load(path: Path) -> None:
    load(path)
    raise AssertionError(InputError)
