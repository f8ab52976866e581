import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

# Workers share the cores: one thread each, and for each program they start. PyTorch reads this when
# it is imported.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from hypothesis import HealthCheck, settings

# A job in the background of a script starts with Ctrl-C ignored, and so would every program that a
# test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Without a GPU, kernels run in Triton's interpreter; it must be chosen before Triton is first
# imported.
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

# Examples are drawn the same way every time, so a failure in CI is a failure here.
# No example fails by the clock.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("house", patient, derandomize=True, max_examples=40)
settings.load_profile("house")

pytest_plugins = ["paper_fixtures"]

RELEASED = Path(__file__).resolve().parents[2] / "shared" / "paper" / "released"
FOREIGN = RELEASED.parents[1] / "foreign"


@pytest.fixture(scope="session")
def released() -> Path:
    """The authors' released networks, which are not part of this project."""
    if not RELEASED.is_dir():
        pytest.skip(f"the authors' released networks are not at {RELEASED}")
    return RELEASED


@pytest.fixture(scope="session")
def foreign() -> Path:
    """Networks that other groups trained and published, which are not part of this project."""
    if not FOREIGN.is_dir():
        pytest.skip(f"other groups' networks are not at {FOREIGN}")
    return FOREIGN


@pytest.fixture
def said() -> Iterator[list[str]]:
    """What the package logs, from level INFO on."""
    from algophase.core.progress import listening

    lines: list[str] = []
    with listening(lambda _, text: lines.append(text)):
        yield lines


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def dawdle(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Watches a sweep and lets an hour pass whenever networks train. Only its clock moves, so no
    machine is too slow.
    """
    from algophase.sweeps import _budget as budget
    from algophase.sweeps import _ray_executor as ray_executor
    from algophase.sweeps import sweep

    late = 0.0

    def watch(standing: Any) -> None:
        nonlocal late
        late += 3600 if standing.doing.startswith("training") or "running" in standing.doing else 0

    for module in (budget, ray_executor, sweep):
        monkeypatch.setattr(
            module, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + late)
        )
    return watch


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of four real runs of a tiny network; the weights of the first are kept."""
    from algophase.analysis.analyze import analyze
    from algophase.core.settings import (
        RunSettings,
        TaskSettings,
        TrainingSettings,
        TransformerSettings,
    )
    from algophase.runs.rows import make_row
    from algophase.storage.network_files import save
    from algophase.storage.sweep_directory import SweepDirectory
    from algophase.sweeps.spaces import Space
    from algophase.training.run.train import train

    space = Space.from_dict(
        {
            "name": "tiny",
            "task": {"modulus": 7},
            "network": {"width": 8},
            "training": {"epochs": 30},
        }
    )
    path = tmp_path_factory.mktemp("tiny") / "sweep"
    directory, rows = SweepDirectory(path), []
    directory.describe(space.to_dict(), 0)
    for index in range(4):
        network = TransformerSettings(8, attention_rate=index / 4)
        run = RunSettings(TaskSettings(7), network, TrainingSettings(epochs=30), seed=index)
        (trained,) = train([run], "grid", "cpu", "float32")
        assert trained.network is not None
        rows.append(make_row("tiny", index, trained, analyze(trained.network)))
        if index == 0:
            save(trained.network, directory.networks / run.run_id)
    directory.add(rows, {"runs": len(rows)})
    return path


@pytest.fixture(scope="session")
def gallery() -> Path:
    """Our own sweep of one width. Three of its runs have their weights."""
    return Path(__file__).resolve().parents[1] / "gallery" / "fixed-width"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium, which draws WebGL without a graphics card."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium on the PATH: apt-get install chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    flags = [
        "--no-sandbox",
        "--use-gl=angle",
        "--use-angle=swiftshader",
        "--enable-unsafe-swiftshader",
    ]
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, headless=True, args=flags)
        yield running
        running.close()
