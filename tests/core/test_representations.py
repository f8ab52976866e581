"""Characters agree with the published tables; representations are homomorphisms; projections add up
to one.
"""

import math

import numpy as np
import pytest

from algophase.core.group import group_from_table
from algophase.core.named_groups import named_group
from algophase.core.representations import (
    Array,
    Characters,
    character_table,
    representations,
)

GOLDEN, CONJUGATE = (1 + math.sqrt(5)) / 2, (1 - math.sqrt(5)) / 2
THIRD = complex(-0.5, math.sqrt(3) / 2)  # exp(2 pi i / 3)

# Columns: classes by the order of their elements, then by size. Rows in any order. (James and
# Liebeck, Representations and Characters of Groups; any textbook has them.)
TABLES: dict[str, list[list[complex]]] = {
    # 1, (12), (123)
    "S3": [[1, 1, 1], [1, -1, 1], [2, 0, -1]],
    # 1, (12)(34), (12), (123), (1234)
    "S4": [
        [1, 1, 1, 1, 1],
        [1, 1, -1, 1, -1],
        [2, 2, 0, -1, 0],
        [3, -1, 1, 0, -1],
        [3, -1, -1, 0, 1],
    ],
    # 1, (12), (12)(34), (123), (1234), (12345), (123)(45)
    "S5": [
        [1, 1, 1, 1, 1, 1, 1],
        [1, -1, 1, 1, -1, 1, -1],
        [4, 2, 0, 1, 0, -1, -1],
        [4, -2, 0, 1, 0, -1, 1],
        [5, 1, 1, -1, -1, 0, 1],
        [5, -1, 1, -1, 1, 0, -1],
        [6, 0, -2, 0, 0, 1, 0],
    ],
    # 1, (12)(34), (123), (132)
    "A4": [
        [1, 1, 1, 1],
        [1, 1, THIRD, THIRD.conjugate()],
        [1, 1, THIRD.conjugate(), THIRD],
        [3, -1, 0, 0],
    ],
    # 1, (12)(34), (123), two classes of 5-cycles
    "A5": [
        [1, 1, 1, 1, 1],
        [3, -1, 0, GOLDEN, CONJUGATE],
        [3, -1, 0, CONJUGATE, GOLDEN],
        [4, 0, 1, -1, -1],
        [5, 1, -1, 0, 0],
    ],
    # 1, r^2, two classes of reflections, r
    "D4": [
        [1, 1, 1, 1, 1],
        [1, 1, -1, -1, 1],
        [1, 1, 1, -1, -1],
        [1, 1, -1, 1, -1],
        [2, -2, 0, 0, 0],
    ],
    # 1, -1, i, j, k
    "Q8": [
        [1, 1, 1, 1, 1],
        [1, 1, 1, -1, -1],
        [1, 1, -1, 1, -1],
        [1, 1, -1, -1, 1],
        [2, -2, 0, 0, 0],
    ],
}


def dihedral_rows(corners: int) -> Array:
    """Characters of D_n for even n, on the elements r^i, then r^i s: four of dimension one, and
    2 cos(2 pi k i / n) on the turns.
    """
    turns = np.arange(corners)
    sign, ones, zeros = (-1.0) ** turns, np.ones(corners), np.zeros(corners)
    turning = [2 * np.cos(2 * np.pi * k * turns / corners) for k in range(1, corners // 2)]
    on_turns = [ones, ones, sign, sign, *turning]
    on_flips = [ones, -ones, sign, -sign, *[zeros for _ in turning]]
    return np.hstack([np.array(on_turns), np.array(on_flips)])


def same_rows(computed: Characters, expected: Characters | Array) -> None:
    """Each expected row is one of the computed ones, and no two are the same one."""
    distances = np.abs(expected[:, None] - computed).max(axis=2)
    nearest = distances.argmin(axis=1)
    assert distances.min(axis=1).max() < 1e-12
    assert sorted(nearest) == list(range(len(computed)))


@pytest.mark.parametrize("name", TABLES)
def test_characters_are_those_of_the_published_tables(name: str) -> None:
    same_rows(character_table(named_group(name)).values, np.array(TABLES[name]))


def test_characters_of_a_dihedral_group() -> None:
    group = named_group("D30")
    by_element = character_table(group).values[:, group.class_of]
    same_rows(by_element, dihedral_rows(30))


def test_characters_of_a_cyclic_group_are_its_waves() -> None:
    numbers = np.arange(12)
    group = named_group("Z12")
    waves = np.exp(2j * np.pi * numbers[:, None] * numbers / 12)
    same_rows(character_table(group).values[:, group.class_of], waves)


def test_a_group_in_another_order_has_the_same_characters() -> None:
    group = named_group("A5")
    names = np.random.default_rng(1).permutation(60)
    renamed = np.empty_like(group.table)
    renamed[names[:, None], names] = names[group.table]
    other = group_from_table(renamed)
    by_element = character_table(other).values[:, other.class_of][:, names]
    same_rows(by_element, character_table(group).values[:, group.class_of])


KINDS = {  # how many of each kind and dimension (of the character)
    "S5": {("real", 1): 2, ("real", 4): 2, ("real", 5): 2, ("real", 6): 1},
    "Q8": {("real", 1): 4, ("quaternionic", 2): 1},
    "Dic3": {("real", 1): 2, ("complex", 1): 1, ("real", 2): 1, ("quaternionic", 2): 1},
    "F21": {("real", 1): 1, ("complex", 1): 1, ("complex", 3): 1},
    "Z12": {("real", 1): 2, ("complex", 1): 5},
    "Q8xZ3": {("real", 1): 4, ("complex", 1): 4, ("quaternionic", 2): 1, ("complex", 2): 1},
}


@pytest.mark.parametrize("name", KINDS)
def test_kinds_and_dimensions(name: str) -> None:
    counts: dict[tuple[str, int], int] = {}
    for representation in representations(named_group(name)):
        key = (representation.kind, representation.dimension)
        counts[key] = counts.get(key, 0) + 1
    assert counts == KINDS[name]


@pytest.mark.parametrize("name", [*KINDS, "S4", "A5", "D7"])
def test_matrices_are_orthogonal_and_multiply_as_elements_do(name: str) -> None:
    group = named_group(name)
    for representation in representations(group):
        matrices, size = representation.matrices, representation.real_dimension
        assert matrices.shape == (group.order, size, size)
        products = np.einsum("aij,bjk->abik", matrices, matrices)
        np.testing.assert_allclose(matrices[group.table], products, atol=1e-11)
        unit = np.broadcast_to(np.eye(size), matrices.shape)
        np.testing.assert_allclose(matrices @ matrices.transpose(0, 2, 1), unit, atol=1e-11)
        traces = np.trace(matrices, axis1=1, axis2=2)
        factor = 1 if representation.kind == "real" else 2
        np.testing.assert_allclose(traces, factor * representation.character.real, atol=1e-11)


@pytest.mark.parametrize("name", [*KINDS, "S4", "A5", "D7"])
def test_projections_are_orthogonal_and_add_up_to_one(name: str) -> None:
    group = named_group(name)
    whole = representations(group)
    projections = np.array([representation.projection() for representation in whole])
    np.testing.assert_allclose(projections.sum(axis=0), np.eye(group.order), atol=1e-12)
    for row, representation in enumerate(whole):
        assert round(np.trace(projections[row])) == representation.functions
        for other in range(len(whole)):
            expected = projections[row] if other == row else 0 * projections[row]
            np.testing.assert_allclose(projections[row] @ projections[other], expected, atol=1e-12)
        basis = representation.basis
        np.testing.assert_allclose(basis.T @ basis, projections[row], atol=1e-11)


def test_names() -> None:
    names = {
        group: [representation.name for representation in representations(named_group(group))]
        for group in ("S3", "S4", "S5", "A5", "D5", "Z6")
    }
    assert names == {
        "S3": ["trivial", "sign", "standard"],
        "S4": ["trivial", "sign", "2.1", "standard", "standard x sign"],
        "S5": ["trivial", "sign", "standard", "standard x sign", "5.1", "5.2", "6.1"],
        "A5": ["trivial", "3.1", "3.2", "standard", "5.1"],
        "D5": ["trivial", "sign", "2.1", "2.2"],
        "Z6": ["trivial", "sign", "1.1", "1.2"],
    }


@pytest.mark.slow
def test_order_720() -> None:
    for name in ("S6", "Z720", "D360"):
        whole = representations(named_group(name))
        assert sum(representation.functions for representation in whole) == 720
