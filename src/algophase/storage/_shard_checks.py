"""What a Parquet file may hold to be read as runs: no more than its size can, and columns of the
types that are expected.
"""

import functools
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from algophase.core.errors import InputError
from algophase.core.settings import (
    TRAINING_CHOICES,
    LinearSettings,
    TaskSettings,
    TrainingSettings,
    TransformerSettings,
    shown,
)
from algophase.training.run.trained import CURVES

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

# A sweep's shard has 0.2 values per byte and unpacks to 1.5 times its size. Far beyond that, a file
# could fill the memory.
VALUES_PER_BYTE, UNPACKED = 4, 32
ALWAYS = 1 << 20  # values, and 64 bytes of each: no file is refused for less
LARGEST_TEXT = 1 << 28  # bytes of text in a file, written out
# By the names of columns. The types of these values are the columns'.
DEFAULT_SETTINGS: dict[str, Any] = {
    **TaskSettings().to_dict(),
    **TransformerSettings().to_dict(),
    **LinearSettings().to_dict(),
    **TrainingSettings().to_dict(),
    **{name: getattr(TrainingSettings(), name) for name in TRAINING_CHOICES},
}


def check_declared(
    file: "pyarrow.parquet.ParquetFile", content: "pyarrow.Buffer", path: Path
) -> None:
    """That a file does not unpack to far more than it is. What it declares is looked at, and
    nothing is read yet.
    """
    data = file.metadata
    size = len(content)
    groups = [data.row_group(number) for number in range(data.num_row_groups)]
    chunks = [group.column(number) for group in groups for number in range(group.num_columns)]
    values = max(
        sum(chunk.num_values for chunk in chunks), data.num_rows
    )  # a file without columns has rows too
    unpacked = sum(chunk.total_uncompressed_size for chunk in chunks)
    if values > max(ALWAYS, VALUES_PER_BYTE * size):
        raise InputError(f"{path} declares {values:,} values in {size:,} bytes: it is not read")
    if unpacked > max(64 * ALWAYS, UNPACKED * size):
        raise InputError(
            f"{path} declares {unpacked:,} bytes, packed into {size:,}: it is not read"
        )
    texts = [chunk for chunk in chunks if chunk.physical_type.endswith("BYTE_ARRAY")]
    # A text that is repeated is stored once. Where it could become too much when it is written out,
    # it is counted.
    if sum(chunk.num_values * chunk.total_uncompressed_size for chunk in texts) > LARGEST_TEXT:
        length = _length_of_text(content, sorted({chunk.path_in_schema for chunk in texts}))
        if length > max(LARGEST_TEXT, size):  # a table of 200,000 runs holds 0.27 GB of it
            raise InputError(
                f"{path} holds {length:,} bytes of text, packed into {size:,}: it is not read"
            )


def _length_of_text(content: "pyarrow.Buffer", columns: list[str]) -> int:
    """Bytes of all texts in these columns, each as often as it is there, without writing them
    out.
    """
    import pyarrow
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(content), read_dictionary=columns)
    # Group by group: pyarrow reads no lists of repeated texts from several groups at once.
    return sum(
        _length_in_table(file.read_row_group(group, columns=columns))
        for group in range(file.num_row_groups)
    )


def _length_in_table(table: "pyarrow.Table") -> int:
    import pyarrow
    import pyarrow.compute

    waiting = [chunk for column in table.columns for chunk in column.chunks]
    total = 0
    while waiting:
        array = waiting.pop()
        if isinstance(array, pyarrow.DictionaryArray):
            lengths = pyarrow.compute.binary_length(array.dictionary)
            total += (
                pyarrow.compute.sum(lengths.take(array.indices).cast(pyarrow.int64())).as_py() or 0
            )
        elif pyarrow.types.is_struct(array.type):
            waiting += array.flatten()
        elif pyarrow.types.is_nested(array.type):
            waiting.append(array.values)
    return total


def check_types(table: "pyarrow.Table", path: Path) -> "pyarrow.Table":
    """Known columns hold single values, numbers where those are expected. Other columns may hold
    anything.
    """
    import pyarrow

    twice = [name for name, count in Counter(table.column_names).items() if count > 1]
    if twice:
        raise InputError(f"{path} has several columns {shown(twice[0])}")
    texts, numbers, types = *known_columns(), pyarrow.types
    for index, field in enumerate(table.schema):
        kind = field.type.value_type if types.is_dictionary(field.type) else field.type
        if types.is_null(kind) or field.name not in texts | numbers:
            continue
        is_number = (
            types.is_integer(kind)
            or types.is_boolean(kind)
            or kind in (pyarrow.float32(), pyarrow.float64())
        )
        target = kind
        fits = is_number
        if types.is_floating(kind) or types.is_decimal(kind):
            target = pyarrow.float64() if not is_number else kind
            fits = True
        elif field.name in texts and (types.is_string(kind) or types.is_large_string(kind)):
            target = pyarrow.string()
            fits = True
        if not fits:
            what = "text" if field.name in texts else "numbers"
            raise InputError(
                f"{path}: column {field.name} holds {str(field.type)[:80]}; it must hold {what}"
            )
        if target != field.type:
            table = table.set_column(index, field.name, table.column(index).cast(target))
    return table


@functools.cache
def known_columns() -> tuple[frozenset[str], frozenset[str]]:
    """The columns of text and of numbers that every part of the program takes for such."""
    from algophase.analysis.catalogue import metrics

    texts = {name for name, value in DEFAULT_SETTINGS.items() if isinstance(value, str)}
    numbers = {
        "seed",
        "epoch",
        "epochs_trained",
        "diverged_at",
        "pizza_share",
        *CURVES,
        *DEFAULT_SETTINGS.keys() - texts,
    }
    texts |= {
        "space",
        "run_id",
        "weights_digest",
        "kind",
        "verdict",
        "paper_label",
        "shape",
        "engine",
        "device",
        "precision",
    }
    numbers |= {metric.name for metric in metrics()}
    return frozenset(texts), frozenset(numbers)
