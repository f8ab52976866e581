"""The program of a network: the profile g(d) of each instance with its form, and what the logits
are made of.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from algophase.core.palette import COLORS, FORMS, GRAY
from algophase.pictures.style import house_style, new_figure, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
MOST_PROFILES = 8  # as many as a picture has room for
COLUMNS = 4  # profiles side by side
TICKS = (-180, -90, 0, 90, 180)
KEY_FREQUENCIES, OTHER_FREQUENCIES = "#5E4C8A", "#B3A6D9"
# White letters are easier to read on these than black ones.
DARK = (COLORS[0], COLORS[6], FORMS["short cycle"][0], KEY_FREQUENCIES)
LEAST_NAMED = 0.12  # a smaller part of a bar has no room for its name


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


def draw_program(picture: ProgramPicture, title: str) -> "Figure":
    """Profiles of up to `MOST_PROFILES` instances over the bars of shares."""
    from matplotlib.patches import Patch

    profiles, bars = picture.profiles, picture.bars()
    columns = min(COLUMNS, max(1, len(profiles)))
    rows = -(-len(profiles) // columns)
    with house_style():
        figure = new_figure(max(6.4, 2.3 * columns), 2.1 * rows + 2.4)
        grid = figure.add_gridspec(rows + 1, columns, height_ratios=[*[2.0] * rows, 1.5])
        for number, profile in enumerate(profiles):
            row, column = divmod(number, columns)
            axes = figure.add_subplot(grid[row, column])
            _draw_profile(axes, profile)
            if column == 0:
                axes.set_ylabel("g(a − b)")
            if row == rows - 1:
                axes.set_xlabel("k(a − b), degrees")
        axes = figure.add_subplot(grid[rows, :])
        _draw_bars(axes, bars)
        handles = [Patch(color=part.color, label=part.name) for part in bars["program"]]
        figure.legend(
            handles=handles, loc="outside lower center", ncols=len(handles), frameon=False
        )
        set_title(figure, f"{title}, its program")
    return figure


def _draw_profile(axes: "Axes", profile: Profile) -> None:
    """g(d) as points, its form as a line."""
    color, marker = FORMS[profile.kind]
    axes.plot(profile.angles, profile.values, marker, color=color, markersize=3)
    if profile.fitted is not None:
        axes.plot(profile.angles, profile.fitted, color="black", linewidth=1)
    axes.set(xticks=TICKS, title=f"{profile.name}\n{profile.form}")
    lowest, highest = float(profile.values.min()), float(profile.values.max())
    axes.set_ylim(min(0.0, 1.1 * lowest), 1.15 * max(highest, 1e-9))


def _draw_bars(axes: "Axes", bars: dict[str, list[Part]]) -> None:
    """One bar under the other, each with its name at the left."""
    ends = []
    for number, (name, parts) in enumerate(bars.items()):
        left = 0.0
        for part in parts:
            axes.barh(
                -number, part.share, left=left, color=part.color, edgecolor="white", linewidth=0.6
            )
            if part.share > LEAST_NAMED:
                axes.text(
                    left + part.share / 2,
                    -number,
                    part.short_name,
                    ha="center",
                    va="center",
                    fontsize=7,
                    color="white" if part.color in DARK else "black",
                )
            left += part.share
        ends.append(left)
        axes.text(
            -0.01, -number, name, ha="right", va="center", transform=axes.get_yaxis_transform()
        )
    axes.set(yticks=[], xlabel="share of the logits", xlim=(0, 1.005 * max(1.0, *ends)))
