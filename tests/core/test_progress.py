"""A bar appears after two seconds where someone looks, and nowhere else; messages are heard."""

import io
import logging
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from algophase import (
    RunSettings,
    TaskSettings,
    TrainingSettings,
    TransformerSettings,
    analyze_many,
    handmade_clock,
    train,
)
from algophase.core import progress as progress_module
from algophase.core.progress import Bar, listening

LOG = logging.getLogger("algophase.training.run.plan")
RUN = RunSettings(TaskSettings(5), TransformerSettings(4), TrainingSettings(epochs=20))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def work(**options: Any) -> None:
    train([RUN], device="cpu", **options)
    analyze_many([handmade_clock(5), handmade_clock(7)], **options)


def seen_in_a_terminal(monkeypatch: pytest.MonkeyPatch, **options: Any) -> str:
    stream = Terminal()
    with (
        monkeypatch.context() as patch
    ):  # in the test itself: pytest puts its own stream back after a fixture
        patch.setattr(sys, "stderr", stream)
        patch.setenv("TERM", "xterm")
        work(**options)
    return stream.getvalue()


def test_a_terminal_sees_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "SILENCE", 3600.0)
    assert seen_in_a_terminal(monkeypatch) == ""
    monkeypatch.setattr(progress_module, "SILENCE", 0.0)
    assert seen_in_a_terminal(monkeypatch, progress=False) == ""
    seen = seen_in_a_terminal(monkeypatch)
    assert "training" in seen
    assert "2 of 2" in seen
    monkeypatch.setenv("ALGOPHASE_QUIET", "1")
    assert seen_in_a_terminal(monkeypatch) == ""


def test_a_log_sees_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress_module, "SILENCE", 0.0)
    work()
    assert capsys.readouterr() == ("", "")


def test_a_notebook_has_one_bar_that_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    pages: list[tuple[str, dict[str, str]]] = []

    class ZMQInteractiveShell:
        pass

    class Handle:
        def update(self, page: dict[str, str], raw: bool) -> None:
            pages.append(("moved", page))

    def display(page: dict[str, str], raw: bool, display_id: bool) -> Handle:
        pages.append(("new", page))
        return Handle()

    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=ZMQInteractiveShell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    monkeypatch.setattr(progress_module, "SILENCE", 0.0)
    with Bar() as bar:
        bar.count("analyzing <all>", 1, 4)
        bar.count("analyzing <all>", 2, 4)  # too soon after the first
        bar.count("analyzing <all>", 4, 4)
    assert [kind for kind, _ in pages] == ["new", "moved"]
    assert 'value="1.0" max="1"' in pages[-1][1]["text/html"]
    assert "&lt;all&gt;" in pages[0][1]["text/html"]
    assert pages[0][1]["text/plain"].startswith("analyzing <all>: 1 of 4")


def test_messages_are_heard_meanwhile_and_the_level_is_put_back() -> None:
    logger, heard = logging.getLogger("algophase"), list[tuple[int, str]]()
    before = logger.level, list(logger.handlers)
    with listening(lambda level, text: heard.append((level, text))):
        LOG.info("%d networks", 3)
        LOG.warning("instead")
        LOG.debug("unheard")
    LOG.error("after")
    assert heard == [(logging.INFO, "3 networks"), (logging.WARNING, "instead")]
    assert (logger.level, list(logger.handlers)) == before


def test_a_python_program_sees_warnings_and_nothing_else() -> None:
    code = (
        "import torch; torch.cuda.is_available = lambda: False\n"
        "from algophase import RunSettings, TaskSettings, TrainingSettings, "
        "TransformerSettings, train\n"
        "train([RunSettings(TaskSettings(5), TransformerSettings(8), "
        "TrainingSettings(epochs=1))], device='cuda')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (
        "",
        "no GPU was found for device cuda: using the CPU instead\n",
    )
