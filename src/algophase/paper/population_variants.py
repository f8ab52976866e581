"""Other architectures: linear models (appendix E), and transformers of slightly different setups
(appendix I).
"""

from collections.abc import Sequence
from itertools import combinations

from algophase.analysis.catalogue import CIRCULARITY, IRRELEVANCE, SYMMETRICITY
from algophase.core.lines import exceeds, falls_short
from algophase.core.settings import LINEAR_MODELS
from algophase.paper.measure import (
    OTHERS,
    SUBSETS,
    Measurement,
    find_population,
    measured,
    quantity,
)
from algophase.paper.population_figures import linear_figure, rates_figure
from algophase.paper.population_released import VARIANTS, beside, released_shift, shift
from algophase.paper.populations import (
    ASYMMETRIC,
    HIGH,
    LOW,
    SYMMETRIC,
    Phases,
    bootstrap_difference,
    phases,
    population,
    transition_table,
)
from algophase.paper.product import Product, Table
from algophase.paper.rules import all_of, apart, decided, points, runs_to_decide
from algophase.paper.sources import Missing, Sources
from algophase.runs.boundary import Estimate
from algophase.runs.runs import Runs
from algophase.runs.statistics import Share, same_distribution

GREEK = {
    "alpha": r"$\alpha$",
    "beta": r"$\beta$",
    "gamma": r"$\gamma$",
    "delta": r"$\delta$",
    "alpha-prime": r"$\alpha'$",
}
WORD = {name: name.replace("-prime", "'") for name in LINEAR_MODELS}
FIFTHS = 5
SIDES = {"Pizza": (SYMMETRIC, LOW), "Clock": (ASYMMETRIC, HIGH)}
Models = dict[str, Runs]  # by linear model


def _linear_models(sources: Sources) -> Models:
    return {name: population(sources, f"linear-{name}") for name in LINEAR_MODELS}


OTHERS["linear models"] = _linear_models


# --- linear models


def lineararchs(sources: Sources) -> Product:
    models = find_population(sources, "linear models")
    accurate = {name: runs.accurate for name, runs in models.items()}
    rows = [_model_row(name, models[name], runs) for name, runs in accurate.items()]
    columns = (
        "model",
        "accurate",
        "irrelevance: median (quartiles)",
        "median circularity",
        "circular",
        "median symmetricity",
    )
    source = "; ".join(runs.source for runs in models.values())
    source += (
        "; at 100% validation accuracy; distance irrelevance by definition; circularity is not "
        "defined for alpha', which has two tables; its picture takes the lower of the two"
    )
    figure = linear_figure({GREEK[name]: runs for name, runs in accurate.items()})
    return Product(source, {"": figure}, {"": Table(columns, tuple(rows))})


def _model_row(name: str, runs: Runs, accurate: Runs) -> tuple[str, ...]:
    irrelevance = "- (- to -)"
    if len(accurate):
        values = accurate[IRRELEVANCE]
        low, middle, high = (f"{values.quantile(level):.3f}" for level in (0.25, 0.5, 0.75))
        irrelevance = f"{middle} ({low} to {high})"
    circular = "not defined"
    if runs.circular_share.total:
        circular = str(runs.circular_share_of_accurate)
    circularity = _median(accurate, CIRCULARITY, ".4f")
    symmetricity = _median(accurate, SYMMETRICITY, ".3f")
    return WORD[name], str(runs.accuracy_share), irrelevance, circularity, circular, symmetricity


def _median(runs: Runs, column: str, form: str) -> str:
    value = runs[column].median()
    return "-" if value != value else format(value, form)


def _distance(models: Models, pair: Sequence[str]) -> tuple[float, float] | None:
    """Kolmogorov-Smirnov distance of two models' irrelevance, and its p; None without runs."""
    first, second = (models[name].accurate.values(IRRELEVANCE) for name in pair)
    return same_distribution(first, second) if len(first) and len(second) else None


def _in_words(pair: Sequence[str], distance: tuple[float, float] | None) -> str:
    value = "-" if distance is None else f"{distance[0]:.2f}"
    return f"{WORD[pair[0]]} to {WORD[pair[1]]} {value}"


def _sample(models: Models, *names: str) -> int:
    return sum(len(models[name].accurate) for name in names)


@quantity
def distances_of_models(models: Models, names: Sequence[str]) -> Measurement:
    """Of each pair of these models; none where one has no runs."""
    distances = {pair: _distance(models, pair) for pair in combinations(names, 2)}
    values = [distance[0] for distance in distances.values() if distance is not None]
    return measured(
        values if len(values) == len(distances) else None,
        sample=_sample(models, *names),
        distances=", ".join(_in_words(*item) for item in distances.items()),
    )


@quantity
def closer_models(models: Models, near: Sequence[str], far: Sequence[Sequence[str]]) -> Measurement:
    """Two models are alike: less than half as far apart as those they are set against."""
    names = {name for pair in (near, *far) for name in pair}
    sample = _sample(models, *names)
    close = _distance(models, near)
    distances = [_distance(models, pair) for pair in far]
    far_apart = [distance[0] for distance in distances if distance is not None]
    if close is None or len(far_apart) < len(far):
        return measured(None, sample=sample, distances="no runs")
    is_close = all(falls_short(close[0], distance / 2) for distance in far_apart)
    in_words = f"{_in_words(near, close)} (p = {close[1]:.2g}), "
    in_words += ", ".join(map(_in_words, far, distances))
    return measured(is_close, sample=sample, distances=in_words)


@quantity
def difference_of_medians(models: Models, column: str, first: str, second: str) -> Measurement:
    """The first model's less the second's, over accurate runs."""
    values = [models[name].accurate.values(column) for name in (first, second)]
    difference = bootstrap_difference(*values)
    in_words = "no runs"
    if difference is not None and difference.interval is not None:
        low, high = difference.interval
        in_words = f"{difference.value:+.4f} [{low:+.4f}, {high:+.4f}]"
    return measured(difference, sample=_sample(models, first, second), difference=in_words)


@quantity
def difference_of_circular_shares(models: Models, first: str, second: str) -> Measurement:
    """Of the accurate runs, the share circular of one model less that of another."""
    of_first, of_second = (models[name].circular_share_of_accurate for name in (first, second))
    difference = apart(of_first, of_second)
    return measured(
        difference,
        sample=_sample(models, first, second),
        points=points(difference),
        of_first=of_first,
        of_second=of_second,
    )


@quantity
def share_above_irrelevance(runs: Runs, limit: float) -> Share:
    return runs.share(exceeds(runs[IRRELEVANCE], limit))


# --- transformers of other setups


def variant(sources: Sources, *, space: str, title: str, released: bool) -> Product:
    """A one-layer experiment with one thing changed, beside the main one; neither is filtered by
    circularity.
    """
    changed, main = (population(sources, name, "attention_rate") for name in (space, "fixed-width"))
    accurate = phases(sources, f"{space} accurate")
    reference = phases(sources, "fixed-width accurate").transitions
    runs = accurate.runs
    transitions = accurate.transitions
    figures, tables, beside_it = beside(sources, changed) if released else ({}, {}, "")
    figures = {"": rates_figure([(title, {"runs": runs}, transitions)]), **figures}
    tables = {"": transition_table({title: transitions, "main experiment": reference}), **tables}
    source = (
        f"{changed.source}, of which {len(runs):,} at 100% validation accuracy, circular or "
        f"not; beside {main.source}; distance irrelevance by definition{beside_it}"
    )
    return Product(source, figures, tables)


@quantity
def share_with_metrics_of(runs: Runs, algorithm: str) -> Share:
    """Runs with both metrics on an algorithm's side."""
    first, second = SIDES[algorithm]
    return runs.share(first.of(runs) & second.of(runs))


@quantity
def shift_of_boundary(populations: tuple[Phases, Phases], metric: str) -> Measurement:
    """Where a phase ends less where it ends in the main experiment; False where one of them has
    no boundary among the rates, None without runs.
    """
    changed, main = (population.transitions[metric].boundary for population in populations)
    moved = shift(changed, main)
    sample = len(populations[0].runs)
    in_words = str(moved or "no boundary")
    if not sample:
        return measured(None, sample=0, shift=in_words)
    return measured(False if moved is None else moved, sample=sample, shift=in_words)


def _released_variant(sources: Sources, space: str) -> tuple[Sources, str]:
    """The authors' runs of a variant, and those of their main experiment."""
    if sources.released_runs is None or space not in VARIANTS:
        raise Missing(f"the authors' table has no runs of {space}")
    return sources, space


SUBSETS["released variant"] = _released_variant


@quantity
def shift_of_released_boundary(
    variant_runs: tuple[Sources, str], metric: str
) -> Measurement | None:
    """The same in the authors' runs, by the metric that their table has."""
    theirs = released_shift(*variant_runs, metric)
    if theirs is None:
        return None
    moved, by, count = theirs
    return measured(moved, sample=count, shift=str(moved or "no boundary"), by=by)


@quantity
def medians_by_rate(runs: tuple[Runs, Runs], metric: str, similar: float) -> Measurement:
    """Whether the curve of a metric by rate is like the main experiment's: medians in each fifth
    of the rates.
    """
    differences = []
    for fifth in range(FIFTHS):
        values = [side.where(side["_tenth"] // 2 == fifth).values(metric) for side in runs]
        difference = bootstrap_difference(*values)
        if difference is not None:
            differences.append((fifth / FIFTHS, difference))
    if not differences:
        return measured(None, sample=0, largest="no runs")
    start, largest = max(differences, key=lambda item: abs(item[1].value))
    are_similar = all_of([decided(moved, -similar, similar) for _, moved in differences])
    in_words = f"{largest} at rates {start:.1f} to {start + 1 / FIFTHS:.1f}"
    sample = len(runs[0])
    needed = _runs_to_decide([moved for _, moved in differences], sample, similar)
    return measured(are_similar, sample=sample, largest=in_words, runs_to_decide=needed)


def _runs_to_decide(differences: list[Estimate], runs: int, similar: float) -> int | None:
    """The curves differ as soon as one difference is too large for sure, and are alike once all of
    them are small for sure.
    """
    open_ones = [one for one in differences if decided(one, -similar, similar) == "undecided"]
    too_large = [one for one in open_ones if abs(one.value) > similar]
    needed = [runs_to_decide(one, runs, -similar, similar) for one in too_large or open_ones]
    numbers = [number for number in needed if number is not None]
    if not numbers:
        return None
    return min(numbers) if too_large else max(numbers)
