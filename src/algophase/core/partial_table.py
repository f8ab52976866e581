"""The group behind a table of answers, many of which may be wrong.

A network that memorized some of the pairs of a group answers those right and the others anyhow.
The right ones fit together, the wrong ones do not. By associativity, each c gives four ballots on
x + y,

    y = c + b:   (x + c) + b            x = a + c:   a + (c + y)
    (x + y) + c = x + (y + c)           c + (x + y) = (c + x) + y

each of which takes three answers. With a share q of the answers right, about 4 n q^3 of the 4 n
ballots agree on the right sum, and the others are spread over all n elements, 4 for each. The
table of winners votes again, until it is a group, or stays as it is and there is none.

Where the others are random, 30% right answers are enough for S5, 35% for A5 and half for Z12
(`tests/core/test_partial_table.py`).
"""

import math

import numpy as np
from numpy.typing import NDArray

from algophase.core.group import Group, Numbers, group_of

# Elements c that are asked for each sum, at most: 4 x 128 ballots decide as well as 4 x 720.
MOST_VOTERS = 128
ROUNDS = 8  # it takes 2 to 4 where there is a group
# Ballots that the answer itself is worth. With a quarter of the answers right at n = 120, an answer
# is ln 30 and a ballot about 1 in the log-odds.
OWN_BALLOTS = 3
# Share of x + 0 and 0 + x that must be x before anything is voted on: a random table has 1 / n.
LEAST_IDENTITY = 0.1
MOST_VOTES = 2**26  # counted at once
# ln of the chance that random answers agree so well with any group
SURELY_NOT_CHANCE = -30.0


def nearest_group(table: Numbers) -> Group | None:
    """The group that a table (n, n) is, or that its answers vote for; None where there is none.

    >>> a, b = np.ogrid[:15, :15]
    >>> sums = (a + b) % 15
    >>> sums[3:6, 2] = 0
    >>> nearest_group(sums).order
    15
    """
    group = group_of(table)
    if group is not None or not _has_identity(table):
        return group
    voted = table
    for _ in range(ROUNDS):
        winners = _voted(voted, table)
        if np.array_equal(winners, voted):
            return None  # it stays as it is, and is no group
        group = group_of(winners)
        if group is not None:
            return group
        voted = winners
    return None


def is_no_chance(group: Group, table: Numbers) -> bool:
    """Whether answers (n, n) agree with a group better than random ones with any group.

    There are at most n! ways to name the elements of a group, and few groups of an order. Random
    answers agree with one of these tables on a share q of the pairs with a chance of at most
    exp(-n^2 KL(q, 1 / n)) (Chernoff).
    """
    n = group.order
    share = float((group.table == table).mean())
    chance = 1 / n
    if share <= chance:
        return False
    divergence = share * math.log(share / chance)
    if share < 1:
        divergence += (1 - share) * math.log((1 - share) / (1 - chance))
    return math.lgamma(n + 1) - n**2 * divergence < SURELY_NOT_CHANCE


def _has_identity(table: Numbers) -> bool:
    numbers = np.arange(len(table))
    from_left = (table == numbers).mean(axis=1)
    from_right = (table == numbers[:, None]).mean(axis=0)
    return bool(np.minimum(from_left, from_right).max() >= LEAST_IDENTITY)


def _voted(table: Numbers, answers: Numbers) -> Numbers:
    """The table (n, n) of the winners; of equal ones, the lowest. answers: as they came."""
    n = len(table)
    numbers = np.arange(n)
    # The b with a + b = z, and the a; -1 where there is none, the last where there are several.
    second = np.full((n, n), -1)  # [a, z]
    second[numbers[:, None], table] = numbers
    first = np.full((n, n), -1)  # [z, b]
    first[table, numbers] = numbers[:, None]
    voters = np.unique(np.linspace(0, n - 1, min(n, MOST_VOTERS)).astype(np.int64))
    rows_at_once = max(1, MOST_VOTES // n**2)
    winners = np.empty_like(table)
    for start in range(0, n, rows_at_once):
        rows = slice(start, start + rows_at_once)
        votes = _votes(table, first, second, voters, rows)
        own = answers[rows][..., None]
        np.put_along_axis(votes, own, np.take_along_axis(votes, own, -1) + OWN_BALLOTS, -1)
        winners[rows] = votes.argmax(axis=-1)
    return winners


def _votes(
    table: Numbers, first: Numbers, second: Numbers, voters: Numbers, rows: slice
) -> NDArray[np.int16]:
    """(rows, n, n): how many ballots say that x + y is z, for these x.

    first: [z, b], the a with a + b = z. second: [a, z], the b. -1 where there is none.
    """
    n = len(table)
    sums = table[rows]  # (x, y)
    votes = np.zeros((len(sums), n, n), dtype=np.int16)
    x_index, y_index = np.ix_(np.arange(len(sums)), np.arange(n))
    for c in voters.tolist():
        b = second[c]  # by y, with c + b = y
        a = first[rows, c][:, None]  # by x, with a + c = x
        as_second = table[sums[:, c][:, None], b]  # (x + c) + b
        as_first = table[a, table[c]]  # a + (c + y)
        ballots = [
            np.where(b < 0, -1, as_second),
            np.where(a < 0, -1, as_first),
            first[sums[:, table[:, c]], c],  # the z with z + c = x + (y + c)
            second[c][table[table[c, rows]]],  # the z with c + z = (c + x) + y
        ]
        for ballot in ballots:
            # One ballot has each pair once, so no count is lost in this sum.
            votes[x_index, y_index, np.maximum(ballot, 0)] += ballot >= 0
    return votes
