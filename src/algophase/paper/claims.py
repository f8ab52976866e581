"""Every item's claims, judged: what the paper says, what is measured, and by which rule.

Everything that a claim says is in `claims.toml` (read by `published`). `measure` finds the
population and measures the quantity, a function of `rules` judges it, and here the two become a
line of the page.
"""

from collections.abc import Sequence

from algophase.paper.measure import Measurement, measure, measure_optional
from algophase.paper.product import Claim
from algophase.paper.published import Entry, entries
from algophase.paper.rules import RULES, limit_of
from algophase.paper.sources import Sources


def claims_of(label: str, sources: Sources) -> tuple[Claim, ...]:
    """The claims of an item, judged."""
    return judge_all(entries()[label], sources)


def judge_all(described: Sequence[Entry], sources: Sources) -> tuple[Claim, ...]:
    """Claims beside what is measured. One whose quantity has nothing to be measured on is left
    out.
    """
    claims = []
    for entry in described:
        find = measure_optional if entry.optional else measure
        measurement = find(sources, entry.population, entry.quantity, **entry.arguments)
        if measurement is not None:
            claims.append(judge(entry, measurement))
    return tuple(claims)


def judge(entry: Entry, measurement: Measurement) -> Claim:
    """A claim beside its measurement."""
    verdict, rule = RULES[entry.rule](entry, measurement)
    words = {
        **entry.arguments,
        "value": measurement.value,
        "line": limit_of(entry),
        "place": entry.place,
        "published": entry.published,
        "sample": measurement.sample,
        "rule": rule,
        **measurement.words,
    }
    return Claim(
        entry.text.format(**words),
        entry.published.format(**words),
        entry.ours.format(**words),
        verdict,
        measurement.sample,
        entry.note.format(**words),
    )
