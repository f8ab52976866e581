"""A comparison in words and as data."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from algophase.pages.table import Table
from algophase.record.layout import Layout, to_record
from algophase.runs.boundary import FEWEST_OF_EACH
from algophase.runs.findings import (
    ACCURATE,
    ALL,
    ALL_RATES,
    CIRCULAR,
    FEWEST,
    NOT_CIRCULAR,
    WHOLE_METRICS,
    BoundaryRow,
    Finding,
    Skipped,
    measure_name,
    short_name,
    tested,
)
from algophase.runs.matching import Matched, MatchedRuns
from algophase.runs.runs import METRICS, Runs
from algophase.runs.statistics import NO_RATE, TENTHS

if TYPE_CHECKING:
    from algophase.runs.comparison import Comparison

MOST_NAMED = 4  # tests named in the verdict, or groups where none can be made
MOST_RATES = 3  # single rates named; of more, their tenths are


SHARE_ROW = Layout(
    {
        "group": "group",
        "measure": "measure",
        "among": "among",
        "where": "where",
        "sides": "shares",
    }
)
BOUNDARY_ROW = Layout(
    {
        "group": "group",
        "phase": "phase",
        "agree": "agree",
        "difference": "apart",
        "sides": "sides",
    }
)


def as_data(comparison: "Comparison") -> dict[str, Any]:
    """Everything but the runs themselves, ready for JSON."""
    return {
        "indistinguishable": comparison.indistinguishable,
        "level": comparison.level,
        "verdict": verdict(comparison),
        "boundaries_agree": comparison.boundaries_agree,
        "sides": [side.to_dict() for side in comparison.sides],
        "groups": [group.label for group in comparison.groups],
        "shares": SHARE_ROW.records(comparison.shares),
        "boundaries": BOUNDARY_ROW.records(comparison.boundaries),
        "tests": to_record(comparison.findings),
        "skipped": to_record(comparison.skipped),
        "notes": list(comparison.notes),
    }


def not_tested(sides: tuple[Runs, Runs], groups: tuple[MatchedRuns, ...]) -> list[str]:
    """Measures that one side of a group alone has, which are not tested, or has for some of its
    runs only.
    """
    notes = []
    for group in groups:
        where = f", {group.label}" if group.label else ""
        both = list(zip(sides, group.runs, strict=True))
        for measure in (*tested(group), *WHOLE_METRICS):
            name = measure_name(measure)
            without = [side.name for side, runs in both if measure not in runs]
            if len(without) == 1:
                notes.append(f"{name} is not tested{where}: {without[0]} has no {measure}")
            if without or measure not in METRICS:
                continue
            for side, runs in both:
                has_value = runs.accurate[measure].notna()
                if not has_value.all():
                    count = f"{int(has_value.sum()):,} of {len(has_value):,} accurate runs"
                    notes.append(f"{name} is known for {count} of {side.name}{where}")
    return notes


def no_test(matched: Matched, skipped: Sequence[Skipped]) -> str:
    """Why not one test can be made: what the two do not have in common, or too few runs where
    they meet.
    """
    a, b = (side.name for side in matched.sides)
    sizes = {}
    for test in skipped:
        if (test.among, test.where) == (ALL, ALL_RATES):
            sizes[test.group] = test.sizes
    label, (ours, theirs) = max(sizes.items(), key=lambda item: min(item[1]))
    if min(ours, theirs):
        most = f" ({label}; no other settings have more)" if len(sizes) > 1 else ""
        runs = f"{a} has {ours:,} and {b} {theirs:,}{most}"
        why = (
            "too few runs for any test: in the tenths of the attention rate that both have, "
            f"{runs}, and a test needs {FEWEST} on each side"
        )
        return "; ".join([why, *matched.apart])
    rates = []
    for group in matched.groups:
        settings = f"{group.label}: " if group.label else ""
        first, second = map(_rates, group.runs)
        rates.append(f"{settings}{first} in {a}, {second} in {b}")
    named = rates[:MOST_NAMED]
    if len(rates) > MOST_NAMED:
        named.append(f"and {len(rates) - MOST_NAMED} more settings")
    why = (
        f"no test can be made: {a} and {b} have no tenth of the attention rate in common "
        f"({'; '.join(named)})"
    )
    return "; ".join([why, *matched.apart])


def _rates(runs: Runs) -> str:
    """The attention rates of runs: each if there are a few, or the tenths they lie in."""
    rates = sorted(runs["_rate"].dropna().unique())
    parts = ["none"] if (runs["_tenth"] == NO_RATE).any() else []
    if len(rates) <= MOST_RATES:
        return ", ".join(parts + [f"{rate:g}" for rate in rates])
    tenths = sorted(set(runs["_tenth"]) - {NO_RATE})
    first = [tenth for tenth in tenths if tenth - 1 not in tenths]
    last = [tenth for tenth in tenths if tenth + 1 not in tenths]
    for low, high in zip(first, last, strict=True):
        parts.append(f"{low / TENTHS:g} to {(high + 1) / TENTHS:g}")
    return ", ".join(parts)


def verdict(comparison: "Comparison") -> str:
    a, b = (side.name for side in comparison.sides)
    percent = f"{100 * comparison.level:.10g}%"
    level = f"a family-wise level of {percent} ({len(comparison.findings)} tests)"
    if comparison.indistinguishable:
        return f"{a} and {b} are indistinguishable at {level}"
    rejected = comparison.rejected
    named = "; ".join(str(test) for test in rejected[:MOST_NAMED])
    more = f"; and {len(rejected) - MOST_NAMED} more" if len(rejected) > MOST_NAMED else ""
    return f"{a} and {b} differ at {level}: {named}{more}"


def tell(comparison: "Comparison") -> str:
    lines = [verdict(comparison), *_boundary_summary(comparison), ""]
    for side in comparison.sides:
        lines.append(f"{side.name}: {len(side.frame):,} of {side.rows:,} rows used")
        lines += [f"  - {count:,} left out: {reason}" for count, reason in side.left_out]
    lines += [f"note: {note}" for note in comparison.notes]
    lines += [
        "",
        *_shares(comparison),
        *_boundaries(comparison),
        *_tests(comparison),
        *_skipped(comparison.skipped),
    ]
    return "\n".join(lines).rstrip()


def _boundary_summary(comparison: "Comparison") -> list[str]:
    compared = [row for row in comparison.boundaries if row.agree is not None]
    if not compared:
        return []
    of_both = sum(None not in row.sides for row in comparison.boundaries)
    left = of_both - len(compared)
    more = f" ({left} more cannot be compared)" if left > 0 else ""
    apart = [row for row in compared if not row.agree]
    if not apart:
        which = f"all {len(compared)} boundaries agree"
        if len(compared) == 1:
            which = "the boundary agrees"
        elif len(compared) == 2:
            which = "both boundaries agree"
        return [f"{which}: each side's is within the other's 95% interval{more}"]
    named = "; ".join(f"{_where(row.phase, row.group)} ({_apart(row)})" for row in apart)
    return [
        f"{len(apart)} of {len(compared)} boundaries do not agree (each within the other's 95% "
        f"interval): {named}{more}"
    ]


def _apart(row: BoundaryRow) -> str:
    may_be_zero = None if row.apart is None else row.apart.holds(0.0)
    if may_be_zero is None:
        return "difference unknown"
    return "but the difference may be 0" if may_be_zero else "and the difference is not 0"


def _where(text: str, group: str) -> str:
    return f"{text}, {group}" if group else text


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The first column is of words, the others of numbers."""
    return Table(head, rows, numbers=range(1, len(head))).lines(indent=2)


def _p(value: float) -> str:
    if value >= 0.9995:
        return "1"
    return f"{value:.3f}" if value >= 0.001 else f"{value:.0e}"


def _both_p(test: Finding | None) -> str:
    """p of a test, and p corrected for all tests."""
    if test is None:
        return "skipped"
    return f"{_p(test.p)} ({_p(test.holm)})"


def _shares(comparison: "Comparison") -> list[str]:
    names = [side.name for side in comparison.sides]
    tests = {(test.group, test.measure, test.where): test for test in comparison.findings}
    rows = []
    for row in comparison.shares:
        test = tests.get((row.group, row.measure, row.where))
        name = measure_name(row.measure)
        if row.where != ALL_RATES:
            name = f"{name}, {row.where}"
        rows.append([_where(name, row.group), *map(str, row.shares), _both_p(test)])
    title = (
        "shares, with 95% Wilson intervals; p of an exact test within tenths of the rate "
        "(corrected for all tests)"
    )
    return [title, *_table(["", *names, "p"], rows), ""]


def _boundaries(comparison: "Comparison") -> list[str]:
    if not comparison.boundaries:
        return []
    names = [side.name for side in comparison.sides]
    widths = set()
    rows = []
    slopes = []
    for row in comparison.boundaries:
        name = _where(row.phase, row.group)
        answer = {True: "yes", False: "no", None: "-"}[row.agree]
        apart = "-" if row.apart is None or row.agree is None else str(row.apart)
        rates = ["no such column" if side is None else str(side) for side in row.sides]
        rows.append([name, *rates, apart, answer])
        by_width = [None if side is None else side.slope for side in row.sides]
        if by_width != [None, None]:
            cells = ["-" if slope is None else str(slope) for slope in by_width]
            slopes.append([name, *cells])
        widths |= {side.width for side in row.sides if side is not None and side.width}
    at = f" at width {widths.pop():.0f}" if widths else ""
    title = (
        f"phase boundaries: the rate{at} at which a logistic fit has half of the runs "
        "inside, with 95% bootstrap intervals"
    )
    lines = [title, *_table(["", *names, "difference", "agree"], rows)]
    if any("[no interval]" in cell for row in rows for cell in row):
        lines.append(
            f"no interval: fewer than {FEWEST_OF_EACH} runs inside the phase or outside it"
        )
    lines.append("")
    if slopes:
        lines += [
            "change of that rate per doubling of the width",
            *_table(["", *names], slopes),
            "",
        ]
    return lines


def _tests(comparison: "Comparison") -> list[str]:
    a, b = (side.name for side in comparison.sides)
    lines = []
    for group in comparison.groups:
        for among in (CIRCULAR, NOT_CIRCULAR, ACCURATE):
            tests = []
            for test in comparison.findings:
                belongs = (test.group, test.among) == (group.label, among)
                if belongs and test.measure != "circular":
                    tests.append(test)
            if not tests:
                continue
            measures = list(dict.fromkeys(test.measure for test in tests))
            rows = []
            for where in dict.fromkeys(test.where for test in tests):
                by_measure = {test.measure: test for test in tests if test.where == where}
                rows.append(_row(where, measures, by_measure))
            title = f"{_where(among, group.label)}: Kolmogorov-Smirnov p (corrected for all tests)"
            header = ["", f"runs: {a}", b, "detectable", *(short_name(name) for name in measures)]
            lines += [title, *_table(header, rows), ""]
    if lines:
        power = (
            "detectable: a difference of this Kolmogorov-Smirnov distance or more is found 9 "
            "times in 10; -: no difference is, with so few runs"
        )
        lines += [power, ""]
    return lines


def _row(where: str, measures: list[str], by_measure: dict[str, Finding]) -> list[str]:
    tests = list(by_measure.values())
    detectable = tests[0].detectable
    reach = "-" if detectable is None else f"{detectable:.2f}"
    sizes = []
    for side in (0, 1):
        largest = max(test.sizes[side] for test in tests)
        sizes.append(f"{largest:,}")
    p_values = [_both_p(by_measure.get(name)) for name in measures]
    return [where, *sizes, reach, *p_values]


def _skipped(skipped: Sequence[Skipped]) -> list[str]:
    if not skipped:
        return []
    by_runs: dict[str, list[str]] = {}
    for test in skipped:
        runs = _where(f"{test.among}, {test.where}", test.group)
        ours, theirs = test.sizes
        sizes = f"{short_name(test.measure)} {ours} and {theirs}"
        by_runs.setdefault(runs, []).append(sizes)
    lines = [f"skipped, {len(skipped)} tests with fewer than {FEWEST} runs on a side:"]
    lines += [f"  {runs}: {'; '.join(tests)}" for runs, tests in by_runs.items()]
    return [*lines, ""]
