"""The program of a network: the profile g(d) of each instance with its form, and what the logits
are made of.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from algophase.core.palette import COLORS, FORMS, GRAY
from algophase.pictures.marks import (
    Axis,
    Bars,
    Figure,
    Hover,
    Legend,
    Line,
    Mark,
    Panel,
    Points,
    in_rows,
)

Array = NDArray[np.float64]
MOST_PROFILES = 8  # as many as a picture has room for
COLUMNS = 4  # profiles side by side
TICKS = (-180, -90, 0, 90, 180)
BLACK = COLORS[6]
KEY_FREQUENCIES, OTHER_FREQUENCIES = "#5E4C8A", "#B3A6D9"


@dataclass(frozen=True)
class Profile:
    """What one instance computes: g(d) of its leading frequency k, by the angle k d.

    name: its frequencies. form: as people read it; kind: its key in the palette's `FORMS`.
    angles, values: in degrees and in order, (p,). fitted: the form's own curve (p,), None where it
        has none. share: of the logits.
    """

    name: str
    form: str
    kind: str
    angles: Array
    values: Array
    fitted: Array | None
    share: float


class Part(NamedTuple):
    """One part of a bar of shares."""

    name: str
    color: str
    share: float

    @property
    def short_name(self) -> str:
        """What fits into the bar: an instance's frequencies without its form."""
        return self.name.partition(":")[0]


@dataclass(frozen=True)
class ProgramPicture:
    """profiles: of the largest instances. instances: (frequencies, form, kind, share) of each.

    remainder: the share of the logits in no instance, negative where instances overlap. The other
        numbers are the shares of the program's classes.
    """

    profiles: Sequence[Profile]
    instances: Sequence[tuple[str, str, str, float]]
    remainder: float
    key_frequencies: float
    other_frequencies: float
    readout: float
    offsets: float
    rest: float

    def bars(self) -> dict[str, list[Part]]:
        """The logits by instance and by class."""
        instances = []
        for name, form, kind, share in self.instances:
            color, _ = FORMS[kind]
            instances.append(Part(f"{name}: {form}", color, share))
        remainder = "no instance" if self.remainder >= 0 else "instances overlap"
        instances.append(Part(remainder, GRAY, self.remainder))
        classes = [
            Part("key frequencies", KEY_FREQUENCIES, self.key_frequencies),
            Part("other frequencies", OTHER_FREQUENCIES, self.other_frequencies),
            Part("read-out", COLORS[3], self.readout),
            Part("offsets", COLORS[6], self.offsets),
            Part("rest", GRAY, self.rest),
        ]
        return {"instances": instances, "program": classes}


def program_figure(picture: ProgramPicture, title: str) -> Figure:
    """Profiles of up to `MOST_PROFILES` instances over the bars of shares."""
    profiles = [profile_panel(profile) for profile in picture.profiles]
    columns = min(COLUMNS, max(1, len(profiles)))
    rows = in_rows(profiles, columns)
    return Figure(
        rows=[*rows, [shares_panel(picture)]],
        width=max(6.4, 2.3 * columns),
        height=2.1 * len(rows) + 2.4,
        heights=[*[2.0] * len(rows), 1.5],
        title=f"{title}, its program",
        legend=Legend(where="below"),
        names_outside=True,
    )


def profile_panel(profile: Profile) -> Panel:
    """g(d) as points, its form as a line."""
    color, marker = FORMS[profile.kind]
    hover = Hover("{x:.0f}°: {y:.4g}")
    marks: list[Mark] = [
        Points(x=profile.angles, y=profile.values, color=color, marker=marker, size=3, hover=hover)
    ]
    if profile.fitted is not None:
        marks.append(Line(x=profile.angles, y=profile.fitted, color=BLACK, width=1))
    low = min(0.0, float(profile.values.min()))
    high = max(float(profile.values.max()), 1e-9)
    # Below zero there is room, so that the 0 of this axis does not touch the -180 of the other.
    limits = 1.1 * low - 0.08 * (high - low), 1.15 * high
    fit = "" if profile.fitted is None else ", and its form, the line"
    share = f"{profile.share:.1%} of the logits"
    return Panel(
        marks=marks,
        x=Axis(name="k(a − b), degrees", ticks=TICKS),
        y=Axis(name="g(a − b)", limits=limits),
        title=f"{profile.name}\n{profile.form}",
        caption=f"{profile.name}: {profile.form}, {share}; g(a − b), the points{fit}",
        alt=f"The profile of the instance {profile.name}, which has the form: {profile.form}.",
        height=290,
    )


class Shares(Protocol):
    """What the logits are made of: several bars of parts, and the share in no instance."""

    @property
    def remainder(self) -> float: ...

    def bars(self) -> dict[str, list[Part]]: ...


def shares_panel(picture: Shares, numbers: str = "") -> Panel:
    """One bar under the other. numbers: what the caption says of the whole."""
    bars = picture.bars()
    marks = list[Mark]()
    ends = [1.0]
    spoken = []
    for number, (bar, parts) in enumerate(bars.items()):
        start = 0.0
        for part in parts:
            piece = Bars(
                positions=[number],
                lengths=[part.share],
                start=start,
                horizontal=True,
                color=part.color,
                edge="#FFFFFF",
                name=part.name if bar != "instances" else "",
                labels=[part.short_name],
                hover=Hover("{name}: {share:.2%}", name=part.name, share=part.share),
            )
            marks.append(piece)
            start += part.share
        ends.append(start)
        shares = ", ".join(f"{part.name} {part.share:.1%}" for part in parts)
        spoken.append(f"{bar}: {shares}")
    if round(100 * picture.remainder, 1) < 0:
        total = 1 - picture.remainder
        numbers += f"; instances overlap: their shares add up to {total:.1%}"
    return Panel(
        marks=marks,
        x=Axis(name="share of the logits", limits=(0, 1.03 * max(ends)), format=".0%"),
        y=Axis(ticks=range(len(bars)), tick_names=list(bars), reverse=True),
        caption=f"what the logits are made of, by instance and by class; {numbers}",
        alt=f"Shares of the logits. {'; '.join(spoken)}.",
        height=270,
    )
