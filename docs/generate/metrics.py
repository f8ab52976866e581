"""Write the table of metrics in docs/method.md from the catalogue.

python docs/generate/metrics.py    # after a change of analysis/catalogue.toml
"""

from pathlib import Path

from algophase.analysis.catalogue import Quantity, catalogue_entries, quantity
from algophase.analysis.verdict.thresholds import Thresholds

PAGE = Path(__file__).parents[1] / "method.md"
START = "<!-- metrics: written by docs/generate/metrics.py -->\n\n"
END = "\n\n<!-- end of metrics -->"
HEAD = "| name | symbol | definition | place | range | line |\n|---|---|---|---|---|---|"
SPACE = "&nbsp;"  # keeps a cell on one line
SHORT_PLACES = {"section": "sec.", "appendix": "app."}


def table() -> str:
    """One row per metric, in the order of the catalogue."""
    entries = catalogue_entries()["metrics"]
    rows = [HEAD]
    for name, entry in entries.items():
        metric = quantity(name)
        definition = entry.get("definition", metric.meaning)
        published = Thresholds()
        lines = [f"{getattr(published, line):g}" for line in entry.get("thresholds", [])]
        cells = [
            name_cell(name, list(entries)),
            metric.symbol,
            definition,
            place_cell(metric.place),
            range_cell(metric),
            ", ".join(lines),
        ]
        row = " | ".join(cells)
        rows.append(f"| {row} |".replace("|  |", "| |").replace("|  |", "| |"))
    return "\n".join(rows)


def name_cell(name: str, names: list[str]) -> str:
    """A name that begins with another's may be broken after it."""
    for other in names:
        if name.startswith(f"{other}_"):
            return f"<code>{other}_<wbr>{name.removeprefix(f'{other}_')}</code>"
    return f"`{name}`"


def place_cell(place: str) -> str:
    if place == "ours":
        return ""
    source, _, number = place.partition(" ")
    if source == "arXiv":
        return f"[arXiv{SPACE}{number}](https://arxiv.org/abs/{number})"
    return f"{SHORT_PLACES[source]}{SPACE}{number}"


def range_cell(metric: Quantity) -> str:
    if metric.low is None:
        return ""
    low = f"{metric.low:g}".replace("-", "−")
    if metric.high is None:
        return f"from{SPACE}{low}"
    return f"{low}{SPACE}to{SPACE}{metric.high:g}"


def written(page: str) -> str:
    """The page with the table in its place."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return before + START + table() + END + after


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
