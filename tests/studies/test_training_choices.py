"""The study of training choices on tiny networks: pairs, intervals, exponents, and tables with
arms.
"""

import runpy
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
from commands import invoke
from fenced import ROOT

from algophase import Runs, sweep
from algophase.pictures.marks import Bars
from algophase.pictures.to_data import marks_of
from algophase.sweeps.distributions import Fixed
from algophase.sweeps.shipped_spaces import OUR_SPACES

STUDY = runpy.run_path(str(ROOT / "studies" / "training_choices.py"))
SMALL = {
    "task.modulus": Fixed(5),
    "network.width": Fixed(8),
    "network.layers": Fixed(1),
    "training.epochs": Fixed(20),
}


@pytest.mark.parametrize("question", STUDY["QUESTIONS"])
def test_a_question_is_answered_from_its_table(
    question: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space = OUR_SPACES[f"{question}-arms"]
    small = {**space.settings, **SMALL}
    tiny = replace(
        space, settings=small, history_stride=5, snapshots=(10,) if space.snapshots else ()
    )
    names = STUDY["ARMS"][question]
    assert len(names) == len(space.arms)
    sweep(tiny, tmp_path / "table", runs=2 * len(names), device="cpu", progress=False)
    arms = STUDY["read_arms"](tmp_path / "table", names)
    assert [list(arm.index) for arm in arms.values()] == [[0, 1]] * len(names)
    STUDY["print_arms"](arms)
    STUDY["QUESTIONS"][question](arms, tmp_path / "table")
    assert "pairs)" in capsys.readouterr().out or question in ("stablemax", "decay")
    _, verdicts = STUDY["picture"](question, arms).panels
    assert sum(bar.lengths.sum() for bar in marks_of(verdicts, Bars)) == pytest.approx(len(names))


@pytest.mark.slow
@pytest.mark.parametrize("question", STUDY["QUESTIONS"])
def test_the_page_quotes_what_the_study_prints(
    question: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "findings" / "training-choices.md").read_text(encoding="utf-8")
    after = page.partition(f"python studies/training_choices.py {question}\n")[2]
    quoted = after.partition("```text\n")[2].partition("```")[0].splitlines()
    table = ROOT / "gallery" / f"{question}-arms"
    arms = STUDY["arms_of"](question, table)
    STUDY["print_arms"](arms)
    STUDY["QUESTIONS"][question](arms, table)
    printed = capsys.readouterr().out.splitlines()
    assert quoted
    assert [line for line in quoted if line not in printed] == []


@pytest.mark.parametrize(
    ("of_norm", "of_epsilon", "to_decay", "decision"),
    [
        ((0.3, 0.5), (0.1, 0.2), (-0.1, 0.1), "the norm, and it is all of it"),
        ((0.3, 0.5), (0.1, 0.2), (-0.2, 0.1), "the norm"),
        ((0.3, 0.5), (-0.1, 0.09), (-0.1, 0.1), "the gradients"),
        ((0.3, 0.5), (-0.1, 0.11), (-0.1, 0.1), "open"),
        ((0.3, 0.5), (-0.3, -0.1), (-0.1, 0.1), "open"),
        ((-0.1, 0.5), (0.1, 0.2), (-0.1, 0.1), "open"),
    ],
)
def test_the_rule_for_the_norm_is_the_plans(
    of_norm: tuple[float, float],
    of_epsilon: tuple[float, float],
    to_decay: tuple[float, float],
    decision: str,
) -> None:
    ends = (of_norm, of_epsilon, to_decay)
    intervals = [STUDY["Interval"]((low + high) / 2, low, high) for low, high in ends]
    assert STUDY["norm_decision"](*intervals, True) == decision
    assert STUDY["norm_decision"](*intervals, False) == "the test cannot be made"


def test_a_table_with_arms_has_every_choice_of_every_run(tmp_path: Path) -> None:
    space = OUR_SPACES["muon-arms"]
    tiny = replace(space, settings={**space.settings, **SMALL}, history_stride=5)
    sweep(tiny, tmp_path / "table", runs=2, device="cpu", progress=False)
    assert list(Runs.read(tmp_path / "table")["optimizer"]) == ["adamw", "muon"]
    listed = invoke(
        "runs", tmp_path / "table", "--where", "optimizer=adamw", "--columns", "optimizer"
    )
    assert listed.exit_code == 0, listed.output
    again = invoke("retrain", tmp_path / "table", "--sample", "2", "--device", "cpu")
    assert again.exit_code == 0, again.output


def test_an_exponent_is_found_with_gaps() -> None:
    decays = numpy.log([0.1, 1.0, 2.0])
    generator = numpy.random.default_rng(0)
    rows = generator.normal(8, 1, (40, 1)) - 0.7 * decays
    rows[generator.random(rows.shape) < 0.2] = numpy.nan
    assert STUDY["slope"](rows, decays) == pytest.approx(-0.7)
    interval = STUDY["bootstrap"](rows, lambda drawn: STUDY["slope"](drawn, decays))
    assert interval.low == pytest.approx(interval.high) == pytest.approx(-0.7)
