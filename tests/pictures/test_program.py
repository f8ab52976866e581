import numpy as np
import pytest

from algophase.core.palette import FORMS, GRAY
from algophase.pictures.marks import Bars, Line, Points
from algophase.pictures.program import Profile, ProgramPicture, program_figure, shares_panel
from algophase.pictures.to_data import hover_text, marks_of


def picture(instances: int, remainder: float = 0.1) -> ProgramPicture:
    angles = np.linspace(-180, 180, 7)
    profiles = []
    for number in range(instances):
        form = "Clock" if number % 2 else "Pizza"
        values = np.ones(7) if form == "Clock" else np.abs(np.cos(np.radians(angles) / 2))
        profiles.append(Profile(str(number), form, form, angles, values, values, 0.2))
    shares = [(profile.name, profile.form, profile.kind, 0.2) for profile in profiles]
    return ProgramPicture(profiles, shares, remainder, 0.7, 0.1, 0.1, 0.05, 0.05)


def test_the_bars_name_and_color_every_part() -> None:
    bars = picture(2).bars()
    assert [tuple(part) for part in bars["instances"]] == [
        ("0: Pizza", FORMS["Pizza"][0], 0.2),
        ("1: Clock", FORMS["Clock"][0], 0.2),
        ("no instance", GRAY, 0.1),
    ]
    assert sum(part.share for part in bars["program"]) == pytest.approx(1)
    assert bars["instances"][0].short_name == "0"
    assert picture(2, remainder=-0.1).bars()["instances"][-1].name == "instances overlap"


@pytest.mark.parametrize("instances", [0, 1, 5])
def test_one_panel_per_profile_over_one_of_shares(instances: int) -> None:
    figure = program_figure(picture(instances), "a network")
    *panels, shares = figure.panels
    assert len(panels) == instances
    for panel, profile in zip(panels, picture(instances).profiles, strict=True):
        (points,), (line,) = marks_of(panel, Points), marks_of(panel, Line)
        np.testing.assert_array_equal(points.y, profile.values)
        np.testing.assert_array_equal(line.y, profile.fitted)
        assert points.color == FORMS[profile.kind][0]
    assert len(shares.marks) == instances + 1 + 5
    assert figure.title == "a network, its program"


def test_bars_begin_where_the_last_part_ends() -> None:
    bars = marks_of(shares_panel(picture(2)), Bars)
    starts = [(bar.positions[0], round(bar.start, 3)) for bar in bars]
    assert starts[:4] == [(0, 0.0), (0, 0.2), (0, 0.4), (1, 0.0)]
    assert hover_text(bars[0], 0) == "0: Pizza: 20.00%"
    overlap = shares_panel(picture(2, remainder=-0.1), "numbers").caption
    assert overlap.endswith("; numbers; instances overlap: their shares add up to 110.0%")
