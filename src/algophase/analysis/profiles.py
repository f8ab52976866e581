"""What each instance of a network computes, as a curve: the profile g(d) of its leading
frequency, by the angle k d.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from algophase.analysis.program.forms import form_curve
from algophase.core.fourier import Array

if TYPE_CHECKING:
    from algophase.analysis.analyze import Analysis

MOST_PROFILES = 8


@dataclass(frozen=True)
class Profile:
    """g(d) of one instance's leading frequency, by the angle k d, and its form where it has one."""

    name: str
    form: str
    angles: Array
    values: Array
    fitted: Array | None
    share: float

    @property
    def kind(self) -> str:
        return kind_of(self.form)


def kind_of(form: str) -> str:
    """A form's colour is that of its algorithm. A short cycle, which says nothing about that,
    has its own.
    """
    return {"both": "hybrid", "short cycle": "short cycle"}.get(form) or form.partition(" ")[0]


def profiles(analysis: "Analysis") -> list[Profile]:
    """Of the largest instances, as far as a picture has room for them."""
    program, turned, found = analysis.program, len(analysis.operand_circularity) > 1, []
    drawn = dict(zip(program.frequencies, program.drawn_profiles, strict=True))
    exact = program.profiles.size > 0
    for instance, form in zip(
        analysis.instances.instances[:MOST_PROFILES], analysis.verdict.forms, strict=False
    ):
        leading = instance.keys[0]
        values, p = drawn[leading], program.modulus
        angles = ((leading * np.arange(p) / p + 0.5) % 1 - 0.5) * 360
        order = np.argsort(angles, kind="stable")
        fitted = form_curve(values, leading, form, turned=turned and exact)
        name = ", ".join(map(str, instance.frequencies))
        found.append(
            Profile(
                name,
                form,
                angles[order],
                values[order],
                None if fitted is None else fitted[order],
                instance.share,
            )
        )
    return found
