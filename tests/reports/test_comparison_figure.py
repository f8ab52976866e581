from functools import cache
from pathlib import Path

import numpy
import pandas
import pytest
from matplotlib.image import imread

from algophase.core.errors import InputError
from algophase.pictures.marks import Line, Points, Whiskers
from algophase.pictures.to_data import marks_of
from algophase.reports.comparison import comparison_figure, draw_comparison
from algophase.reports.phase_diagrams import SIDES
from algophase.runs.comparison import Comparison, compare


def runs(seed: int, **settings: object) -> pandas.DataFrame:
    generator = numpy.random.default_rng(seed)
    rate = generator.uniform(0, 1, 200)
    late = rate + generator.normal(0, 0.05, 200) > 0.5
    return pandas.DataFrame(
        {
            "attention_rate": rate,
            "validation_accuracy": 1.0,
            "gradient_symmetricity": numpy.where(late, 0.6, 0.99),
            "distance_irrelevance_wrong_logit": numpy.where(late, 0.8, 0.2)
            + 0.02 * generator.normal(size=200),
            "circularity": numpy.where(generator.uniform(size=200) < 0.5, 0.998, 0.9),
            **settings,
        }
    )


def compared(
    *pairs: tuple[pandas.DataFrame, pandas.DataFrame], names: tuple[str, str] = ("ours", "theirs")
) -> Comparison:
    ours, theirs = (pandas.concat([pair[side] for pair in pairs]) for side in (0, 1))
    return compare(ours, theirs, names, resamples=100)


@cache
def one_depth() -> Comparison:
    return compared((runs(1), runs(2)))


@cache
def several_depths() -> Comparison:
    return compared(
        *((runs(10 + depth, layers=depth), runs(20 + depth, layers=depth)) for depth in range(1, 7))
    )


@cache
def many_widths() -> Comparison:
    widths = {"width": numpy.round(numpy.geomspace(32, 512, 200))}
    return compared((runs(1, **widths), runs(2, **widths)))


@cache
def no_rates() -> Comparison:
    return compared(
        (runs(1).drop(columns="attention_rate"), runs(2).drop(columns="attention_rate"))
    )


@cache
def bare() -> Comparison:
    few = ["attention_rate", "validation_accuracy"]
    return compared((runs(1)[few], runs(2)[few]))


@pytest.mark.parametrize("case", [one_depth, several_depths, many_widths, no_rates, bare])
@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_every_kind_of_comparison_is_drawn(tmp_path: Path, case: object, suffix: str) -> None:
    assert callable(case)
    path = draw_comparison(case(), tmp_path / f"picture.{suffix}")
    if suffix == "png":
        picture = imread(path)
        assert picture[..., :3].std() > 0.05
        for edge in (picture[0], picture[-1], picture[:, 0], picture[:, -1]):
            assert (edge[:, :3] == 1).all()  # nothing is cut off


def test_groups_beyond_the_fourth_are_counted() -> None:
    figure = comparison_figure(several_depths())
    assert "2 more groups not drawn" in figure.title
    names = [mark.name for mark in marks_of(figure.panels[0], Points) if mark.name]
    assert names == ["ours (1,200 runs)", "theirs (1,200 runs)"]


def test_a_run_is_filled_inside_the_phase_alone() -> None:
    plane = comparison_figure(many_widths()).panels[2]
    theirs, theirs_open, ours, ours_open = marks_of(plane, Points)
    assert [mark.filled for mark in (theirs, theirs_open, ours, ours_open)] == [True, False] * 2
    assert ours.x.mean() < 0.5 < ours_open.x.mean()
    assert len(marks_of(plane, Line)) == 2


def test_shares_by_rate_have_both_sides_and_their_fits() -> None:
    figure = comparison_figure(one_depth())
    inside = figure.panels[2]
    ours, theirs = marks_of(inside, Whiskers)
    assert (ours.color, theirs.color) == (SIDES[0][0], SIDES[1][0])
    assert (ours.y[0], ours.y[-1]) == (1.0, 0.0)
    assert [line.dash for line in marks_of(inside, Line)] == ["-", "--"]


def test_symmetricity_is_the_one_that_both_sides_have() -> None:
    ours, theirs = runs(1, equals_sign=True), runs(2, equals_sign=True)
    theirs = theirs.rename(
        columns={"gradient_symmetricity": "gradient_symmetricity_without_equals_sign"}
    )
    apart = comparison_figure(compared((ours, theirs))).panels[0]
    ours["gradient_symmetricity_without_equals_sign"] = ours["gradient_symmetricity"]
    alike = comparison_figure(compared((ours, theirs))).panels[0]
    assert (apart.y.name, apart.title) == ("gradient symmetricity", "not known: theirs")
    assert alike.y.name == "gradient symmetricity\n(without the equals sign)"
    assert alike.title == ""


def test_irrelevance_is_the_papers_where_both_sides_have_it() -> None:
    ours, theirs = runs(1), runs(2)
    for table in (ours, theirs):
        table["distance_irrelevance"] = table["distance_irrelevance_wrong_logit"]
    both = comparison_figure(compared((ours, theirs)))
    one = comparison_figure(compared((ours, runs(2))))
    assert [panel.y.name for panel in both.panels[1:4:2]] == [
        "distance irrelevance",
        "share with\nirrelevance < 0.6",
    ]
    wrong = ["distance irrelevance\n(wrong logit)", "share with\nirrelevance < 0.6\n(wrong logit)"]
    assert [panel.y.name for panel in one.panels[1:4:2]] == wrong
    assert not any(panel.title for panel in one.panels)


def test_the_title_says_how_many_of_how_many_tests_differ() -> None:
    same, shifted = one_depth(), runs(2)
    shifted["gradient_symmetricity"] -= 0.1
    other = compared((runs(1), shifted))
    titles = [comparison_figure(comparison).title.splitlines()[0] for comparison in (same, other)]
    assert (
        titles[0]
        == f"indistinguishable at a family-wise level of 0.01 ({len(same.findings)} tests)"
    )
    assert titles[1] == (
        f"{len(other.rejected)} of {len(other.findings)} tests differ at a family-wise level "
        "of 0.01"
    )


def test_the_same_comparison_gives_the_same_file(tmp_path: Path) -> None:
    first, second = (
        draw_comparison(one_depth(), tmp_path / name).read_bytes() for name in ("a.svg", "b.svg")
    )
    assert first == second


def test_unknown_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'bmp'.*png, svg, pdf"):
        draw_comparison(one_depth(), tmp_path / "picture.bmp")
