"""Draw the phase diagram of the findings: what networks learn by attention rate, by the paper's
rules and by our verdict.

    python studies/every_network_gets_an_answer.py    # docs/images/verdicts.png

Both panels count every run of `gallery/fixed-width`.
"""

from dataclasses import replace
from pathlib import Path

from algophase import Runs
from algophase.pictures.marks import Figure, Labels, Legend, Panel
from algophase.reports.by_setting import shares_by_rate
from algophase.reports.save_figure import save_figure

ROOT = Path(__file__).parents[1]
SWEEP = ROOT / "gallery" / "fixed-width"
PICTURE = ROOT / "docs" / "images" / "verdicts.png"


def titled(panel: Panel, title: str, upwards: str) -> Panel:
    """Without the number of runs above each bar, which both panels have in common."""
    marks = [mark for mark in panel.marks if not isinstance(mark, Labels)]
    y = replace(panel.y, name=upwards, limits=(0, 1))
    return replace(panel, marks=marks, y=y, title=title)


def main() -> None:
    runs = Runs.read(SWEEP)
    by_paper = shares_by_rate(runs, runs["paper_label"].fillna("diverged"))
    upwards = f"share of {len(runs):,} networks"
    panels = [
        titled(by_paper, "by the paper's rules", upwards),
        titled(shares_by_rate(runs), "by the verdict of its instances", upwards),
    ]
    figure = Figure(
        rows=[panels],
        width=7.0,
        height=3.1,
        legend=Legend(columns=8),
        share_y=True,
        names_outside=True,
    )
    save_figure(figure, PICTURE)


if __name__ == "__main__":
    main()
