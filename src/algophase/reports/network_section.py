"""The section of a page on one network: verdict and reasons, metrics among a population's,
circles, logits, attention.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from algophase.analysis.catalogue import (
    EXACT,
    IRRELEVANCE,
    SYMMETRICITY,
    label,
    quantity,
)
from algophase.analysis.hidden.layers import additivity_by_layer
from algophase.analysis.presentation import columns_at_a_glance, metric_rows, program_panels
from algophase.analysis.result import Analysis
from algophase.analysis.specimen import Specimen
from algophase.analysis.verdict.decide import NEARLY_RIGHT
from algophase.core.errors import InputError
from algophase.core.lines import reaches
from algophase.core.palette import in_order, look
from algophase.core.wording import counted
from algophase.networks import Network
from algophase.pages.network_text import (
    CIRCLE_HEAD,
    INSTANCE_HEAD,
    circle_cells,
    instance_rows,
    program_lines,
)
from algophase.pages.table import Link, Table
from algophase.pages.text import percent
from algophase.pictures.by_rate import Network as NetworkPoint
from algophase.pictures.marks import Panel
from algophase.pictures.program import MOST_PROFILES
from algophase.reports.anatomy_section import add_anatomy
from algophase.reports.by_setting import panel_by_rate
from algophase.reports.group_section import GROUP_MEANING, add_group
from algophase.reports.network_panels import (
    attention_panels,
    attention_rate,
    circle_panel,
    correct_logits_panel,
    drawn_circles,
    history_panels,
    instance_panel,
    isolated_panel,
)
from algophase.reports.page import Page, listed, paragraph, text
from algophase.reports.phase_diagrams import standing_panel
from algophase.runs.pictures import rate_by_metric
from algophase.runs.runs import Runs
from algophase.runs.standing import MetricStanding, foreign_settings, settings_of, standings
from algophase.storage.runs_table import RUNS_FILE, read_shard
from algophase.storage.sweep_directory import NETWORKS
from algophase.training.run.trained import CURVES

MOST_LISTED = 12  # numbers of one setting
HISTORY = "history."  # before the names of a row's training curves
MEANING = {
    "Clock": "It learned the Clock: it adds the angles of its two inputs by multiplying, and is as "
    "sure of its answer at every distance a\u00a0−\u00a0b.",
    "Pizza": "It learned the Pizza: it averages the two embeddings and reads the sum off their "
    "middle, so how sure it is depends on the distance a\u00a0−\u00a0b.",
    "hybrid": "It is a hybrid: some of its circles work as a Clock, others as a Pizza, and both "
    "contribute to its answers.",
    "non-circular": "Its embedding is not circular, so it is neither Clock nor Pizza in the "
    "paper's sense.",
    "other": "It answers every pair right, but with no algorithm that we recognize.",
    "lookup": "It answers every pair right, as a lookup table does: no frequency works by itself.",
    "not learned": "It has not learned the task: it does not answer every pair right.",
}
MEANING |= {label: GROUP_MEANING[label] for label in ("adding", "multiplying")}
NEARLY_LEARNED = (
    "It answers nearly every pair right. Because of a few wrong ones, it counts as not learned."
)

ABOUT_INSTANCES = (
    "A network runs a few small algorithms side by side. Each instance is a key frequency of the "
    "logits with the circles that belong to it. Share: the part of the network's logits that the "
    "instance accounts for. Fit: how much of the logits that it writes alone its form explains. "
    "Kept: how much of the logits that it writes alone is in the network's own logits."
)
ABOUT_LAYERS = (
    "Additivity when the instances are kept apart in the residual stream after each layer. A rise "
    "means that the layer before mixes the instances."
)
ABOUT_PROGRAM = (
    "With d = a − b and r = a + b − c, the logits are a sum over key frequencies k of "
    "g(d) cos(2πkr/p) and smaller parts. A Clock's profile g is flat, a Pizza's is |cos(πkd/p)|, "
    "and a circle of twice the frequency adds −cos(2πkd/p) to either. On a circle of two or three "
    "points (a short cycle) these are the same, so it is neither a Clock nor a Pizza."
)
NO_CIRCLES = "No frequency of the embedding stands out as a circle."
ABOUT_CIRCLES = (
    "FVE, as the paper defines it: the fraction of the variance of the logits, with one circle "
    "kept, that each formula explains. It is 100% for a perfect fit, −100% where formula and "
    "logits are unrelated, and less where they are opposed. Isolation leaves offsets that depend "
    "on c alone, and they can make it low. The role comes from the weights of all three formulas "
    "(Clock, Pizza, accompanying) fitted at once; such offsets do not change it."
)
ABOUT_LOGITS = (
    "The logit of the right answer for every pair: a Pizza's depends on a\u00a0−\u00a0b (bands "
    "along the rows), a Clock's does not. First the whole network, then each circle alone, with "
    "rows and columns in steps of that circle's spacing."
)


def told_of(analysis: Analysis) -> tuple[str, Sequence[str]]:
    """What its label means, and the reasons for it."""
    verdict = analysis.verdict
    meaning = MEANING[analysis.label]
    if analysis.on_group is not None:
        meaning = GROUP_MEANING.get(analysis.label, meaning)
    if verdict.label == "not learned" and reaches(analysis.accuracy, NEARLY_RIGHT):
        meaning = NEARLY_LEARNED
    return meaning, verdict.general if verdict.known else analysis.paper.reasons


INSTANCE_TABLE = [*INSTANCE_HEAD, "kept"]


def odd_numbers(analysis: Analysis) -> list[str]:
    """Why shares in a table of instances are negative or above 100%, if any are."""
    instances = analysis.instances.instances
    lines = []
    tiny = 0.5e-4  # less is shown as 0.00% and 100.00%
    if any(instance.share < -tiny for instance in instances):
        lines.append(
            "A negative share: alone, this instance writes logits that point away from the "
            "network's own."
        )
    if analysis.instances.remainder < -tiny:
        beyond = percent(-analysis.instances.remainder)
        lines.append(
            f"The shares exceed 100% by {beyond}: instances overlap, so what they have in common "
            "counts twice."
        )
    if any(instance.kept > 1 + tiny for instance in instances):
        lines.append(
            "Kept above 100%: other instances write some of the same logits as this one does alone."
        )
    return lines


def instance_table(analysis: Analysis) -> list[list[str]]:
    """The rows of a table of instances under `INSTANCE_TABLE`."""
    instances = analysis.to_dict()["instances"]
    rows = instance_rows(instances)
    for row, instance in zip(rows, instances, strict=True):
        row.append(percent(instance["kept"]))
    return rows


def read_history(network: Network, path: Path) -> Mapping[str, Sequence[Any]] | None:
    """The training curves in the row of a network that `train` kept, or None where there is none.
    path: its file, in the folder `networks` of its shard.
    """
    file = path.parent.parent / RUNS_FILE
    if path.parent.name != NETWORKS or not file.is_file():
        return None
    columns = [f"{HISTORY}{name}" for name in ("epochs", *CURVES)]
    table = read_shard(file, ["run_id", *columns])
    if f"{HISTORY}epochs" not in table.column_names:
        return None
    rows = [row for row in table.to_pylist() if row.get("run_id") == network.id]
    if not rows:
        return None
    curves = {name.removeprefix(HISTORY): values for name, values in rows[0].items()}
    epochs = curves["epochs"]
    unreadable = f"{file} has no readable history"
    if not _numbers(epochs) or not epochs:
        raise InputError(f"{unreadable}: it has no epochs")
    kept = {name: curves[name] for name in CURVES if curves.get(name) is not None}
    for name, values in kept.items():
        if not _numbers(values, or_none=True) or len(values) != len(epochs):
            raise InputError(f"{unreadable}: {name} is not one number per epoch")
    return {"epochs": epochs, **kept}


def _numbers(values: object, or_none: bool = False) -> bool:
    if not isinstance(values, list):
        return False
    numbers = [value for value in values if value is not None] if or_none else values
    return all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers)


def anchor(number: int) -> str:
    return f"network-{number}"


def add_index(page: Page, specimens: Sequence[Specimen]) -> None:
    """All networks in one table, each leading to its section."""
    page.heading(2, "Networks", "networks")
    columns = columns_at_a_glance([item.analysis for item in specimens])
    rows = []
    for number, (item, cells) in enumerate(zip(specimens, columns.rows, strict=True), 1):
        link = Link(anchor(number), item.name)
        rows.append([number, link, item.analysis.label, item.analysis.headline, *cells])
    head = ["", "network", "verdict", "in words", *columns.heads]
    numbers = (0, *range(4, len(head)))
    page.add(Table(head, rows, numbers).html("All networks of this page"))


def add_population(
    page: Page, population: Runs, specimens: Sequence[Specimen], matched: Sequence[bool]
) -> None:
    """The population as phase diagrams, with the networks that belong to it marked by their
    numbers.
    """
    population = population.drawable()
    of_this_kind = list[tuple[int, Specimen]]()
    of_another_kind = list[str]()
    rateless = list[str]()
    for number, (item, fits) in enumerate(zip(specimens, matched, strict=True), 1):
        if not fits:
            of_another_kind.append(str(number))
            continue
        of_this_kind.append((number, item))
        if math.isnan(attention_rate(item.network)):
            rateless.append(str(number))
    metrics = [name for name in (SYMMETRICITY, IRRELEVANCE) if name in population]
    if not population.rates_vary or not metrics or len(rateless) == len(of_this_kind):
        return
    page.heading(2, f"Among the runs of {population.name}", "population")
    markers = "numbered markers are the networks of the table above"
    if len(specimens) == 1:
        markers = "the large marker is this network"
    runs = f"{len(population):,} runs, those at full accuracy drawn"
    page.add(paragraph(f"{runs}, colored by {population.verdict_name}; {markers}."))
    if of_another_kind:
        reason = "Of another kind than these runs, and not drawn here"
        page.add(paragraph(f"{reason}: {', '.join(of_another_kind)}.", "note"))
    if rateless:
        reason = "Without an attention rate, and not drawn here"
        page.add(paragraph(f"{reason}: {', '.join(rateless)}.", "note"))
    panels = [panel_by_rate(population, height=420)]
    accurate = population.accurate.frame
    for metric in metrics:
        by_rate = f"{label(metric)} against the attention rate"
        runs = f"the runs of {population.name}"
        alt = f"{by_rate} for {runs}, with {len(of_this_kind)} networks marked."
        caption = f"{label(metric)}; the dotted line is the paper's phase boundary of this metric"
        networks = _points_of(of_this_kind, metric)
        panel = rate_by_metric(accurate, metric, networks=networks, caption=caption, alt=alt)
        panels.append(panel)
    page.pictures(panels)


def _points_of(numbered: Sequence[tuple[int, Specimen]], metric: str) -> list[NetworkPoint]:
    """Networks by rate and metric, as far as they have both."""
    points = []
    for number, item in numbered:
        rate = attention_rate(item.network)
        analysis = item.analysis
        if not math.isnan(rate) and metric in analysis.metrics:
            point = NetworkPoint(
                number=number,
                name=item.name,
                verdict=analysis.label,
                x=rate,
                y=analysis.metrics[metric],
            )
            points.append(point)
    return points


def add_network(
    page: Page, number: int, item: Specimen, population: Runs | None, of: int = 1
) -> None:
    """One network's section. population: the runs it is compared with, None if there are none
    like it; of: how many follow.
    """
    analysis = item.analysis
    numbered = f"{number}. " if of > 1 else ""
    page.heading(2, f"{numbered}{item.name}: {analysis.headline}", anchor(number))
    meaning, reasons = told_of(analysis)
    page.add(f'<div class="verdict"><strong>{text(meaning)}</strong>{listed(reasons)}</div>')
    page.add(paragraph(_describe(item.given), "note"))
    page.add(*(paragraph(note, "note") for note in item.notes))
    compared = None if population is None else population.drawable()
    if analysis.on_group is not None:
        add_group(page, item)
        _add_cautions(page, analysis)
        _add_metrics(page, item, compared)
    else:
        _add_on_cycle(page, item, compared)
    attention = attention_panels(item)
    if attention:
        _add_attention(page, item, attention)
    if item.history is not None:
        page.heading(3, "Training")
        page.pictures(history_panels(item.history))


def _add_on_cycle(page: Page, item: Specimen, population: Runs | None) -> None:
    """What is said of a network that adds modulo p."""
    analysis = item.analysis
    circles = drawn_circles(item)
    if analysis.verdict.known:
        _add_program(page, item)
        page.heading(3, f"By the paper's rules: {analysis.paper.title}")
        page.add(listed(analysis.paper.reasons))
    _add_cautions(page, analysis)
    _add_metrics(page, item, population)
    page.heading(3, "Circles in the embedding")
    if not circles:
        page.add(paragraph(NO_CIRCLES))
    else:
        page.pictures([circle_panel(item, circle) for circle in circles], "small")
        page.heading(3, "What each circle does alone")
        page.add(paragraph(ABOUT_CIRCLES), _circle_table(analysis.to_dict()["circles"]))
    if analysis.anatomy is not None:
        add_anatomy(page, analysis.anatomy)
    page.heading(3, "Correct logits")
    page.add(paragraph(ABOUT_LOGITS))
    alone = [isolated_panel(item, circle) for circle in circles] if item.has_code else []
    page.pictures([correct_logits_panel(item), *alone])
    left = len(analysis.circles) - len(circles)
    if left:
        page.add(paragraph(f"{left} more circles are in the table but not drawn.", "note"))


def _add_cautions(page: Page, analysis: Analysis) -> None:
    page.add(*(paragraph(f"Note: {caution}.", "note") for caution in analysis.cautions))


def _add_program(page: Page, item: Specimen) -> None:
    """Instances, program, their pictures, and the logits of each instance alone."""
    analysis = item.analysis
    page.heading(3, "Instances")
    if analysis.instances.instances:
        page.add(paragraph(ABOUT_INSTANCES))
        instances = Table(INSTANCE_TABLE, instance_table(analysis), numbers=(2, 3, 4, 5, 6))
        page.add(instances.html("Instances of the network"))
    else:
        page.add(paragraph("No frequency of the embedding works by itself.", "note"))
    page.add(*(paragraph(line, "note") for line in odd_numbers(analysis)))
    page.add(paragraph(f"{analysis.verdict.confidence}.", "note"))
    _add_layers(page, item)
    page.heading(3, "Program")
    page.add(paragraph(ABOUT_PROGRAM))
    for line in program_lines(analysis.to_dict()["program"]):
        page.add(paragraph(_sentence(line), "note"))
    shares, *profiles = program_panels(analysis)
    page.pictures([shares], "wide")
    page.pictures(profiles)
    pairs = list(zip(analysis.instances.instances, analysis.verdict.forms, strict=True))
    if pairs and item.has_code:
        page.heading(3, "Correct logits of each instance alone")
        drawn = pairs[:MOST_PROFILES]
        page.pictures([instance_panel(item, instance, form) for instance, form in drawn])


def _add_layers(page: Page, item: Specimen) -> None:
    """Of a deeper network, where its instances mix."""
    groups = [instance.frequencies for instance in item.analysis.instances.instances]
    stream = item.network.residual_stream()
    if stream is None or len(stream.layers) < 2 or not groups:
        return
    rows = []
    for layer in additivity_by_layer(item.network, groups):
        where = "in the embedding"
        if layer.after_layers:
            where = f"after {counted(layer.after_layers, 'layer')}"
        rows.append([where, percent(layer.additivity)])
    table = Table(["kept apart", "additivity"], rows, numbers=(1,))
    page.add(paragraph(ABOUT_LAYERS), table.html("Where the instances mix"))


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _add_attention(page: Page, item: Specimen, panels: Sequence[Panel]) -> None:
    page.heading(3, "Attention")
    rate = attention_rate(item.network)
    if not rate:
        page.add(paragraph("Attention rate 0: every weight is 1 and attention plays no part."))
        return
    about = (
        "What the position that answers takes from each operand, after the attention rate of "
        f"{rate:.4g} is applied"
    )
    if not item.network.task.equals_sign:
        about += "; the weights on a and b add up to a constant"
    page.add(paragraph(f"{about}."))
    page.pictures(panels, "small")


def _describe(network: Network) -> str:
    """A network's settings in words."""
    parts = []
    for key, value in settings_of(network).items():
        name = key.replace("_", " ")
        if isinstance(value, bool):
            parts += [name] if value else []
        elif value is None:
            parts.append(f"{name} unknown")
        elif isinstance(value, float):
            parts.append(f"{name} {value:.6g}")
        elif isinstance(value, tuple | list):
            if len(value) > MOST_LISTED or any(isinstance(item, tuple | list) for item in value):
                continue  # how numbers are named says nothing to a reader
            parts.append(f"{name} {', '.join(map(str, value))}")
        else:
            parts.append(f"{name} {value}")
    run = network.run
    if run is not None:
        parts.append(f"trained for {run.training.epochs:,} epochs from seed {run.seed}")
    return ", ".join(parts)


def _add_metrics(page: Page, item: Specimen, population: Runs | None) -> None:
    page.heading(3, "Metrics")
    placed = [] if population is None else standings(item.analysis, population)
    percentiles = {standing.metric: _percentile(standing.percentile) for standing in placed}
    rows = list[list[str]]()
    head = ["metric", "which", "value"]
    among = ""
    if population is not None and placed:
        runs = f"{len(placed[0].values):,} {placed[0].among} of {population.name}"
        among = f"Percentiles are those among {runs}."
        head.append("percentile")
    for row in metric_rows(item.analysis):
        which = row.which or quantity(row.metric).meaning
        cells = [row.name, which, row.value]
        if among:
            cells.append(percentiles.get(row.metric, ""))
        rows.append(cells)
    page.add(Table(head, rows, numbers=(2, 3)).html("Metrics of the network"))
    if population is None:
        return
    differ = foreign_settings(item.given, population)
    if differ:
        unlike = f"Unlike the runs of {population.name}"
        page.add(paragraph(f"{unlike}, this network has {'; '.join(differ)}.", "note"))
    if not placed:
        page.add(paragraph(f"{population.name} has no runs to compare it with.", "note"))
        return
    below = f"Below, the runs' metrics, stacked by {population.verdict_name}"
    page.add(paragraph(f"{among} {below}; the upright line is this network.", "note"), key(placed))
    panels = []
    for standing in placed:
        if standing.metric != SYMMETRICITY or EXACT not in percentiles:
            alt = f"Histogram with this network marked: {standing}."
            panels.append(standing_panel(standing, alt))
    page.pictures(panels, "small")


def key(placed: Sequence[MetricStanding]) -> str:
    """The verdicts' colors, once for all histograms."""
    names = in_order(placed[0].values["_verdict"]) if placed else []
    entries = []
    for name in names:
        color, _ = look(name)
        entries.append(f'<span style="--own:{color}">{text(name)}</span>')
    return f'<p class="key">{" ".join(entries)}</p>'


def _percentile(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _circle_table(circles: Sequence[Mapping[str, Any]]) -> str:
    """circles: of an analysis' record."""
    rows = []
    for circle in circles:
        components = ", ".join(map(str, circle["components"]))
        if circle["method"] != "components":
            components = f"mixed {components}"
        weights = []
        for name in ("clock_weight", "pizza_weight", "accompanying_weight"):
            weight = circle[name]
            # + 0.0: no minus zero
            weights.append("undefined" if weight is None else f"{round(weight, 1) + 0.0:.1f}")
        cells = circle_cells(circle)
        rows.append([circle["frequency"], components, *cells, ", ".join(weights)])
    head = ["frequency", "components", *CIRCLE_HEAD, "weights"]
    table = Table(head, rows, numbers=(0, 2, 4, 5, 6, 7))
    return table.html("Circles and the variance that each formula explains")
