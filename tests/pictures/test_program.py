import numpy as np
import pytest

from algophase.core.palette import FORMS, GRAY
from algophase.pictures.program import Profile, ProgramPicture, draw_program


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
    figure = draw_program(picture(instances), "a network")
    *profiles, shares = figure.axes
    assert len(profiles) == instances
    for axes, profile in zip(profiles, picture(instances).profiles, strict=True):
        points, line = axes.lines
        np.testing.assert_array_equal(points.get_ydata(), profile.values)
        np.testing.assert_array_equal(line.get_ydata(), profile.fitted)
        assert points.get_color() == FORMS[profile.kind][0]
    assert len(shares.patches) == instances + 1 + 5
    assert figure.get_suptitle() == "a network, its program"
