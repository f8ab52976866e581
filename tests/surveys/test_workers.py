"""A file that kills its worker is listed, and the others are analyzed."""

from pathlib import Path

import pytest

from algophase.analysis.verdict.thresholds import Thresholds
from algophase.networks.handmade import handmade_clock
from algophase.storage import save
from algophase.storage.formats.contents import Reading
from algophase.surveys import workers
from algophase.surveys.network_row import Problem
from algophase.surveys.tree import Question


@pytest.mark.slow
def test_a_worker_that_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = "import os; import algophase.surveys.workers as w; real = w.answer\n"
    start += "w.answer = lambda q: os._exit(9) if 'bad' in q.path.name else real(q)\nw.serve()"
    monkeypatch.setattr(workers, "START", start)
    questions = []
    for name in ("a", "bad", "c", "d"):
        path = save(handmade_clock(7), tmp_path / name)
        questions.append(Question(path, Reading(), None, Thresholds(), {}))
    results = list(workers.answers(questions, 2))
    assert isinstance(results[1], Problem)
    assert "ended with 9" in results[1].reason
    verdicts = [row["verdict"] for row in results if not isinstance(row, Problem)]
    assert verdicts == ["Clock"] * 3
