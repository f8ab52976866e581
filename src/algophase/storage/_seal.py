"""A checksum that stands inside the file it is of, so that one rename puts both in place.

The file holds the text `algophase-sha256:` and 64 digits, somewhere: its SHA-256 with zeros in
place of the digits. A file that another program wrote has none, and cannot be checked.
"""

import hashlib
import mmap
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow

BLANK = "algophase-sha256:" + "0" * 64  # what to put into a file's metadata before it is sealed
_SEAL = re.compile(rb"algophase-sha256:([0-9a-f]{64})")


def sealed(content: bytes) -> tuple[memoryview, bytes, memoryview]:
    """A file's content with its checksum in the place that was left for it, in pieces: it may be
    gigabytes.
    """
    seal = _SEAL.search(content)
    assert seal is not None, "no place was left for the checksum"
    view, (start, end) = memoryview(content), seal.span(1)
    return view[:start], _digest(view, start, end).encode(), view[end:]


def is_intact(content: "bytes | mmap.mmap | pyarrow.Buffer", *, sealed_by_us: bool) -> bool:
    """Whether a file is as it was written. sealed_by_us: whether it must have a checksum; any other
    file without one counts as intact.
    """
    seal = _SEAL.search(content)
    if seal is None:
        return not sealed_by_us
    with memoryview(content) as view:
        return _digest(view, *seal.span(1)) == seal[1].decode()


def _digest(view: memoryview, start: int, end: int) -> str:
    digest = hashlib.sha256(view[:start])
    digest.update(b"0" * (end - start))
    digest.update(view[end:])
    return digest.hexdigest()
