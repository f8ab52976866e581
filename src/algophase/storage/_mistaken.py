"""What lies where a network should be when a download went wrong: a web page, a pointer of Git LFS,
or other text.
"""

from pathlib import Path
from typing import IO

from algophase.core.errors import InputError
from algophase.core.settings import shown

START = 200  # bytes of a file that tell
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # before the text of some editors
SHOWN = 40  # of these, in a message
POINTER = "version https://git-lfs"
PAGES = ("<!doctype html", "<html")


def check_no_text(path: Path, file: IO[bytes]) -> None:
    """That a file is not text: its first bytes are read. A network's are not."""
    start = file.read(START).removeprefix(BYTE_ORDER_MARK)
    file.seek(0)
    text = start.decode(errors="replace").lstrip()
    if text.lower().startswith(PAGES):
        raise InputError(f"{path} is a web page, not a network: download the file itself")
    if text.startswith(POINTER):
        raise InputError(f"{path} is a pointer of Git LFS, not the file itself: run git lfs pull")
    is_text = all(letter.isprintable() or letter.isspace() for letter in text[:SHOWN])
    if text and is_text and "\ufffd" not in text[:SHOWN]:
        first_line = text.splitlines()[0][:SHOWN]
        raise InputError(f"{path} is text, not a network: it begins with {shown(first_line)}")
