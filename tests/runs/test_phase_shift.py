"""Whether a quantity moves with the phase, on made-up tables with known answers."""

import numpy as np
import pandas
import pytest

from algophase.core.errors import InputError
from algophase.runs.phase_shift import phase_shifts
from algophase.runs.runs import Runs


def table(count: int = 400, seed: int = 0) -> pandas.DataFrame:
    """Symmetric below rate 0.6, noisily. `disc_cka` turns there, `torus_cka` at 0.3 whatever the
    phase; the rest is noise.
    """
    draw = np.random.default_rng(seed)
    rate = draw.uniform(0, 1, count)
    inside = rate + 0.08 * draw.standard_normal(count) < 0.6
    noise = 0.1 * draw.standard_normal((3, count))
    return pandas.DataFrame(
        {
            "attention_rate": rate,
            "validation_accuracy": 1.0,
            "gradient_symmetricity": np.where(inside, 0.99, 0.5),
            "disc_cka": np.where(inside, 1.0, 0.5) + noise[0],
            "torus_cka": np.where(rate < 0.3, 1.0, 0.0) + noise[1],
            "product_share": noise[2],
        }
    )


def test_what_moves_and_where() -> None:
    boundary, (disc, torus, product) = phase_shifts(
        Runs.of(table(), "made"), ("disc_cka", "torus_cka", "product_share"), resamples=100
    )
    assert boundary.rate is not None
    assert boundary.rate.value == pytest.approx(0.6, abs=0.04)
    assert disc.turn.value == pytest.approx(0.6, abs=0.04)
    assert disc.turn.holds(boundary.rate.value)
    assert [disc.below, disc.above] == pytest.approx([1, 0.5], abs=0.1)
    assert disc.moves
    assert disc.moves_beyond_rate
    assert disc.area.value < 0.02
    # With the rate, at 0.3, but not with the phase at equal rates.
    assert torus.turn.value == pytest.approx(0.3, abs=0.02)
    assert torus.explained > 0.9
    assert torus.moves
    assert torus.moves_beyond_rate is False
    assert product.moves is False
    assert product.explained < 0.1
    assert "turns at rate 0.3" in str(torus)
    assert str(torus).startswith("torus likeness, 400 runs:")


def test_ties_and_one_rate() -> None:
    """Runs of equal rates are never split, and equal values count half."""
    made = table(40)
    made["attention_rate"] = np.repeat([0.0, 1.0], 20)
    made["gradient_symmetricity"] = np.repeat([0.99, 0.5], 20)
    made["disc_cka"] = 1.0
    _, (disc,) = phase_shifts(Runs.of(made, "made"), ("disc_cka",), resamples=20)
    assert disc.turn.value == 0.5
    assert disc.area.value == 0.5
    assert disc.area_at_rate is None
    assert disc.moves is False
    assert disc.moves_beyond_rate is None


def test_tables_without_what_is_needed_are_refused() -> None:
    with pytest.raises(
        InputError,
        match="columns single_frequency_fit, phase_resultant",
    ):
        phase_shifts(Runs.of(table(), "made"))
    with pytest.raises(InputError, match=r"made has 19 .*at least 20"):
        phase_shifts(Runs.of(table(19), "made"), ("disc_cka",))
    deep, of_two_layers = (
        "no accurate run of layers-2 has phase resultant",
        ("disc_cka", "product_share"),
    )
    with pytest.raises(
        InputError,
        match=f"{deep}: .*disc_cka, torus_cka, product_share, sing",
    ):
        phase_shifts(Runs.read("layers-2"))
    with pytest.raises(InputError, match="made needs the column gradient_symmetricity"):
        phase_shifts(
            Runs.of(table().assign(gradient_symmetricity=float("nan")), "made"), ("disc_cka",)
        )
    assert [
        each.column for each in phase_shifts(Runs.read("layers-2"), of_two_layers, resamples=100)[1]
    ] == [*of_two_layers]
