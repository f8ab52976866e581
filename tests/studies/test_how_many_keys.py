"""The laws are found where they were planted, and cosets are counted as they should be."""

import math
import runpy
from pathlib import Path

import numpy
import pandas
import pytest
from fenced import ROOT

from algophase.runs.boundary import Estimate

STUDY = runpy.run_path(str(ROOT / "studies" / "how_many_keys.py"))


def planted(law: str) -> pandas.DataFrame:
    """Two tables at different levels; the first has moduli up to 113, the second from there on."""
    generator = numpy.random.default_rng(0)
    rows = []
    for table, moduli in (("moduli", (17, 31, 59, 113)), ("large-moduli", (113, 257, 509))):
        for modulus in moduli:
            numbers = {
                "constant": 12.0,
                "log": 12 + 3 * math.log(modulus / 59),
                "power": 12 * math.sqrt(modulus / 59),
            }
            level = 4 if table == "moduli" else 0
            if law == "power":
                level = 0
            for rate in (0.0, 1.0):
                drawn = generator.normal(numbers[law] + level, 0.7, 40)
                rows += [(table, modulus, rate, round(number)) for number in drawn]
    return pandas.DataFrame(rows, columns=["table", "modulus", "rate", "number"])


@pytest.mark.parametrize("law", ["constant", "log", "power"])
def test_a_planted_law_is_the_best(law: str) -> None:
    fits = STUDY["fit_laws"](STUDY["cells_of"](planted(law)))
    if law == "constant":
        assert fits.aic["constant"] < 4
        assert abs(fits.slope) < 0.15
        return
    assert fits.aic[law] == 0
    assert fits.aic["constant"] > 100
    if law == "log":
        assert fits.slope == pytest.approx(3, abs=0.15)
        assert fits.aic["power"] > 2
    else:
        assert fits.exponent == pytest.approx(0.5, abs=0.03)
        assert fits.aic["log"] > 100


def test_cosets_are_counted_against_chance(capsys: pytest.CaptureFixture[str]) -> None:
    order_of = STUDY["order_of"]
    orders = [order_of(k, 66) for k in range(1, 34)]
    assert [orders.count(order) for order in (2, 3, 6, 11, 22, 33, 66)] == [1, 1, 1, 5, 5, 10, 10]
    counts = STUDY["relative_to_chance"]([(1, 33), (22,)], [22, 33], range(1, 34))
    assert counts == pytest.approx(numpy.array([[1, 4 / 33], [1, 2 / 33]]))
    generator = numpy.random.default_rng(0)
    rows = []
    for rate in (0.0, 1.0):
        for modulus in (66, 67):
            for _ in range(60):
                keys = generator.choice(numpy.arange(1, 33), 4, replace=False).tolist()
                if modulus == 66 and generator.random() < 0.5:
                    keys.append(33)
                rows.append((modulus, rate, tuple(keys), len(keys)))
    runs = pandas.DataFrame(rows, columns=["modulus", "rate", "keys", "number"])
    STUDY["print_cosets"](runs)
    printed = capsys.readouterr().out.splitlines()
    without = next(line for line in printed if "the same without 33" in line)
    low, high = (float(end) for end in without.split("[")[1].rstrip("]").split(", "))
    assert low < 1 < high
    parity = next(line for line in printed if "order  2" in line)
    assert float(parity.split("[")[1].split(",")[0]) > 2


@pytest.mark.parametrize(
    ("first", "second", "word"),
    [((0.1, 0.3), (0.2, 0.4), "meet"), ((0.1, 0.3), (-0.4, 0.0), "do not meet: no single law")],
)
def test_slopes_meet_where_their_intervals_do(
    first: tuple[float, float],
    second: tuple[float, float],
    word: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    STUDY["print_meeting"](*(Estimate(sum(ends) / 2, ends) for ends in (first, second)))
    assert capsys.readouterr().out.endswith(f"they {word}\n")


@pytest.mark.slow
def test_the_page_quotes_what_the_study_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    STUDY["report"](ROOT / "gallery", tmp_path / "keys.png")
    printed = capsys.readouterr().out.splitlines()
    page = (ROOT / "docs" / "findings" / "which-frequencies.md").read_text(encoding="utf-8")
    for section in ("## How many keys, by modulus", "## At p = 66 cosets"):
        after = page.partition(section)[2]
        quoted = after.partition("```text\n")[2].partition("```")[0].splitlines()
        assert quoted
        assert [line for line in quoted if line not in printed] == []
