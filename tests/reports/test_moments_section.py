import pandas
import pytest
from report_pages import made_runs, parsed

from algophase.pictures.marks import Band
from algophase.pictures.to_data import hover_text, marks_of
from algophase.reports.moments_section import (
    add_moments,
    followed_metrics,
    quartiles,
    quartiles_by_epoch,
    verdicts_by_epoch,
)
from algophase.reports.page import Page
from algophase.runs.runs import Runs


def followed() -> pandas.DataFrame:
    return pandas.concat([made_runs(40).assign(epoch=epoch) for epoch in (100, 200, 400)])


def test_runs_followed_along_training_are_shown_by_epoch() -> None:
    page = Page("page")
    add_moments(page, Runs("made", followed(), len(followed())))
    found = parsed(page)
    assert "Along training" in found.texts["h3"]
    assert "40 runs at 3 epochs each." in found.texts["p"]
    assert "share of each verdict by epoch" in found.texts["figcaption"]
    assert (
        "gradient symmetricity by epoch: median, and the middle half of the runs"
        in found.texts["figcaption"]
    )
    assert len(found.figures) == 1 + len(followed_metrics())


def test_medians_and_shares_are_those_of_each_epoch() -> None:
    moments = followed()
    moments = moments.assign(_value=moments["epoch"] * 1.0)
    assert quartiles(moments, "_value")["count"].tolist() == [40, 40, 40]
    band, median = quartiles_by_epoch(moments, "epoch").marks
    assert median.y.tolist() == [100, 200, 400]  # type: ignore[union-attr]
    assert hover_text(median, 1).splitlines()[1] == "median 200.0000"
    assert isinstance(band, Band)
    areas = marks_of(verdicts_by_epoch(moments), Band)
    assert [area.low[0] for area in areas] == [0, *(area.high[0] for area in areas[:-1])]
    assert areas[-1].high == pytest.approx([1, 1, 1])


def test_moments_without_epochs_are_not_drawn() -> None:
    moments = followed()
    for broken in (
        moments.drop(columns="epoch").assign(epoch="x"),
        moments[moments["epoch"] == 100],
    ):
        page = Page("page")
        add_moments(page, Runs("made", broken, len(broken)))
        assert "Along training" not in parsed(page).texts.get("h3", [])
