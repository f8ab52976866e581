"""The paper's printed numbers, read from `published.toml`: each with its place, and compared to
its own digits.
"""

import functools
import tomllib
from dataclasses import dataclass
from importlib.resources import files

from algophase.paper.product import Claim, Verdict


@dataclass(frozen=True)
class Number:
    """printed: as the paper prints it, with its unit; value: as a plain number; step: one unit
    of its last digit.
    """

    name: str
    label: str
    place: str
    text: str
    printed: str
    value: float
    step: float
    about: bool = False

    def agrees(self, ours: float) -> bool:
        """Equal to the printed digits; where the paper says "about", to one unit of the last
        one.
        """
        return abs(ours - self.value) <= self.step * (1.0 if self.about else 0.5) * (1 + 1e-9)

    def claim(
        self, ours: float, shown: str, *, same_network: bool = True, sample: int = 1, note: str = ""
    ) -> Claim:
        """ours beside the published value. A number of another network than the published one is
        not judged.
        """
        verdict: Verdict = (
            ("reproduced" if self.agrees(ours) else "differs") if same_network else "not tested"
        )
        return Claim(self.text, self.printed, shown, verdict, sample, note)


@functools.cache
def numbers() -> dict[str, Number]:
    data = tomllib.loads(
        files("algophase.paper").joinpath("published.toml").read_text(encoding="utf-8")
    )
    return {name: Number(name, **entry) for name, entry in data.items()}


def number(name: str) -> Number:
    return numbers()[name]
