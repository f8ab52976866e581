"""The reader of .pt files gives what torch gives, calls nothing, and refuses what asks for more
than it holds.
"""

import collections
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from network_bombs import archive, called, integer, mapping, tensor
from torch import Tensor

from algophase.core.errors import InputError
from algophase.storage.formats import pickles
from algophase.storage.formats.pickles import read_pickled

NUMBERS = torch.arange(20.0)
TYPES = [
    *(torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16),
    *(torch.int8, torch.uint8, torch.bool, torch.complex64, torch.complex128),
]
PLAIN = {
    "epoch": 3,
    "large": 10**30,
    "negative": -5,
    "loss": 1e300,
    "none": None,
    "flags": (True, False),
    "text": "\u00e9\U0001d54f",
    "losses": [float(number) for number in range(1000)],
    "shape": torch.Size([1, 2]),
    "type": torch.float16,
    "counts": collections.Counter("aab"),
    "complex": 1 + 2j,
    1: "a number as a key",
}
FILES: dict[str, Any] = {
    "state dict": torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)).state_dict(),
    "plain": PLAIN,
    "types": {str(kind): torch.arange(3).to(kind) for kind in TYPES},
    "views": {
        "slice": NUMBERS[3:7],
        "turned": NUMBERS.view(4, 5).T,
        "stepped": NUMBERS[::2],
        "one": NUMBERS[4],
    },
    "parameters": {
        "p": torch.nn.Parameter(torch.ones(2)),
        "ordered": collections.OrderedDict(a=torch.ones(2), b=1),
    },
    "nested": {
        "model": {"a": torch.ones(2)},
        "states": [{"a": torch.zeros(2)}, {"a": torch.ones(2)}],
    },
}


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, Tensor):
        alike = ours.dtype == theirs.dtype and ours.stride() == theirs.stride()
        return alike and torch.equal(ours, theirs.detach())
    if isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(same(ours[name], theirs[name]) for name in theirs)
    if isinstance(theirs, list | tuple):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return bool(ours == theirs)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("is_archive", [True, False])
def test_it_reads_what_torch_reads(tmp_path: Path, name: str, is_archive: bool) -> None:
    path = tmp_path / "x.pt"
    torch.save(FILES[name], path, _use_new_zipfile_serialization=is_archive)
    assert same(read_pickled(path), torch.load(path, weights_only=True))


def test_the_files_of_others_are_read_as_torch_reads_them(foreign: Path) -> None:
    files = [*foreign.rglob("*.pt"), *foreign.rglob("*.pth")]
    assert files
    for path in files:
        assert same(read_pickled(path), torch.load(path, weights_only=True, map_location="cpu")), (
            path
        )


VIEW = tensor("0", 1, [1], [1])


@pytest.mark.parametrize(
    ("pickle", "message"),
    [
        (
            called("os.system", b"X\x02\0\0\0ls"),
            r"holds code beside its tensors \(os.system\): refused, nothing in it was run",
        ),
        (called("torch.FloatStorage", integer(10**10)), "holds code"),
        (
            called("builtins.bytearray", integer(10**10)),
            "it asks for 10,000,000,000 bytes that it does not hold",
        ),
        (mapping(w=tensor("0", 10, [10], [1])), "record '0' should have 40 bytes and has 4"),
        (mapping(w=tensor("9", 1, [1], [1])), "no item named"),
        (
            mapping(w=tensor("0", 1, [10**9], [0])),
            "tensor w has 1,000,000,000 numbers, of which the file holds 1",
        ),
        (mapping(a=VIEW, b=tensor("0", 2, [1], [1])), "record '0' is said to be of two sizes"),
        (b"})K\x01s", "a key of a mapping is a tuple"),
        (b")" + b"\x85" * 200, "nested more than 100 deep"),
        (b")" + b"q\0h\0\x86" * 60, "it shows more than 2,000,000 values"),
        (b"h\x07", "it takes a value that is not there"),
        (b"", "IndexError"),
        (b"\x8c\x01x", "a pickle with SHORT_BINUNICODE"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, pickle: bytes, message: str) -> None:
    archive(tmp_path / "x.pt", pickle + b".", [bytes(4)])
    with pytest.raises(InputError, match=message):
        read_pickled(tmp_path / "x.pt")


def test_a_long_pickle_is_not_followed_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pickles, "MOST_OPERATIONS", 1000)
    archive(tmp_path / "x.pt", b"]" * 2000 + b".")
    with pytest.raises(InputError, match="more than 1,000 operations"):
        read_pickled(tmp_path / "x.pt")


def test_a_changed_number_is_noticed(tmp_path: Path) -> None:
    """An archive has a checksum of each record."""
    path = tmp_path / "x.pt"
    torch.save({"a": torch.full((50,), 7.0)}, path)
    with zipfile.ZipFile(path) as entries:
        start = path.read_bytes().index(torch.full((50,), 7.0).numpy().tobytes())
        assert entries.namelist()
    content = bytearray(path.read_bytes())
    content[start + 3] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="Bad CRC-32"):
        read_pickled(path)
