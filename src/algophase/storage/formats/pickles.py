"""What a .pt file holds, without running anything in it and without trusting the sizes it states.

`torch.load(weights_only=True)` runs no code, but it allocates what a file asks for: 400 bytes can
ask for gigabytes, or for a hash that takes for ever. This reader interprets the few operations of a
pickle that a state dict needs. Nothing is called by
name: a tensor becomes a `View` of a record, and numbers are read when all is known to fit.
"""

import io
import math
import pickletools
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import torch
from torch import Tensor

from algophase.core.errors import InputError, one_line
from algophase.core.wording import printable
from algophase.storage._mistaken import check_no_text
from algophase.storage.files import size_of

LARGEST_UNPACKED = (
    1 << 28
)  # bytes of compressed records; what is stored as it is is bounded by the file's own size
LARGEST_PICKLE = (
    1 << 24
)  # bytes that say which tensors there are: about 100 per tensor, 9 per recorded loss
LARGEST_READ = (
    1 << 22
)  # bytes that are read from an archive at once: its whole directory, or a piece of a record
MOST_OPERATIONS = 2_000_000  # of a pickle; a state dict has about 40 per tensor
MOST_VALUES = 2_000_000  # in a file, each counted as often as it is shown
DEEPEST = 100  # containers inside one another
MAGIC, PROTOCOL = (
    0x1950A86A20F9469CFC6C,
    1001,
)  # of files from before PyTorch 1.6, which are no archives

PICKLE = b"\x80"  # how one begins
HOLDS_CODE = "holds code beside its tensors{}: refused, nothing in it was run"
LONGEST_NAME = 60  # letters of a name in a message

STORAGES = {
    "DoubleStorage": torch.float64,
    "FloatStorage": torch.float32,
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "LongStorage": torch.int64,
    "IntStorage": torch.int32,
    "ShortStorage": torch.int16,
    "CharStorage": torch.int8,
    "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool,
    "ComplexFloatStorage": torch.complex64,
    "ComplexDoubleStorage": torch.complex128,
}


class Corrupt(Exception):
    """The file is not what it says it is. The message says why."""


class Refused(Exception):
    """The file holds more than tensors, numbers and text. The message says what, after the file's
    name.
    """


class UnusableTensor(InputError):
    """A tensor that cannot be read. The message names it."""


@dataclass(frozen=True)
class Storage:
    """A record of numbers. count: how many of dtype the pickle says it has."""

    key: str
    dtype: torch.dtype
    count: int


@dataclass(frozen=True)
class View:
    """A tensor: some numbers of a record."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype


@dataclass(frozen=True)
class Unusual:
    """A tensor that is not dense. why: what to say of it."""

    why: str


@dataclass(frozen=True)
class Global:
    """A function or type that a pickle names. call: what stands for a call of it; none is ever
    made.
    """

    name: str
    call: Callable[..., Any]


def _integers(values: object) -> tuple[int, ...]:
    if not isinstance(values, tuple | list) or not all(type(value) is int for value in values):
        raise Corrupt("a shape is not made of integers")
    return tuple(values)


def _view(
    storage: object, offset: object, shape: object, strides: object, *rest: object
) -> View | Unusual:
    """_rebuild_tensor_v2(storage, offset, size, stride, requires_grad, backward_hooks, metadata)"""
    if not isinstance(storage, Storage) or type(offset) is not int:
        raise Corrupt("a tensor has no storage")
    if len(rest) > 2 and rest[2]:
        return Unusual("is stored as conjugated or negated numbers")
    return View(storage, offset, _integers(shape), _integers(strides), storage.dtype)


def _view_of_bytes(
    storage: object,
    offset: object,
    shape: object,
    strides: object,
    grad: object,
    hooks: object,
    dtype: object,
    *rest: object,
) -> View | Unusual:
    """_rebuild_tensor_v3: the storage is of bytes, and the type is the tensor's."""
    view = _view(storage, offset, shape, strides, grad, hooks, *rest)
    if not isinstance(dtype, torch.dtype):
        raise Corrupt("a tensor has no type")
    return (
        View(view.storage, view.offset, view.shape, view.strides, dtype)
        if isinstance(view, View)
        else view
    )


def _typed(function: object, kind: object, arguments: object, state: object) -> Any:
    """_rebuild_from_type_v2: a tensor with attributes of its own, which are left out."""
    if not isinstance(function, Global) or not isinstance(arguments, tuple):
        raise Corrupt("a tensor has no function that builds it")
    return function.call(*arguments)


def _mapping(pairs: object = ()) -> dict[Any, Any]:
    mapping = dict[Any, Any]()
    items = list(pairs.items()) if isinstance(pairs, dict) else pairs
    if not isinstance(items, tuple | list):
        raise Corrupt("a mapping is not made of pairs")
    for pair in items:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise Corrupt("a mapping is not made of pairs")
        _put(mapping, *pair)
    return mapping


def _put(mapping: dict[Any, Any], key: object, value: object) -> None:
    # Anything else may take forever to hash: tuples of the same two tuples, 60 deep.
    if not isinstance(key, str | bytes | int | float | None):
        raise Corrupt(f"a key of a mapping is a {type(key).__name__}")
    mapping[key] = value


def _bytearray(content: object = "", encoding: object = "") -> object:
    if isinstance(content, int):
        raise Corrupt(f"it asks for {content:,} bytes that it does not hold")
    return content


def _complex(real: object = 0.0, imaginary: object = 0.0) -> complex:
    if not isinstance(real, int | float) or not isinstance(imaginary, int | float):
        raise Corrupt("a complex number is not made of numbers")
    return complex(real, imaginary)


def _unusual(why: str) -> Callable[..., Unusual]:
    return lambda *arguments: Unusual(why)


def _sparse(layout: object, *rest: object) -> Unusual:
    name = layout.removeprefix("torch.") if isinstance(layout, str) else "sparse"
    return Unusual(f"is {name[:40]}; it must be an ordinary dense tensor")


def _never(*arguments: object) -> Any:
    raise Corrupt("a type is called as a function")


CALLS: dict[str, Callable[..., Any]] = {
    "collections.OrderedDict": _mapping,
    "collections.Counter": _mapping,
    "builtins.set": lambda values=(): values,
    "builtins.bytearray": _bytearray,
    "builtins.complex": _complex,
    "_codecs.encode": lambda text, encoding="": text,
    "torch.Size": _integers,
    "torch.device": lambda *name: name,
    "torch.serialization._get_layout": lambda name: name,
    "torch.nn.parameter.Parameter": lambda data, *rest: data,
    "torch._utils._rebuild_parameter": lambda data, *rest: data,
    "torch._utils._rebuild_parameter_with_state": lambda data, *rest: data,
    "torch._utils._rebuild_tensor": _view,
    "torch._utils._rebuild_tensor_v2": _view,
    "torch._utils._rebuild_tensor_v3": _view_of_bytes,
    "torch._tensor._rebuild_from_type_v2": _typed,
    "torch._utils._rebuild_sparse_tensor": _sparse,
    "torch._utils._rebuild_nested_tensor": _unusual(
        "is nested; it must be an ordinary dense tensor"
    ),
    "torch._utils._rebuild_qtensor": _unusual("is quantized; it must be an ordinary dense tensor"),
    "torch._utils._rebuild_meta_tensor_no_storage": _unusual(
        "is on device meta: it has a shape but no numbers"
    ),
    "torch.Tensor": _never,
}


def _named(text: str) -> object:
    """What a pickle names. Whatever is not in the tables above may be code."""
    module, _, name = text.partition(" ")
    full = f"{'builtins' if module == '__builtin__' else module}.{name}"
    if full in CALLS:
        return Global(full, CALLS[full])
    if module in ("torch", "torch.cuda") and name in STORAGES:
        return STORAGES[name]
    if full == "torch.storage.UntypedStorage":
        return torch.uint8
    dtype = getattr(torch, name, None) if module == "torch" else None
    if isinstance(dtype, torch.dtype):
        return dtype
    raise Refused(HOLDS_CODE.format(f" ({printable(full)[:LONGEST_NAME]})"))


def _storage(saved: object) -> Storage:
    """('storage', type, key, location, count), and from before PyTorch 1.6 also None or which
    part of it is meant.
    """
    if not isinstance(saved, tuple) or len(saved) not in (5, 6) or saved[0] != "storage":
        raise Corrupt("a record is not named as torch names it")
    _, dtype, key, _, count, *part = saved
    if (
        not isinstance(dtype, torch.dtype)
        or not isinstance(key, str)
        or type(count) is not int
        or count < 0
    ):
        raise Corrupt("a record is not named as torch names it")
    if any(value is not None for value in part):
        raise Corrupt("a record is a part of another one")
    return Storage(key, dtype, count)


class Machine:
    """Interprets one pickle. Values are Python's own, `View`, `Unusual`, `Global` and
    torch's types of numbers.
    """

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marked: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.storages: dict[str, Storage] = {}

    def run(self, stream: io.BytesIO) -> Any:
        for count, (operation, argument, _) in enumerate(pickletools.genops(stream)):
            if count >= MOST_OPERATIONS:
                raise Corrupt(f"it has more than {MOST_OPERATIONS:,} operations")
            if operation.name == "STOP":
                return self.stack.pop()
            self.step(operation.name, argument)
        raise Corrupt("it has no end")

    def step(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in ARGUMENTS:
            stack.append(argument)
        elif name in CONSTANTS:
            stack.append(CONSTANTS[name])
        elif name in EMPTY:
            stack.append(EMPTY[name]())
        elif name == "GLOBAL":
            stack.append(_named(argument))
        elif name in ("BINPUT", "LONG_BINPUT"):
            self.memo[argument] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            if argument not in self.memo:
                raise Corrupt("it takes a value that is not there")
            stack.append(self.memo[argument])
        elif name == "MARK":
            self.marked.append(stack)
            self.stack = []
        elif name in TUPLES:
            size = TUPLES[name]
            values = tuple(stack[-size:])
            if len(values) < size:
                raise Corrupt("it takes values that are not there")
            stack[-size:] = [values]
        elif name == "TUPLE":
            values = tuple(self.pop_marked())
            self.stack.append(values)
        elif name in ("APPEND", "APPENDS"):
            items = self.pop_marked() if name == "APPENDS" else [stack.pop()]
            self.last(list).extend(items)
        elif name in ("SETITEM", "SETITEMS"):
            items = self.pop_marked() if name == "SETITEMS" else [stack.pop(-2), stack.pop()]
            mapping = self.last(dict)
            for key, value in zip(items[::2], items[1::2], strict=True):
                _put(mapping, key, value)
        elif name == "BINPERSID":
            storage = _storage(stack.pop())
            if self.storages.setdefault(storage.key, storage) != storage:
                raise Corrupt(f"record {storage.key[:40]!r} is said to be of two sizes")
            stack.append(storage)
        elif name in ("REDUCE", "NEWOBJ"):
            arguments = stack.pop()
            function = stack.pop()
            if not isinstance(function, Global) or not isinstance(arguments, tuple):
                raise Refused(HOLDS_CODE.format(""))
            stack.append(function.call(*arguments))
        elif name == "BUILD":
            stack.pop()  # attributes, such as the versions that a state dict has of its modules
            if not isinstance(stack[-1], dict | View | Unusual):
                raise Refused(HOLDS_CODE.format(""))
        elif name != "PROTO":
            raise Refused(
                f"is not a readable .pt file of tensors (a pickle with {name}): refused, "
                "nothing in it was run"
            )

    def pop_marked(self) -> list[Any]:
        items = self.stack
        self.stack = self.marked.pop()
        return items

    def last(self, kind: type) -> Any:
        value = self.stack[-1]
        if type(value) is not kind:
            raise Corrupt(f"it puts values into a {type(value).__name__}")
        return value


ARGUMENTS = {"BININT", "BININT1", "BININT2", "BINFLOAT", "BINUNICODE", "SHORT_BINSTRING", "LONG1"}
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
EMPTY: dict[str, Callable[[], Any]] = {
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_SET": list,
}
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class Builder:
    """Puts tensors in place of views, with the numbers of their records. read: a record's bytes,
    whose size is known to fit.
    """

    def __init__(self, read: Callable[[Storage], Tensor]) -> None:
        self.read = read
        self.records: dict[str, Tensor] = {}
        self.tensors: dict[int, Tensor] = {}
        self.count = 0

    def build(self, value: Any, name: str, depth: int = 0) -> Any:
        """A copy of a value with tensors in it. name: of the tensor, for messages."""
        self.count += 1
        if self.count > MOST_VALUES:  # one list of ten, ten times in another one, ...
            raise Corrupt(f"it shows more than {MOST_VALUES:,} values")
        if depth > DEEPEST:
            raise Corrupt(f"its values are nested more than {DEEPEST} deep")
        if isinstance(value, dict):
            return {key: self.build(inner, str(key), depth + 1) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.build(inner, name, depth + 1) for inner in value]
        if isinstance(value, tuple):
            return tuple(self.build(inner, name, depth + 1) for inner in value)
        if isinstance(value, View):
            if id(value) not in self.tensors:
                self.tensors[id(value)] = self.tensor(value, name)
            return self.tensors[id(value)]
        if isinstance(value, Unusual):
            raise UnusableTensor(f"tensor {name} {value.why}")
        return None if isinstance(value, Global | Storage) else value

    def tensor(self, view: View, name: str) -> Tensor:
        key = view.storage.key
        if key not in self.records:
            self.records[key] = self.read(view.storage)
        record = self.records[key]
        available = len(record) // view.dtype.itemsize
        asked = math.prod(view.shape)
        if asked > available:  # one number, shown as many: a small file could fill the memory
            raise UnusableTensor(
                f"tensor {name} has {asked:,} numbers, of which the file holds {available:,}"
            )
        numbers = record[: available * view.dtype.itemsize].view(view.dtype)
        return numbers.as_strided(view.shape, view.strides, view.offset)


class _Archive(io.FileIO):
    """A file of which little is read at once: an archive with a huge directory of records is
    refused before it is read.
    """

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > LARGEST_READ:
            raise Corrupt(
                f"its directory of records has {size:,} bytes; at most {LARGEST_READ:,} are read"
            )
        return super().read(size) or b""


def _bytes_of(source: IO[bytes], size: int) -> Tensor:
    """The next bytes of a file as a tensor, read in pieces."""
    content = torch.empty(size, dtype=torch.uint8)
    target = content.numpy().data
    end = 0
    while end < size:
        piece = source.read(min(size - end, LARGEST_READ))
        if not piece:
            raise Corrupt("a record is cut short")
        target[end : end + len(piece)] = piece
        end += len(piece)
    return content


def _read_archive(file: IO[bytes], size: int) -> Any:
    with _Archive(file.fileno(), closefd=False) as bounded, zipfile.ZipFile(bounded) as archive:
        entries = archive.infolist()
        _check_records(entries, size)
        pickles = [
            entry
            for entry in entries
            if entry.filename.count("/") == 1 and entry.filename.endswith("/data.pkl")
        ]
        if len(pickles) != 1:
            raise Corrupt("it does not have one record data.pkl")
        if pickles[0].file_size > LARGEST_PICKLE:
            raise Corrupt(
                f"its pickle has {pickles[0].file_size:,} bytes; at most {LARGEST_PICKLE:,} are "
                "read"
            )
        top = pickles[0].filename.removesuffix("data.pkl")
        if (
            f"{top}byteorder" in archive.NameToInfo
            and archive.read(f"{top}byteorder")[:6] == b"big"
        ):
            raise Corrupt("its numbers are big-endian")

        def unpacked(entry: zipfile.ZipInfo) -> Tensor:
            with archive.open(entry) as record:
                content = _bytes_of(record, entry.file_size)
                record.read(1)  # to its end, where its checksum is compared
            return content

        def read(storage: Storage) -> Tensor:
            entry = archive.getinfo(f"{top}data/{storage.key}")
            _check_record(storage, entry.file_size)
            return unpacked(entry)

        values = Machine().run(io.BytesIO(unpacked(pickles[0]).numpy().tobytes()))
        return Builder(read).build(values, "")


def _check_records(entries: list[zipfile.ZipInfo], size: int) -> None:
    """That an archive does not unpack to more than it is. Records may be said to overlap, and
    torch does not compress.
    """
    unpacked = 0
    stored = 0
    for entry in entries:
        if entry.compress_type == zipfile.ZIP_STORED:
            stored += entry.file_size
        elif entry.compress_type == zipfile.ZIP_DEFLATED:
            unpacked += entry.file_size
        else:
            raise Corrupt(f"record {entry.filename[:40]!r} is compressed in an unusual way")
    if stored > size:
        raise Corrupt(f"its records have {stored:,} bytes in all, and the file has {size:,}")
    if unpacked > LARGEST_UNPACKED:
        raise Corrupt(
            f"it declares {unpacked:,} bytes of compressed records; at most "
            f"{LARGEST_UNPACKED:,} are unpacked"
        )


def _check_record(storage: Storage, size: int) -> None:
    asked = storage.count * storage.dtype.itemsize
    if asked != size:
        raise Corrupt(f"record {storage.key[:40]!r} should have {asked:,} bytes and has {size:,}")


def _read_old(file: IO[bytes]) -> Any:
    """A file from before PyTorch 1.6: five pickles, then the records in the order of their keys."""
    stream = io.BytesIO(file.read(LARGEST_PICKLE))
    is_pickle = stream.getvalue()[:1] == PICKLE
    if not is_pickle or Machine().run(stream) != MAGIC or Machine().run(stream) != PROTOCOL:
        raise Corrupt("it is neither an archive nor an old file of torch")
    Machine().run(stream)  # which machine wrote it
    machine = Machine()
    values = machine.run(stream)
    storages = machine.storages
    keys = Machine().run(stream)
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise Corrupt("its records have no keys")
    starts = dict[str, int]()
    position = stream.tell()
    for key in keys:
        if key not in storages:
            raise Corrupt(f"no tensor is of record {key[:40]!r}")
        file.seek(position)
        (count,) = struct.unpack("<q", file.read(8))
        if count != storages[key].count:
            raise Corrupt(
                f"record {key[:40]!r} should have {storages[key].count:,} numbers and has {count:,}"
            )
        starts[key] = position + 8
        position = starts[key] + count * storages[key].dtype.itemsize
    if position > file.seek(0, io.SEEK_END):
        raise Corrupt("its records are cut short")

    def read(storage: Storage) -> Tensor:
        file.seek(starts[storage.key])
        size = storage.count * storage.dtype.itemsize
        return _bytes_of(file, size)

    return Builder(read).build(values, "")


def read_pickled(path: Path) -> Any:
    """What a .pt file holds: numbers, text and tensors. An InputError in one line where it cannot
    be used.
    """
    size = size_of(path)
    try:
        if size == 0:
            raise Corrupt("it is empty")
        with path.open("rb") as file:
            check_no_text(path, file)
            is_archive = file.read(4) == b"PK\x03\x04"
            file.seek(0)
            return _read_archive(file, size) if is_archive else _read_old(file)
    except UnusableTensor as error:
        raise InputError(f"{path}: {error}") from None
    except InputError:
        raise
    except Refused as error:
        raise InputError(f"{path} {error}") from None
    except PermissionError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except Corrupt as error:
        raise InputError(
            f"{path} is not a readable .pt file (truncated or corrupt): {error}"
        ) from None
    except zipfile.BadZipFile as error:
        no_end = str(error) == "File is not a zip file"
        why = "its end is missing" if no_end else one_line(error)
        raise InputError(
            f"{path} is not a readable .pt file (truncated or corrupt): {why}"
        ) from None
    except Exception as error:  # zipfile and pickletools raise many kinds for a broken file
        raise InputError(
            f"{path} is not a readable .pt file (truncated or corrupt): {one_line(error)}"
        ) from None
