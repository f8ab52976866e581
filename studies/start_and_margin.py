"""Do the start *and* the avoidance of sums predict key frequencies better than the start alone?

    python studies/start_and_margin.py                       # gallery/fixed-width: a minute
    python studies/start_and_margin.py heads decay data      # the tables that the plan was made on;
                                                             # two of them have grown since

The plan is studies/plans/start_and_margin.md. It was committed before fixed-width was looked at.
"""

import argparse
import math
from pathlib import Path
from typing import NamedTuple

import numpy
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar

from algophase import Runs
from algophase.core.fourier import folded, frequencies
from algophase.core.relations import RELATIONS, relation_counts
from algophase.runs.boundary import bootstrap_interval
from algophase.runs.laws import with_keys
from algophase.runs.rows import run_from_row
from algophase.runs.starts import BOTH, initial_powers

ROOT = Path(__file__).parents[1]
MODULUS = 59
COUNT = len(frequencies(MODULUS))
FOLDS, DRAWS, RESAMPLES = 10, 1000, 2000
SUM = RELATIONS["i + j = l"]
Floats = NDArray[numpy.float64]


class Networks(NamedTuple):
    """start: power of each frequency in W_E + W_U at the start, standardized within a network,
    (n, 29); is_key: (n, 29).
    """

    start: Floats
    is_key: NDArray[numpy.bool_]


def read_networks(names: list[str]) -> Networks:
    starts = []
    keys = []
    for name in names:
        frame, _ = with_keys(Runs.read(ROOT / "gallery" / name))
        frame = frame[frame["modulus"] == MODULUS]
        for row in frame.to_dict("records"):
            powers = initial_powers(run_from_row(row))[BOTH]
            starts.append((powers - powers.mean()) / powers.std())
            is_key = numpy.zeros(COUNT, dtype=bool)
            is_key[[key - 1 for key in row["_keys"]]] = True
            keys.append(is_key)
    return Networks(numpy.array(starts), numpy.array(keys))


def margins(start: Floats) -> Floats:
    """How much stronger each frequency is than the best pair that it is a sum of: its start less
    the largest min(start i, start j) over i + j = k, of all signs. (n, 29)
    """
    columns = []
    for k in frequencies(MODULUS):
        pairs = set[tuple[int, int]]()
        for i in frequencies(MODULUS):
            for j in (folded(k - i, MODULUS), folded(k + i, MODULUS)):
                if j > 0 and len({i, j, k}) == 3:
                    pairs.add((min(i, j), max(i, j)))
        first, second = numpy.array(sorted(pairs)).T - 1
        weaker = numpy.minimum(start[:, first], start[:, second])
        columns.append(start[:, k - 1] - weaker.max(axis=1))
    return numpy.column_stack(columns)


def areas(scores: Floats, is_key: NDArray[numpy.bool_]) -> Floats:
    """For each network, the chance that a key has a larger score than another frequency."""
    values = []
    for score, key in zip(scores, is_key, strict=True):
        apart = score[key][:, None] - score[~key]
        values.append((numpy.sign(apart).mean() + 1) / 2)
    return numpy.array(values)


def fitted_weight(start: Floats, margin: Floats, is_key: NDArray[numpy.bool_]) -> float:
    """Weight of the margin, relative to the start's, by a logistic regression of keys on both."""
    signs = numpy.where(is_key, 1.0, -1.0)

    def loss(weights: Floats) -> float:
        linear = weights[0] + weights[1] * start + weights[2] * margin
        return float(numpy.logaddexp(0, -signs * linear).mean())

    _, of_start, of_margin = minimize(loss, numpy.array([-2.0, 1.0, 0.0]), method="BFGS").x
    return float(of_margin / of_start)


def symmetric_polynomials(weights: Floats, size: int) -> Floats:
    """e_r of the weights from each item on, (29 + 1, size + 1)."""
    table = numpy.zeros((COUNT + 1, size + 1))
    table[:, 0] = 1.0
    for item in reversed(range(COUNT)):
        table[item, 1:] = table[item + 1, 1:] + weights[item] * table[item + 1, :-1]
    return table


def set_log_likelihood(start: Floats, key: NDArray[numpy.bool_], strength: float) -> float:
    """log P of a network's set among all sets of its size, where P goes with the product of
    exp(strength * start) of its members.
    """
    size = int(key.sum())
    table = symmetric_polynomials(numpy.exp(strength * start), size)
    return float(strength * start[key].sum() - numpy.log(table[0, size]))


def drawn_sets(
    start: Floats, size: int, strength: float, random: numpy.random.Generator
) -> NDArray[numpy.int64]:
    """Sets of that distribution, as frequencies (DRAWS, size): items in turn, each with the
    chance that it has among those still to come.
    """
    weights = numpy.exp(strength * start)
    table = symmetric_polynomials(weights, size)
    left = numpy.full(DRAWS, size)
    sets = numpy.zeros((DRAWS, size), dtype=numpy.int64)
    for item in range(COUNT):
        without_item = table[item + 1, numpy.maximum(left - 1, 0)]
        chance = numpy.where(left > 0, weights[item] * without_item / table[item, left], 0.0)
        taken = random.random(DRAWS) < chance
        sets[taken, size - left[taken]] = item + 1
        left = left - taken
    return sets


def sum_gains(penalty: float, own_sums: Floats, drawn_sums: Floats) -> Floats:
    """What a factor exp(-penalty) per sum adds to each set's log-likelihood."""
    expected = numpy.exp(-penalty * drawn_sums).mean(axis=1)
    return -penalty * own_sums - numpy.log(expected)


def mean_of(values: Floats, random: numpy.random.Generator, sign: str = "") -> str:
    """The mean over networks with its 95% interval. sign: "+" for a difference."""
    chosen = random.integers(len(values), size=(RESAMPLES, len(values)))
    low, high = bootstrap_interval(values[chosen].mean(axis=1))
    return f"{values.mean():{sign}.4f} [{low:{sign}.4f}, {high:{sign}.4f}]"


def report(networks: Networks, seed: int = 0) -> None:
    random = numpy.random.default_rng(seed)
    start, is_key = networks
    count = len(start)
    fold_of = random.permutation(count) % FOLDS
    margin = margins(start)
    sizes = is_key.sum(axis=1)
    uniform = -numpy.log([float(math.comb(COUNT, size)) for size in sizes.tolist()])
    own_sums = numpy.zeros(count)
    for row, key in enumerate(is_key):
        keys = numpy.flatnonzero(key) + 1
        own_sums[row] = _sums(keys[None])[0]
    scores = numpy.zeros_like(start)
    by_start = numpy.zeros(count)
    drawn_sums = numpy.zeros((count, DRAWS))
    weights = []
    for fold in range(FOLDS):
        test = fold_of == fold
        weight = fitted_weight(start[~test], margin[~test], is_key[~test])
        weights.append(weight)
        scores[test] = start[test] + weight * margin[test]
        strength = _fitted_strength(start[~test], is_key[~test])
        for index in numpy.flatnonzero(test):
            by_start[index] = set_log_likelihood(start[index], is_key[index], strength)
            sets = drawn_sets(start[index], int(sizes[index]), strength, random)
            drawn_sums[index] = _sums(sets)
    gains = numpy.zeros(count)
    penalties = []
    for fold in range(FOLDS):
        test = fold_of == fold
        penalty = _fitted_penalty(own_sums[~test], drawn_sums[~test])
        penalties.append(penalty)
        gains[test] = sum_gains(penalty, own_sums[test], drawn_sums[test])
    start_areas = areas(start, is_key)
    margin_areas = areas(scores, is_key)
    print(f"{count:,} networks, {sizes.mean():.2f} keys each, {FOLDS}-fold cross-validation")
    print("one frequency at a time: the chance that a key scores above another frequency")
    print(f"  start            {mean_of(start_areas, random)}")
    print(f"  start + margin   {mean_of(margin_areas, random)}")
    print(f"  difference       {mean_of(margin_areas - start_areas, random, '+')}")
    print(f"  weight of the margin over the start's: {numpy.mean(weights):+.3f}")
    print("the set as a whole: log-likelihood of the keys given their number, in nats")
    print(f"  start, over uniform sets             {mean_of(by_start - uniform, random, '+')}")
    print(f"  start and sums, over the start alone {mean_of(gains, random, '+')}")
    print(f"  a sum makes a set {numpy.exp(numpy.mean(penalties)):.1f} times less likely")


def _sums(sets: NDArray[numpy.int64]) -> NDArray[numpy.int64]:
    return relation_counts(sets, MODULUS, SUM)


def _fitted_penalty(own_sums: Floats, drawn_sums: Floats) -> float:
    """The penalty per sum at which the sets are likeliest."""

    def loss(penalty: float) -> float:
        return -float(sum_gains(penalty, own_sums, drawn_sums).mean())

    return float(minimize_scalar(loss, bounds=(0.0, 10.0), method="bounded").x)


def _fitted_strength(start: Floats, is_key: NDArray[numpy.bool_]) -> float:
    """The strength at which the sets are likeliest, by their start alone."""

    def loss(strength: float) -> float:
        networks = zip(start, is_key, strict=True)
        values = [set_log_likelihood(own_start, key, strength) for own_start, key in networks]
        return -float(numpy.mean(values))

    return float(minimize_scalar(loss, bounds=(0.0, 5.0), method="bounded").x)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", default=["fixed-width"], metavar="TABLE")
    report(read_networks(parser.parse_args().tables))


if __name__ == "__main__":
    main()
