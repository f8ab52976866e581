"""What lies in place of a network is named: a web page, a pointer of Git LFS, text, nothing."""

from pathlib import Path

import pytest

from algophase.core.errors import InputError
from algophase.storage.formats.pickles import read_pickled

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<!DOCTYPE html>\n<html><title>404</title>", "is a web page, not a network"),
        (b"\n <HTML>", "is a web page, not a network: download the file itself"),
        (POINTER, "is a pointer of Git LFS, not the file itself: run git lfs pull"),
        (
            b"hello, no network\nat all",
            "is text, not a network: it begins with 'hello, no network'",
        ),
        (b'{"C": 59}', "is text, not a network"),
        ("Gr\u00fc\u00dfe".encode(), "is text, not a network: it begins with 'Gr\u00fc\u00dfe'"),
        (b"", "truncated or corrupt.: it is empty"),
        (b"PK\x03\x04 and no more", "truncated or corrupt.: its end is missing"),
        (bytes(5000), "it is neither an archive nor an old file of torch"),
        (bytes(range(255, 0, -1)), "it is neither an archive nor an old file of torch"),
    ],
)
def test_what_is_no_network_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.pt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_pickled(path)
