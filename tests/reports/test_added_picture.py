"""A picture is added in two places: the function that fills a panel, and the table or page that
shows it. CONTRIBUTING.md has this example.
"""

from pathlib import Path

import pytest
from report_pages import parsed

from algophase.analysis.analyze import analyze
from algophase.analysis.specimen import Specimen
from algophase.networks.handmade import handmade_pizza
from algophase.pictures.marks import Axis, Bars, Figure, Hover, Panel
from algophase.pictures.to_data import hover_text, marks_of
from algophase.reports.figures import PICTURES, NetworkPicture, draw_all
from algophase.reports.page import Page

CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"


def variance_panel(specimen: Specimen) -> Panel:
    """The share of the embedding's variance that each circle has."""
    circles = [item.circle for item in specimen.evidence]
    shares = [circle.variance_share for circle in circles]
    names = [f"k = {circle.frequency}" for circle in circles]
    positions = range(len(circles))
    bars = Bars(positions=positions, lengths=shares, texts=names, hover=Hover("{text}"))
    return Panel(
        marks=[bars],
        x=Axis(name="circle", ticks=positions, tick_names=names),
        y=Axis(name="share of the variance", format=".0%"),
        caption="variance by circle",
    )


def variance_figure(specimen: Specimen) -> Figure:
    return Figure(rows=[[variance_panel(specimen)]], width=3.4, height=2.6)


def test_a_picture_is_tested_by_its_data() -> None:
    panel = variance_panel(Specimen(handmade_pizza(11, (1, 3))))
    (bars,) = marks_of(panel, Bars)
    assert bars.lengths == pytest.approx([0.5, 0.5])
    assert hover_text(bars, 1) == "k = 3"


def test_it_is_shown_on_a_page_and_written_beside_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = handmade_pizza(11, (1, 3))
    picture = NetworkPicture(variance_figure, lambda specimen: bool(specimen.evidence))
    monkeypatch.setitem(PICTURES, "variance", picture)
    paths = draw_all(network, analyze(network), tmp_path)
    assert tmp_path / "variance.png" in paths
    page = Page("page")
    page.pictures([variance_panel(Specimen(network))])
    assert "variance by circle" in parsed(page).texts["figcaption"]


def test_contributing_has_this_example() -> None:
    text = CONTRIBUTING.read_text()
    source = Path(__file__).read_text()
    start = source.index("def variance_panel")
    example = source[start : source.index("\n\n\n", start)]
    for line in example.splitlines():
        assert f"+{line}\n" in text
