"""A short run of `perturbed.py`, which takes 10,000 networks."""

from pathlib import Path

import pytest

pytest.importorskip("flint", reason="the checker needs python-flint")

from perturbed import CHECKER, SIZES, bases, outcome


def test_there_are_forty_networks() -> None:
    assert len(bases()) == 40


@pytest.mark.parametrize("seed", range(0, 400, 21))
def test_no_bound_exceeds_the_truth(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(CHECKER)
    size = SIZES[(seed // 40) % len(SIZES)]
    assert outcome(seed % 40, size, seed, tmp_path) == "agree"
