"""Measure the published networks on groups, and write the table and the picture of docs/groups.md.

    python studies/published_groups.py FOLDER    # docs/groups.md, docs/images/groups.png

FOLDER holds the files of Chughtai et al. 2023 (https://github.com/bilal-chughtai/rep-theory-mech-interp):
NAME.pt with NAME.summary_metrics.json.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from algophase import Analysis, Specimen, analyze, load
from algophase.pages.table import Table
from algophase.pictures.marks import Figure
from algophase.reports.group_panels import Part, coset_map, parts_of
from algophase.reports.save_figure import save_figure

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "groups.md"
PICTURE = ROOT / "docs" / "images" / "groups.png"
START = "<!-- networks: written by studies/published_groups.py -->\n\n"
END = "\n\n<!-- end of networks -->"
HEAD = [
    *("network", "group", "verdict", "instances"),
    *("characters", "published", "in tables", "published", "bi-equivariant", "additivity"),
]
DRAWN = (("S5_MLP_seed2", 0), ("S5_MLP_seed2", 1), ("D59_MLP_seed1", 0))  # network, instance


@dataclass(frozen=True)
class Published:
    """What the authors say of a network.

    characters: `percent_logits_explained`. in_tables: the largest of `percent_x_embed_*`, the
    share of one representation, of what hidden units of an MLP read of x (W_x W), or of a
    transformer's embedding.
    """

    characters: float
    in_tables: float


def published(folder: Path, name: str) -> Published:
    metrics = json.loads((folder / f"{name}.summary_metrics.json").read_text())
    start, end = "percent_x_embed_", "_rep"
    shares = [
        value for key, value in metrics.items() if key.startswith(start) and key.endswith(end)
    ]
    return Published(metrics["percent_logits_explained"], max(shares))


def row(analysis: Analysis, theirs: Published) -> list[str]:
    """Under `HEAD`."""
    on_group = analysis.on_group
    assert on_group is not None
    largest = max(on_group.embedding, key=lambda member: member.share)
    numbers = [on_group.shares.characters, theirs.characters, largest.share, theirs.in_tables]
    numbers += [on_group.shares.bi_equivariant, on_group.additivity]
    return [
        f"`{analysis.id}`",
        on_group.name,
        analysis.label,
        str(len(on_group.instances)),
        *(f"{number:.4f}" for number in numbers),
    ]


def names_in(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.pt"))


def picture(specimens: Sequence[Specimen]) -> Figure:
    """Mean logits of some instances alone, by cosets. specimens: those of `DRAWN`."""
    panels = []
    for specimen, (name, number) in zip(specimens, DRAWN, strict=True):
        _, *instances = parts_of(specimen)
        part = instances[number]
        titled = Part(part.name, f"{name}\n{part.title}", part.means)
        panels.append(coset_map(titled))
    return Figure(rows=[panels], width=11.0, height=3.7)


def main() -> None:
    folder = Path(sys.argv[1])
    rows = []
    specimens = dict[str, Specimen]()
    for name in names_in(folder):
        network = load(folder / f"{name}.pt")
        analysis = analyze(network)
        rows.append(row(analysis, published(folder, name)))
        if name in dict(DRAWN):
            specimens[name] = Specimen(network, analysis)
    before, rest = PAGE.read_text().split(START)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{START}{Table(HEAD, rows).markdown('---')}{END}{after}")
    save_figure(picture([specimens[name] for name, _ in DRAWN]), PICTURE)


if __name__ == "__main__":
    main()
