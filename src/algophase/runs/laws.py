"""Laws of selection: how many key frequencies networks have, and which. Each test states its power
before its answer.

Let u be invertible modulo p. Renaming every number n to u n changes neither the task nor how starts
and splits are drawn, and turns frequency k into a frequency k / u. At a prime p all m = (p - 1)/2
frequencies are therefore equally likely to be keys. Which of them are keys *together* is not
decided by that, and neither is what a start says about its own keys.

    law       what it says                                 test
    number    the number of keys goes with a setting       Spearman's rank correlation
    equal     some frequencies are likelier than others    chi-square; null: each network's keys
                                                           times a unit of its own
    i + j = l, 2i = j, i + j = l + m, ...                  number of relations; null: random sets
              keys have short integer relations, or        of the same sizes (`relation_laws.py`)
              avoid them
    start     the start says which frequencies are keys    area under the ROC curve of the power in
                                                           the initial tables

A power is simulated from the sizes of the sets and the values of the settings alone, for an effect
of a stated size.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy

from algophase.core.errors import InputError
from algophase.core.group import is_prime
from algophase.core.progress import Bar
from algophase.core.relations import RELATIONS
from algophase.pages.table import text_line
from algophase.record.layout import to_record
from algophase.runs.columns import SURVEY_DIGEST, on_other_groups
from algophase.runs.law_tests import KeySets, Law, equal_law, key_sets, number_law, start_laws
from algophase.runs.relation_laws import Compared, compared_with_chance, relation_law
from algophase.runs.rows import run_from_row
from algophase.runs.runs import Runs
from algophase.runs.starts import Starts, initial_powers
from algophase.runs.statistics import holm

if TYPE_CHECKING:
    import pandas

PROGRAM, CIRCLES = "program.frequencies", "circles.frequency"
SETTINGS = (
    "modulus",
    "width",
    "attention_rate",
    "training_fraction",
    "weight_decay",
    "heads",
    "layers",
)
FEWEST = 20  # networks
SMALLEST = 7  # modulus: below, doubling twice leads back
SHARES = "program.frequency_shares"
# Why circles alone do not do
COMPANIONS = "a Pizza's companion has twice its frequency"
NO_RELATIONS = f"{COMPANIONS}, and circles alone cannot distinguish it from a key"
LARGER_SHARE = 0.05  # of the logits: keys that hold at least this much are counted as well


@dataclass(frozen=True)
class Laws:
    """The laws of selection in one table. `str(laws)` has the power of each test, then its result.

    Attributes:
        name: the table's name.
        source: the column of the key frequencies.
        runs: accurate networks with key frequencies.
        sizes: networks by their number of keys.
        level: the family-wise error rate.
        laws: the tests.
        notes: what could not be tested, and why.
    """

    name: str
    source: str
    runs: int
    sizes: Mapping[int, int]
    level: float
    laws: tuple[Law, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Laws of {self.name}: {len(self.laws)} tests on {self.runs:,} networks>"

    def __str__(self) -> str:
        width = max(len(law.name) for law in self.laws)
        mean = sum(size * count for size, count in self.sizes.items()) / self.runs
        lines = [
            f"{self.name}: {self.runs:,} accurate networks with {mean:.2f} key frequencies on "
            f"average ({self.source})",
            "",
        ]
        lines.append(
            "power, stated before looking: the chance of detecting an effect of this size "
            f"(family-wise error rate {self.level:g})"
        )
        for law in self.laws:
            effect = f"{law.effect} ({law.runs:,} networks)"
            cells = [law.name, f"{law.power:.1%}", effect]
            lines.append("  " + text_line(cells, [width, 6, 0], numbers=(1,)))
        lines += ["", "results, with 95% intervals; p-values are corrected by Holm's method"]
        for law in self.laws:
            within = ""
            if law.interval is not None:
                low, high = law.interval
                within = f" [{low:.3f}, {high:.3f}]"
            value = f"{law.measured} {law.value:.3f}{within}, {law.chance:.3f} by chance"
            p_value = f"p = {law.corrected:.2g}" if law.corrected > 1e-15 else "p < 1e-15"
            rows = [[law.name, f"{value}; {p_value}: {self.answer(law)}"]]
            rows += [["", line] for line in law.details]
            lines += ["  " + text_line(row, [width, 0]) for row in rows]
        return "\n".join([*lines, *(f"not tested: {note}" for note in self.notes)])

    def answer(self, law: Law) -> str:
        return "a law" if law.corrected < self.level else "no evidence"

    def to_dict(self) -> dict[str, Any]:
        record: dict[str, Any] = to_record(self)
        for law, law_record in zip(self.laws, record["laws"], strict=True):
            law_record["answer"] = self.answer(law)
        return record


def selection_laws(runs: Runs, *, level: float = 0.01, starts: bool = True, seed: int = 0) -> Laws:
    """Test which laws of selection hold among the accurate networks of a table.

    Arguments:
        runs: the table's runs.
        level: the family-wise error rate: the chance of reporting any law where there is none.
        starts: draw every network's initial weights again from its seed, a few milliseconds per
            network. The law of starts needs it.
        seed: of the simulations.

    Returns:
        `Laws`: `laws` has each test's effect, interval and p-value, and `answer(law)` says what it
        shows. `print` shows all of it.

    Raises:
        InputError: the table has no key frequencies, or `level` is out of range.

    Example:
        >>> from algophase import Runs, selection_laws
        >>> laws = selection_laws(Runs.read("gelu"), starts=False)
        >>> for law in laws.laws:
        ...     print(law.name, "-", laws.answer(law))
        number and attention rate - no evidence
        equal - no evidence
        i + j = l - a law
        2i = j - a law
        i + j = l + m - a law
        2i = j + l - a law
        3i = j - no evidence
        4i = j - no evidence
        3i = j + l - no evidence
        2i + 2j = l - no evidence
    """
    if not 0 < level < 1:
        raise InputError(f"level is {level!r}; it must be between 0 and 1")
    frame, source = with_keys(runs)
    keys = frame["_keys"]
    notes = list[str]()
    if starts and SURVEY_DIGEST in frame:
        starts = False
        notes.append("start: nobody knows the initial weights of networks from files")
    varied = []
    for name in SETTINGS:
        if name in frame and frame[name].nunique() > 1:
            lacking = int(frame[name].isna().sum())
            if len(frame) - lacking >= FEWEST:
                varied.append(name)
            if lacking:
                words = name.replace("_", " ")
                notes.append(
                    f"number and {words}, for {lacking:,} networks without a known {words}"
                )
    large = frame["modulus"] >= SMALLEST
    prime = large & frame["modulus"].map(int).map(is_prime)
    if (~large).any():
        count = f"{(~large).sum():,} networks"
        notes.append(f"which frequencies are keys, for {count} with a modulus below {SMALLEST}")
    is_composite = large & ~prime
    if is_composite.any():
        count = f"{is_composite.sum():,} networks"
        notes.append(
            f"equal and start, for {count} with a composite modulus: their frequencies are not "
            "equally likely"
        )
    on_groups = int(on_other_groups(runs.accurate.frame).sum())
    if on_groups:
        notes.append(
            f"{on_groups:,} networks on groups that are not cyclic: they have no frequencies"
        )
    which = bool(prime.sum() >= FEWEST)
    relations = _testable_relations(keys[large], source, notes)
    tests = len(varied) + which * (1 + 3 * starts) + len(relations)
    test_level = level / max(1, tests)
    counts = keys.map(len).to_numpy()
    laws = list[Law]()
    for name in varied:
        values = frame[name].to_numpy(float, na_value=numpy.nan)
        known = ~numpy.isnan(values)
        laws.append(number_law(values[known], counts[known], name, test_level, seed))
    if which:
        laws.append(equal_law(_by_modulus(frame[prime]), test_level, seed))
    if relations:
        groups = _by_modulus(frame[large])
        variants = _variants(frame[large])
        for name in relations:
            law = relation_law(groups, name, test_level, seed, variants)
            if law is not None:
                laws.append(law)
    if which and starts:
        laws += start_laws(_starts(frame[prime]), list(keys[prime]), test_level, seed)
    corrected = holm([law.p_value for law in laws])
    laws = [replace(law, corrected=p_value) for law, p_value in zip(laws, corrected, strict=True)]
    sizes = {size: int((counts == size).sum()) for size in sorted({*counts.tolist()})}
    return Laws(runs.name, source, len(frame), sizes, level, tuple(laws), tuple(notes))


def relations_in(runs: Runs, name: str, least: float = 0.0) -> Compared:
    """How often the keys of a table's accurate networks have a relation, against random sets.

    Arguments:
        runs: the table's runs.
        name: the relation, one of `core.relations.RELATIONS`.
        least: leave out keys with a smaller share of the logits. All hold at least 1%.

    Raises:
        InputError: there is no such relation, or the table has no programs.
    """
    if name not in RELATIONS:
        raise InputError(f"relation is {name!r}; choose one of {', '.join(RELATIONS)}")
    frame, source = with_keys(runs)
    if source == CIRCLES:
        raise InputError(f"{runs.name} has no column {PROGRAM}: {NO_RELATIONS}")
    frame = frame[frame["modulus"] >= SMALLEST]
    if least:
        frame = frame.assign(_keys=larger_keys(frame, least))
    return compared_with_chance(_by_modulus(frame), name)


def _testable_relations(keys: "pandas.Series[Any]", source: str, notes: list[str]) -> list[str]:
    """The relations that some network has keys enough for; `notes` gets why there are none."""
    if source == CIRCLES:
        notes.append(f"relations: {NO_RELATIONS}")
        return []
    if len(keys) < FEWEST:
        return []
    most_keys = keys.map(len).max()
    return [name for name, terms in RELATIONS.items() if len(terms) <= most_keys]


def _by_modulus(frame: "pandas.DataFrame") -> list[KeySets]:
    groups = []
    for modulus, keys in frame["_keys"].groupby(frame["modulus"]):
        groups.append(key_sets(int(modulus), keys))
    return groups


def _variants(frame: "pandas.DataFrame") -> dict[str, list[KeySets]]:
    """The keys of larger frequencies alone, and those of the networks of each verdict."""
    variants = {}
    if SHARES in frame:
        larger = frame.assign(_keys=larger_keys(frame, LARGER_SHARE))
        variants[f"keys with at least {LARGER_SHARE:.0%} of the logits"] = _by_modulus(larger)
    if "verdict" in frame:
        for verdict, networks in frame.groupby("verdict"):
            variants[f"verdict {verdict}"] = _by_modulus(networks)
    return variants


def larger_keys(frame: "pandas.DataFrame", least: float) -> list[tuple[int, ...]]:
    """The key frequencies of each network that hold at least this share of its logits; none where
    shares are unknown.
    """
    chosen = list[tuple[int, ...]]()
    for frequencies, shares in zip(frame[PROGRAM], frame[SHARES], strict=True):
        if shares is None:  # they depend on an attention rate that nobody states
            chosen.append(())
            continue
        pairs = zip(frequencies, shares, strict=True)
        chosen.append(tuple(sorted(int(key) for key, share in pairs if share >= least)))
    return chosen


def _starts(frame: "pandas.DataFrame") -> list[Starts]:
    starts = []
    with Bar() as bar:
        for done, row in enumerate(frame.to_dict("records")):
            bar.count("drawing starts", done, len(frame))
            starts.append(initial_powers(run_from_row(row)))
    return starts


def with_keys(runs: Runs) -> "tuple[pandas.DataFrame, str]":
    """Accurate runs that have key frequencies, in `_keys`, and the column they come from.

    Tables without programs have circles. One that accompanies a Pizza is no key: it writes to its
    Pizza's frequency.
    """
    frame = runs.accurate.frame
    if PROGRAM in frame and frame[PROGRAM].notna().any():
        source = PROGRAM
        frame = frame[frame[PROGRAM].notna()].copy()
        frame["_keys"] = [tuple(sorted(map(int, keys))) for keys in frame[PROGRAM]]
    else:
        source = CIRCLES
        runs.require([CIRCLES, "circles.role"])
        frame = frame[frame[CIRCLES].notna()].copy()
        frame["_keys"] = list(map(_keys_of_circles, frame[CIRCLES], frame["circles.role"]))
    frame = frame[frame["_keys"].map(len) > 0]
    if len(frame) < FEWEST:
        on_groups = int(on_other_groups(runs.accurate.frame).sum())
        elsewhere = f"; {on_groups:,} are on groups without frequencies" if on_groups else ""
        raise InputError(
            f"{runs.name} has {len(frame)} accurate networks with key frequencies{elsewhere}; "
            f"laws need at least {FEWEST}"
        )
    return frame, source


def _keys_of_circles(frequencies: Sequence[int], roles: Sequence[str]) -> tuple[int, ...]:
    """The frequencies of one network's circles, but of those that accompany a Pizza."""
    keys = set()
    for frequency, role in zip(frequencies, roles, strict=True):
        if role != "accompanying":
            keys.add(int(frequency))
    return tuple(sorted(keys))
