"""Coefficients, vectors and closure of rho-sets, on representations of all three kinds."""

import numpy as np
import pytest

from algophase.analysis.rivals.rho_sets import (
    closure,
    coefficients,
    distinct_vectors,
    functions,
)
from algophase.core.named_groups import named_group
from algophase.core.representations import Representation, representations


def all_kinds() -> list[Representation]:
    names = ["S4", "Z7", "Q8", "F20", "A4"]
    return [member for name in names for member in representations(named_group(name))[1:]]


@pytest.mark.parametrize("member", all_kinds(), ids=repr)
def test_functions_of_a_representation_come_back_from_their_coefficients(
    member: Representation,
) -> None:
    drawn = np.random.default_rng(0).standard_normal((member.group.order, 5))
    own = member.projection() @ drawn
    assert functions(member, coefficients(member, own)) == pytest.approx(own)


def test_kinds_are_all_there() -> None:
    assert {member.kind for member in all_kinds()} == {"real", "complex", "quaternionic"}


def test_vectors_count_up_to_sign_and_light_ones_do_not() -> None:
    vectors = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, 0, 1]])
    projections = vectors[:, :, None] * vectors[:, None]
    kept = distinct_vectors(projections, np.array([1.0, 2, 1, 0.001]))
    assert len(kept) == 2


def test_an_orbit_is_closed_and_less_is_not() -> None:
    group = named_group("S4")
    (standard,) = [one for one in representations(group) if one.name == "standard"]
    fixed = standard.matrices[(group.element_orders == 3).argmax()]
    vectors = np.linalg.eigh((fixed + fixed.T) / 2).eigenvectors
    axis = vectors[:, -1]
    orbit = np.unique((standard.matrices @ axis).round(9), axis=0)
    projections = orbit[:, :, None] * orbit[:, None]
    assert len(orbit) == 4
    assert closure(standard, projections) == pytest.approx(1)
    assert closure(standard, projections[:2]) < 0.7
