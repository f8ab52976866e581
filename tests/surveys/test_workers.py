"""A file that kills its worker is listed, and the others are analyzed."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import torch

from algophase.analysis.verdict.thresholds import Thresholds
from algophase.networks.handmade import handmade_clock
from algophase.storage import save
from algophase.storage.formats.contents import Reading
from algophase.surveys import workers
from algophase.surveys.network_row import Answer, Problem
from algophase.surveys.tree import Question


@pytest.mark.slow
def test_a_worker_that_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = "import os; import algophase.surveys.workers as w; real = w.answer\n"
    start += "w.answer = lambda q: os._exit(9) if 'bad' in q.path.name else real(q)\nw.serve()"
    monkeypatch.setattr(workers, "START", start)
    paths = [save(handmade_clock(7), tmp_path / name) for name in ("a", "bad", "c", "d")]
    questions = [asked(path) for path in paths]
    results = {question.path.stem: result for question, result in workers.answers(questions, 2)}
    problem = results.pop("bad")
    assert isinstance(problem, Problem)
    assert "ended with 9" in problem.reason
    verdicts = [row["verdict"] for row in results.values() if not isinstance(row, Problem)]
    assert verdicts == ["Clock"] * 3


def asked(path: Path) -> Question:
    return Question(path, Reading(), None, Thresholds(), {})


def test_several_networks_under_way_give_the_same_rows(tmp_path: Path) -> None:
    """What a GPU does, here on the CPU."""
    questions = [asked(save(handmade_clock(p), tmp_path / f"clock{p}")) for p in (7, 11)]
    (tmp_path / "broken.pt").write_bytes(b"no network")
    questions.insert(1, asked(tmp_path / "broken.pt"))
    torch.save([1.0], tmp_path / "losses.pt")
    questions.append(asked(tmp_path / "losses.pt"))
    overlapped = dict(_by_name(workers.answers_on_gpu(questions, 2)))
    one_by_one = dict(_by_name(workers.answers(questions, 1)))
    assert overlapped == one_by_one
    assert isinstance(overlapped["broken"], Problem)


def test_a_network_that_cannot_be_computed_is_one_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*arguments: object) -> Iterator[None]:
        raise RuntimeError("out of memory")
        yield

    monkeypatch.setattr(workers, "analyze_each", fails)
    questions = [asked(save(handmade_clock(7), tmp_path / "clock"))]
    ((_, row),) = workers.answers_on_gpu(questions, 1)
    assert not isinstance(row, Problem)
    assert row["verdict"] == "Clock"


def _by_name(results: Iterable[tuple[Question, Answer]]) -> Iterator[tuple[str, object]]:
    for question, result in results:
        if isinstance(result, Problem):
            yield question.path.stem, result
        else:
            yield question.path.stem, (result["verdict"], result["id"])
