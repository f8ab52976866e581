"""A certificate: what is proved of a network, in a JSON file that `certificates/check.py` checks
without this package.

The file holds its own digest: SHA-256 of its text with the digest's digits as zeros. So no
character can be changed unnoticed. The network's digest is SHA-256 over its tensors by name.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FORMAT = "algophase-certificate"
VERSION = 2
NO_DIGEST = "0" * 64

RESTS_ON = {
    "network": "the real function that its stored weights define, as exact numbers; not what "
    "PyTorch rounds it to",
    "pairs": "float64 rounded to nearest, |fl(A B) - A B| <= gamma_n |A| |B| (Higham 2002, section "
    "3.5), and slopes of at most 1 (relu) or 1.13 (gelu); ball arithmetic of FLINT in the checker",
    "largest_difference": "the same bounds, for logits centered over the answers",
    "compact": "activations as a linear share and an even part; Cauchy-Schwarz for what the advice "
    "misses; operations as docs/certificates.md counts them",
}


def sentence_of(proved_right: int, pairs: int, compact: Mapping[str, Any] | None) -> str:
    """What a certificate says, in one line."""
    words = f"proved right on {proved_right:,} of {pairs:,} pairs"
    if compact is None:
        return words
    work = f"at {compact['operations_share']:.0%} of the work"
    return f"{words}; by its program, {work}, on {compact['proved_right']:,}"


def digest_fits(text: str, digest: str) -> bool:
    """Whether a certificate's text is as it was written."""
    blank = text.replace(digest, NO_DIGEST, 1)
    return hashlib.sha256(blank.encode()).hexdigest() == digest


@dataclass(frozen=True)
class NetworkCertificate:
    """What is proved of a network, over all pairs.

    Attributes:
        network: its name, digest, settings and layout of tokens.
        group: the right answers.
        pairs: all pairs.
        proved_right: pairs that it answers right for certain.
        proved_wrong: pairs that it answers wrong for certain.
        largest_difference: lowest and highest value of the largest difference between a logit of
            the network and of its distilled program, both centered; None without a program.
        share_explained: lowest and highest value of the program's share of the logits' squared
            norm; None without a program.
        program: the numbers of the distilled program; None where there is none.
        compact: the proof for less than brute force; None where there is none.
    """

    network: dict[str, Any]
    group: dict[str, Any]
    pairs: int
    proved_right: int
    proved_wrong: int
    largest_difference: tuple[float, float] | None
    share_explained: tuple[float, float] | None
    program: list[Any] | None
    compact: dict[str, Any] | None

    def __repr__(self) -> str:
        return f"<NetworkCertificate {self.network['id']}: {self.sentence}>"

    @property
    def undecided(self) -> int:
        """Pairs that are neither."""
        return self.pairs - self.proved_right - self.proved_wrong

    @property
    def sentence(self) -> str:
        """In one line: "proved right on 3,481 of 3,481 pairs"."""
        return sentence_of(self.proved_right, self.pairs, self.compact)

    @property
    def text(self) -> str:
        """The file, with its digest."""
        entries = {
            "format": FORMAT,
            "version": VERSION,
            "digest": NO_DIGEST,
            "network": self.network,
            "pairs": self.pairs,
            "proved_right": self.proved_right,
            "proved_wrong": self.proved_wrong,
            "undecided": self.undecided,
            "largest_difference": self.largest_difference,
            "share_explained": self.share_explained,
            "compact": self.compact,
            "program": self.program,
            "group": self.group,
            "rests_on": RESTS_ON,
        }
        lines = []
        for name, value in entries.items():
            lines.append(f"{json.dumps(name)}: {json.dumps(value)}")
        text = "{\n" + ",\n".join(lines) + "\n}\n"
        digest = hashlib.sha256(text.encode()).hexdigest()
        return text.replace(NO_DIGEST, digest, 1)

    def save(self, path: str | Path) -> None:
        """Write the file.

        Arguments:
            path: the file's name.
        """
        Path(path).write_text(self.text, encoding="utf-8")
