"""Small network files that ask for gigabytes, or for ever: in their pickle, their records, their
shapes or their names.

Run as a program it reads the files named, one after the other, and prints what became of each and
the most memory so far.
"""

import hashlib
import io
import json
import random
import resource
import struct
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from algophase.core.errors import InputError
from algophase.storage import load

Make = Callable[[Path, random.Random], None]

STOP = b"."


def archive(
    path: Path, pickle: bytes, records: Sequence[bytes] = (), compression: int = zipfile.ZIP_STORED
) -> None:
    """A .pt file with this pickle."""
    with zipfile.ZipFile(path, "w", compression) as entries:
        entries.writestr("archive/data.pkl", b"\x80\x02" + pickle)
        entries.writestr("archive/version", "3\n")
        for number, record in enumerate(records):
            entries.writestr(f"archive/data/{number}", record)


def text(value: str) -> bytes:
    content = value.encode()
    return b"X" + struct.pack("<I", len(content)) + content


def integer(value: int) -> bytes:
    content = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(content)]) + content


def called(name: str, *arguments: bytes) -> bytes:
    module, _, function = name.rpartition(".")
    return f"c{module}\n{function}\n".encode() + b"(" + b"".join(arguments) + b"tR"


def storage(key: str, count: int, kind: str = "FloatStorage") -> bytes:
    words = [text("storage"), f"ctorch\n{kind}\n".encode(), text(key), text("cpu"), integer(count)]
    return b"(" + b"".join(words) + b"tQ"


def integers(values: Sequence[int]) -> bytes:
    return b"(" + b"".join(map(integer, values)) + b"t"


def tensor(key: str, count: int, shape: Sequence[int], strides: Sequence[int]) -> bytes:
    hooks = called("collections.OrderedDict")
    numbers = [storage(key, count), integer(0), integers(shape), integers(strides), b"\x89", hooks]
    return called("torch._utils._rebuild_tensor_v2", *numbers)


def mapping(**values: bytes) -> bytes:
    return b"}(" + b"".join(text(name) + value for name, value in values.items()) + b"u"


# The five of the issue


def asked_for_bytes(path: Path, draw: random.Random) -> None:
    archive(
        path, mapping(a=called("builtins.bytearray", integer(draw.randint(2, 9) * 10**9))) + STOP
    )


def empty_weights(path: Path, draw: random.Random) -> None:
    """W_Q without numbers, whose biases would have billions."""
    heads = draw.choice([3_200_000, 32_000])
    shapes = lens_shapes(4, 8, 1) | {"blocks.0.attn.W_Q": (heads, 0, 3_200_000_000 // heads)}
    safetensors_file(path, shapes)


def overlapping_records(path: Path, draw: random.Random) -> None:
    """Many records that are the same bytes of the file."""
    size, count = 4 * draw.randint(500_000, 1_000_000), 700
    pickle = (
        mapping(
            **{
                f"w{number}": tensor(str(number), size // 4, [size // 4], [1])
                for number in range(count)
            }
        )
        + STOP
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as entries:
        entries.writestr("archive/data.pkl", b"\x80\x02" + pickle)
        entries.writestr("archive/version", "3\n")
        entries.writestr("archive/data/0", bytes(size))
        first = entries.getinfo("archive/data/0")
        for number in range(1, count):
            info = zipfile.ZipInfo(f"archive/data/{number}")
            info.file_size = info.compress_size = size
            info.CRC, info.header_offset = first.CRC, first.header_offset
            entries.filelist.append(info)
            entries.NameToInfo[info.filename] = info
        entries._didModify = True  # type: ignore[attr-defined]
    path.write_bytes(buffer.getvalue())


def layers_on_one_storage(path: Path, draw: random.Random) -> None:
    width, layers = 512, draw.randint(150, 250)
    shared = torch.zeros(width * 4 * width)
    sizes = lens_shapes(4, width, layers)
    torch.save({name: shared[: _count(shape)].view(shape) for name, shape in sizes.items()}, path)


def layer_names(path: Path, draw: random.Random) -> None:
    layers = draw.randint(50_000, 100_000)
    shapes: dict[str, Sequence[int]] = dict(lens_shapes(4, 8, 1))
    shapes |= {f"blocks.{number}.attn.W_Q": (1,) for number in range(1, layers)}
    safetensors_file(path, shapes)


# Variants


def layer_names_pickled(path: Path, draw: random.Random) -> None:
    one = torch.zeros(1)
    tensors = {name: torch.zeros(shape) for name, shape in lens_shapes(4, 8, 1).items()}
    torch.save(tensors | {f"blocks.{number}.attn.W_Q": one for number in range(1, 20_000)}, path)


def wide_first_layer(path: Path, draw: random.Random) -> None:
    """One wide layer and many names: as many wide biases would be made."""
    shapes: dict[str, Sequence[int]] = dict(lens_shapes(4, 8, 1)) | {
        "blocks.0.mlp.W_in": (1, 1_000_000)
    }
    shapes |= {f"blocks.{number}.attn.W_Q": (1,) for number in range(1, 2000)}
    safetensors_file(path, shapes)


def asked_for_storage(path: Path, draw: random.Random) -> None:
    name = draw.choice(
        ["torch.FloatStorage", "torch.FloatTensor", "torch.storage.UntypedStorage", "torch.Tensor"]
    )
    archive(path, mapping(a=called(name, integer(10**10))) + STOP)


def converted_view(path: Path, draw: random.Random) -> None:
    """One number shown as billions, and converted to another type while it is unpickled."""
    view = tensor("0", 1, [4_000_000_000], [0])
    converted = called(
        "torch._utils._rebuild_device_tensor_from_cpu_tensor",
        view,
        b"ctorch\nfloat64\n",
        text("cpu"),
        b"\x89",
    )
    archive(path, mapping(a=converted) + STOP, [bytes(4)])


def key_of_tuples(path: Path, draw: random.Random) -> None:
    """A key whose hash takes 2^200 steps."""
    doubled = b")" + b"q\0h\0\x86" * 200
    pickle = (
        b"}" + doubled + b"K\1s"
        if draw.random() < 0.5
        else called("builtins.set", b"]" + doubled + b"a")
    )
    archive(path, pickle + STOP)


def shared_pairs(path: Path, draw: random.Random) -> None:
    """A pair of the same pair, 60 deep: as text it would be 2^60 long."""
    laughs = b")" + b"q\0h\0\x86" * 60
    archive(path, mapping(model=mapping(), config=mapping(fn_name=laughs)) + STOP)


def many_lists(path: Path, draw: random.Random) -> None:
    mark, values = draw.choice([(b"", b"]"), (b"", b"}"), (b"", b"("), (b"](", b"]"), (b"(", b"N")])
    archive(path, mark + values * 15_000_000 + STOP)


def memo_far_away(path: Path, draw: random.Random) -> None:
    archive(path, b"}" + b"r\xff\xff\xff\x7f" + b"r\xff\xff\xff\xff" + STOP)


def long_values(path: Path, draw: random.Random) -> None:
    """Operations that state a length: of a number, bytes, a text, a frame."""
    length = draw.choice([1 << 31, 1 << 33])
    operations = {
        b"\x8b": "<I",
        b"B": "<I",
        b"\x8e": "<Q",
        b"\x8d": "<Q",
        b"\x96": "<Q",
        b"\x95": "<Q",
        b"X": "<I",
        b"T": "<I",
    }
    operation, form = draw.choice(sorted(operations.items()))
    stated = min(length, 0x7FFFFFFF if form == "<I" else length)
    archive(path, operation + struct.pack(form, stated) + b"x" * 1000 + STOP)


def long_text(path: Path, draw: random.Random) -> None:
    """A text of one astral character and millions of others, packed."""
    archive(
        path,
        mapping(a=text("\U0001d54f" + "x" * 100_000_000)) + STOP,
        compression=zipfile.ZIP_DEFLATED,
    )


def deep_values(path: Path, draw: random.Random) -> None:
    archive(path, b")" + b"\x85" * draw.choice([1000, 1_000_000]) + STOP)


def list_in_itself(path: Path, draw: random.Random) -> None:
    archive(path, mapping(a=b"]q\0h\0a") + STOP)


def record_too_short(path: Path, draw: random.Random) -> None:
    """A record of 4 bytes that should have billions."""
    count = draw.choice([1000, 4_000_000_000])
    archive(path, mapping(W_x=tensor("0", count, [count], [1])) + STOP, [bytes(4)])


def strided_view(path: Path, draw: random.Random) -> None:
    size = 60_000
    archive(
        path, mapping(W_x=tensor("0", 2 * size, [size, size], [1, 1])) + STOP, [bytes(8 * size)]
    )


def many_records(path: Path, draw: random.Random) -> None:
    """A directory of a million records."""
    with zipfile.ZipFile(path, "w") as entries:
        entries.writestr("archive/data.pkl", b"\x80\x02}.")
        first = entries.getinfo("archive/data.pkl")
        for number in range(200_000):
            info = zipfile.ZipInfo(f"archive/data/{number}")
            info.CRC, info.header_offset = first.CRC, first.header_offset
            entries.filelist.append(info)


def packed_unusually(path: Path, draw: random.Random) -> None:
    archive(
        path, mapping() + STOP, [bytes(1000)], draw.choice([zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    )


def old_format(path: Path, draw: random.Random) -> None:
    """From before PyTorch 1.6: no archive, and a storage is allocated before its numbers are
    read.
    """
    saved = io.BytesIO()
    torch.save({"a": torch.zeros(70_000)}, saved, _use_new_zipfile_serialization=False)
    honest = b"J" + struct.pack("<i", 70_000)
    assert honest in saved.getvalue()
    path.write_bytes(saved.getvalue().replace(honest, b"J" + struct.pack("<i", 0x7FFFFFFF)))


def old_pickle(path: Path, draw: random.Random) -> None:
    path.write_bytes(b"\x80\x02" + called("builtins.bytearray", integer(4 * 10**9)) + STOP)


def old_tar(path: Path, draw: random.Random) -> None:
    header = bytearray(512)
    header[:8], header[124:136], header[257:265] = b"storages", b"77777777777\0", b"ustar\x0000"
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    path.write_bytes(bytes(header) + bytes(1024))


def hole(path: Path, draw: random.Random) -> None:
    """A file of a gigabyte without content."""
    with path.open("wb") as file:
        file.write(draw.choice([b"PK\x03\x04", b"c", b"", b"\x80\x02X\xff\xff\xff\x3f"]))
        file.truncate((1 << 30) - 8)


def hole_described(path: Path, draw: random.Random) -> None:
    with path.open("wb") as file:
        file.truncate((1 << 30) - 8)
    describe(path, {"kind": "clock", "frequencies": [1]}, checksum="0" * 64)


def long_description(path: Path, draw: random.Random) -> None:
    safetensors_file(path, {"embed.W_E": (5, 8)})
    path.with_suffix(".json").write_text("[" + "[]," * 30_000_000 + "[]]")


def described_layers(path: Path, draw: random.Random) -> None:
    """A description of a million layers, for each kind of network that has layers."""
    safetensors_file(path, {"embed.W_E": (5, 8)})
    lens = {"kind": "lens", "width": 8, "layers": 10**6, "heads": 2, "head_size": 4, "hidden": 8}
    plain = {"kind": "transformer", "width": 8, "layers": 10**6, "heads": 4}
    describe(path, draw.choice([lens, plain]))


def many_numbers(path: Path, draw: random.Random) -> None:
    """An MLP of a few hidden units on so many numbers that one row of its logits fills the
    memory.
    """
    p = draw.randint(20_000, 40_000)
    safetensors_file(path, {"mlp.W_in": (2, p), "mlp.W_out": (p, 2)})


def described_nothing(path: Path, draw: random.Random) -> None:
    """A function of a million numbers with no logits."""
    safetensors_file(path, {"logits": (10**6, 10**6, 0)})
    wrapped = {
        "kind": "wrapped",
        "architecture": "x",
        "cut": "none",
        "width": 0,
        "own_tables": False,
        "outputs": 0,
    }
    describe(path, wrapped, modulus=10**6)


def describe(path: Path, network: dict[str, object], modulus: int = 5, checksum: str = "") -> None:
    """A description beside a file, as ours is."""
    description = {
        "format": "algophase-network",
        "version": 1,
        "id": "x",
        "task": {"modulus": modulus},
        "network": network,
    }
    description["tensors_sha256"] = checksum or hashlib.sha256(path.read_bytes()).hexdigest()
    path.with_suffix(".json").write_text(json.dumps(description))


def lens_shapes(p: int, width: int, layers: int) -> dict[str, Sequence[int]]:
    """Shapes of a TransformerLens state dict of one head."""
    shapes: dict[str, Sequence[int]] = {"embed.W_E": (p + 1, width), "pos_embed.W_pos": (3, width)}
    shapes |= {"unembed.W_U": (width, p), "unembed.b_U": (p,)}
    for layer in range(layers):
        for name in "QKV":
            shapes[f"blocks.{layer}.attn.W_{name}"] = (1, width, width)
        shapes[f"blocks.{layer}.attn.W_O"] = (1, width, width)
        shapes[f"blocks.{layer}.mlp.W_in"] = (width, 4 * width)
        shapes[f"blocks.{layer}.mlp.W_out"] = (4 * width, width)
    return shapes


def _count(shape: Sequence[int]) -> int:
    count = 1
    for length in shape:
        count *= length
    return count


def safetensors_file(path: Path, shapes: dict[str, Sequence[int]]) -> None:
    """Zeros of these shapes."""
    header, end = dict[str, object](), 0
    for name, shape in shapes.items():
        size = 4 * _count(shape)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [end, end + size]}
        end += size
    content = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(content)) + content + bytes(end))


PICKLED: list[Make] = [
    asked_for_bytes,
    overlapping_records,
    layers_on_one_storage,
    layer_names_pickled,
    asked_for_storage,
    converted_view,
    key_of_tuples,
    shared_pairs,
    many_lists,
    memo_far_away,
    long_values,
    long_text,
    deep_values,
    list_in_itself,
    record_too_short,
    strided_view,
    many_records,
    packed_unusually,
    old_format,
    old_pickle,
    old_tar,
    hole,
]
SAFETENSORS: list[Make] = [
    empty_weights,
    layer_names,
    wide_first_layer,
    hole_described,
    long_description,
    described_layers,
    described_nothing,
    many_numbers,
]


def outcome(path: Path) -> str:
    try:
        return f"read as {load(path).id}"
    except InputError as error:
        return f"refused: {error}"


def peak_megabytes() -> float:
    """The most memory that this program has had. Linux counts what its parent had into
    `ru_maxrss`.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)  # macOS counts in bytes


def main() -> None:
    for name in sys.argv[1:]:
        became = outcome(Path(name))
        print(json.dumps([Path(name).name, became, peak_megabytes()]), flush=True)


if __name__ == "__main__":
    main()
