"""What a page says about one network: verdict and reasons, metrics in their population, circles, logits, attention."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from algophase.analysis.analyze import Analysis
from algophase.analysis.evidence import CircleEvidence
from algophase.analysis.summary import circle_cells, metric_text
from algophase.analysis.verdict import in_order
from algophase.errors import InputError
from algophase.networks import Network
from algophase.report.anatomy_section import add_anatomy
from algophase.report.figures import subject_of
from algophase.report.interactive import (
    attention_panels,
    circle_panel,
    correct_logits_panel,
    history_panels,
    isolated_panel,
)
from algophase.report.page import Link, Page, listed, paragraph, table, text
from algophase.report.phase_diagrams import Mark, rate_by_metric, standing_figure
from algophase.report.plotly_style import Panel, look
from algophase.runs.comparison import IRRELEVANCE, SYMMETRICITY
from algophase.runs.runs import (
    EXACT,
    LABELS,
    Population,
    Standing,
    foreign_settings,
    settings_of,
    standings,
)
from algophase.storage.network_files import clean_id, read_json
from algophase.storage.run_files import FORMAT as HISTORY_FORMAT
from algophase.training.trained import CURVES
from algophase.wording import floored

MEANING = {
    "Clock": "It learned the Clock: it adds the angles of its two inputs by multiplying, and is as sure of its answer at every "
    "distance a\u00a0−\u00a0b.",
    "Pizza": "It learned the Pizza: it averages the two embeddings and reads the sum off their middle, so how sure it is "
    "depends on the distance a\u00a0−\u00a0b.",
    "hybrid": "It is a hybrid: some of its circles work as a Clock, others as a Pizza, and both carry its answers.",
    "non-circular": "Its embedding is not circular, so it is neither Clock nor Pizza in the paper's sense.",
    "not learned": "It has not learned the task: it does not answer every pair right.",
}


@dataclass(frozen=True)
class Examined:
    """A network and what is known about it.

    notes: what should be said about how it was read; name: what the page calls it, without one its id.
    """

    network: Network
    analysis: Analysis
    history: Mapping[str, Sequence[Any]] | None = None
    notes: tuple[str, ...] = field(default=())
    name: str = ""

    @property
    def title(self) -> str:
        return self.name or self.analysis.id


def read_history(network: Network, path: Path) -> Mapping[str, Sequence[Any]] | None:
    """The training curves in ID.history.json beside a network's file, or None where there is none."""
    names = dict.fromkeys([clean_id(network.id), clean_id(path.stem)])
    found = next((file for name in names if (file := path.parent / f"{name}.history.json").is_file()), None)
    if found is None:
        return None
    data = read_json(found, "the history")
    if data.get("format") != HISTORY_FORMAT:
        raise InputError(f"{found}: format is {data.get('format')!r}; this program reads {HISTORY_FORMAT!r}")
    curves = data.get("history")
    if not isinstance(curves, dict):
        raise InputError(f"{found} is not a readable history: it has no curves")
    epochs = curves.get("epochs", [])
    if not _numbers(epochs) or not epochs:
        raise InputError(f"{found} is not a readable history: it has no epochs")
    kept = {name: curves[name] for name in CURVES if name in curves}
    for name, values in kept.items():
        if not _numbers(values, or_none=True) or len(values) != len(epochs):
            raise InputError(f"{found} is not a readable history: {name} is not one number an epoch")
    return {"epochs": epochs, **kept}


def _numbers(values: object, or_none: bool = False) -> bool:
    return isinstance(values, list) and all(
        (or_none and value is None) or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values
    )


def anchor(number: int) -> str:
    return f"network-{number}"


def add_index(page: Page, examined: Sequence[Examined]) -> None:
    """All networks in one table, each leading to its section."""
    page.heading(2, "Networks", "networks")
    head = ["", "network", "verdict", "accuracy", "gradient symmetricity", "distance irrelevance", "circularity"]
    rows = []
    for number, item in enumerate(examined, 1):
        a = item.analysis
        metrics = [metric_text(value) for value in (a.gradient_symmetricity_exact, a.distance_irrelevance, a.circularity)]
        rows.append([number, Link(anchor(number), item.title), a.verdict.label, floored(a.accuracy), *metrics])
    page.add(table(head, rows, "All networks of this page", numbers=(0, 3, 4, 5, 6)))


def add_population(page: Page, population: Population, examined: Sequence[Examined], matched: Sequence[bool]) -> None:
    """The population as phase diagrams, with the networks that belong to it marked by their numbers."""
    marks = [
        Mark(number, item.title, item.analysis.verdict.label, _rate(item.network), vars(item.analysis))
        for number, (item, fits) in enumerate(zip(examined, matched, strict=True), 1)
        if fits
    ]
    metrics = [name for name in (SYMMETRICITY, IRRELEVANCE) if name in population.runs]
    if not population.rates_vary or not metrics or not any(mark.rate == mark.rate for mark in marks):
        return
    page.heading(2, f"Among the runs of {population.name}", "population")
    numbered = (
        "the large marker is this network" if len(examined) == 1 else "numbered markers are the networks of the table above"
    )
    page.add(paragraph(f"{len(population.runs):,} runs, those at full accuracy drawn, coloured by verdict; {numbered}."))
    left = [str(number) for number, fits in enumerate(matched, 1) if not fits]
    if left:
        page.add(paragraph(f"Of another kind than these runs, and not drawn here: {', '.join(left)}.", "note"))
    rateless = [str(mark.number) for mark in marks if math.isnan(mark.rate)]
    if rateless:
        page.add(paragraph(f"Without an attention rate, and not drawn here: {', '.join(rateless)}.", "note"))
    panels = []
    for metric in metrics:
        lines = "the dotted line is the paper's phase boundary of this metric"
        alt = (
            f"{LABELS[metric]} against the attention rate for the runs of {population.name}, with {len(marks)} networks marked."
        )
        panels.append(Panel(rate_by_metric(population, metric, marks=marks), f"{LABELS[metric]}; {lines}", alt))
    page.pictures(panels, "wide")


def _rate(network: Network) -> float:
    return float(getattr(network.settings, "attention_rate", math.nan))


def add_network(page: Page, number: int, item: Examined, population: Population | None, of: int = 1) -> None:
    """One network's section. population: the runs it is set against, None where there is none like it; of: how many follow."""
    analysis, verdict = item.analysis, item.analysis.verdict
    subject = subject_of(item.network, analysis)
    shape = f" ({verdict.shape})" if verdict.shape else ""
    counted = f"{number}. " if of > 1 else ""
    page.heading(2, f"{counted}{item.title}: {verdict.label}{shape}", anchor(number))
    page.add(f'<div class="verdict"><strong>{text(MEANING[verdict.label])}</strong>{listed(verdict.reasons)}</div>')
    page.add(paragraph(_describe(item.network), "note"), *(paragraph(note, "note") for note in item.notes))
    _add_metrics(page, item, population)
    page.heading(3, "Circles in the embedding")
    if not subject.evidence:
        page.add(paragraph("No frequency of the embedding stands out as a circle."))
    else:
        page.pictures([circle_panel(subject, circle) for circle in subject.evidence], "small")
        page.heading(3, "What each circle does alone")
        page.add(
            paragraph(
                "FVE: fraction of the variance of the logits, with one circle kept, that each formula explains (the paper's). "
                "Isolation leaves offsets that depend on c alone, and they can make it low. The role comes from the weights of "
                "all three formulas (Clock, Pizza, accompanying) fitted at once, which such offsets do not touch."
            )
        )
        page.add(_circle_table(analysis.circles))
    if analysis.anatomy is not None:
        add_anatomy(page, analysis.anatomy)
    page.heading(3, "Correct logits")
    page.add(
        paragraph(
            "The logit of the right answer for every pair: a Pizza's depends on a\u00a0−\u00a0b (bands along the rows), a "
            "Clock's does not. First the whole network, then each circle alone, rows and columns in steps of that circle's "
            "spacing."
        )
    )
    strongest = max(subject.evidence, key=lambda circle: circle.logit_variance, default=None)
    whole = correct_logits_panel(subject, None if strongest is None else strongest.accompanies or strongest.circle.frequency)
    page.pictures([whole, *(isolated_panel(subject, circle) for circle in subject.evidence)])
    left = len(analysis.circles) - len(subject.evidence)
    if left:
        page.add(paragraph(f"{left} more circles are in the table but not drawn.", "note"))
    attention = attention_panels(subject)
    if attention:
        page.heading(3, "Attention")
        rate = _rate(item.network)
        page.add(
            paragraph(
                f"What the position that answers takes from each operand, after the attention rate of {rate:.4g} is applied"
                + ("." if item.network.task.equals_sign else "; the weights on a and b add up to a constant.")
            )
            if rate
            else paragraph("Attention rate 0: every weight is 1 and attention plays no part.")
        )
        page.pictures(attention if rate else attention[:0], "small")
    if item.history is not None:
        page.heading(3, "Training")
        page.pictures(history_panels(item.history))


def _describe(network: Network) -> str:
    told = []
    for key, value in settings_of(network).items():
        if isinstance(value, bool):
            told += [key.replace("_", " ")] if value else []
        else:
            shown = ", ".join(map(str, value)) if isinstance(value, tuple | list) else value
            told.append(
                f"{key.replace('_', ' ')} {shown:.6g}" if isinstance(shown, float) else f"{key.replace('_', ' ')} {shown}"
            )
    run = network.run
    if run is not None:
        told.append(f"trained for {run.training.epochs:,} epochs from seed {run.seed}")
    return ", ".join(told)


def _add_metrics(page: Page, item: Examined, population: Population | None) -> None:
    page.heading(3, "Metrics")
    analysis, placed = item.analysis, []
    if population is not None:
        placed = standings(analysis, population)
    places = {standing.metric: standing.percentile for standing in placed}
    rows: list[tuple[str, str, str, str]] = [
        ("accuracy", "share of all pairs answered right", floored(analysis.accuracy), ""),
        ("gradient symmetricity", "over all triples", metric_text(analysis.gradient_symmetricity_exact), EXACT),
        ("", "over the paper's 100 triples", metric_text(analysis.gradient_symmetricity), SYMMETRICITY),
        (
            "distance irrelevance",
            "of the correct logit, the paper's definition",
            metric_text(analysis.distance_irrelevance),
            IRRELEVANCE,
        ),
        (
            "",
            "of the largest wrong logit, as in the released table",
            metric_text(analysis.distance_irrelevance_wrong_logit),
            "distance_irrelevance_wrong_logit",
        ),
        ("circularity", "of the embedding's first components", metric_text(analysis.circularity), "circularity"),
    ]
    if len(analysis.operand_circularity) > 1:
        rows += [
            ("", f"of operand {index}'s own table", metric_text(value), "")
            for index, value in enumerate(analysis.operand_circularity, 1)
        ]
    head, among = ["metric", "which", "value"], ""
    if population is not None and placed:
        among = f"Percentiles are those among {len(placed[0].values):,} {placed[0].among} of {population.name}."
        head.append("percentile")
    shown = [
        [name, which, value] + ([_percentile(places.get(key))] if among and key else [""] * bool(among))
        for name, which, value, key in rows
    ]
    page.add(table(head, shown, "Metrics of the network", numbers=(2, 3)))
    if population is None:
        return
    differ = foreign_settings(item.network, population)
    if differ:
        page.add(paragraph(f"Unlike the runs of {population.name}, this network has {'; '.join(differ)}.", "note"))
    if not placed:
        page.add(paragraph(f"{population.name} has no runs to set it against.", "note"))
        return
    below = "Below, the runs' metrics, stacked by verdict; the upright line is this network."
    page.add(paragraph(f"{among} {below}".strip(), "note"), key(placed))
    drawn = [place for place in placed if place.metric != SYMMETRICITY or EXACT not in places]
    page.pictures(
        [Panel(standing_figure(place), str(place), f"Histogram with this network marked: {place}.") for place in drawn], "small"
    )


def key(placed: Sequence[Standing]) -> str:
    """The verdicts' colours, once for all histograms."""
    names = in_order(placed[0].values["_verdict"]) if placed else []
    return '<p class="key">' + " ".join(f'<span style="--own:{look(name)[0]}">{text(name)}</span>' for name in names) + "</p>"


def _percentile(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _circle_table(circles: Sequence[CircleEvidence]) -> str:
    head = ["frequency", "components", "variance", "role", "FVE Clock", "FVE Pizza", "FVE accompanying", "accuracy alone"]
    rows = [
        [
            item.circle.frequency,
            ("" if item.circle.method == "components" else "mixed ") + ", ".join(map(str, item.circle.components)),
            *circle_cells(item),
        ]
        for item in circles
    ]
    fitted = [(item.clock_weight, item.pizza_weight, item.accompanying_weight) for item in circles]
    weights = [", ".join(metric_text(weight, 1) for weight in each) for each in fitted]
    rows = [[*row, told] for row, told in zip(rows, weights, strict=True)]
    return table([*head, "weights"], rows, "Circles and the variance that each formula explains", numbers=(0, 2, 4, 5, 6, 7))
