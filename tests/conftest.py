import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import settings

# Without a GPU, kernels run in Triton's interpreter; it must be chosen before Triton is first imported.
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

# Examples are drawn the same way every time, so a failure in CI is a failure here.
settings.register_profile("house", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("house")

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
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of four real runs of a tiny network; the weights of the first are kept."""
    from algophase.analysis.analyze import analyze
    from algophase.settings import RunSettings, TaskSettings, TrainingSettings, TransformerSettings
    from algophase.storage.sweep_directory import SweepDirectory
    from algophase.sweeps.rows import make_row
    from algophase.sweeps.spaces import Space
    from algophase.training.train import train

    space = Space.from_dict({"name": "tiny", "task": {"modulus": 7}, "network": {"width": 8}, "training": {"epochs": 30}})
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
            directory.keep(trained.network)
    directory.add(rows, {"runs": len(rows)})
    return path


@pytest.fixture(scope="session")
def gallery() -> Path:
    """Our own sweep: 2,000 runs, seven of them with weights."""
    return Path(__file__).resolve().parents[1] / "gallery" / "fixed-width"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium, which draws WebGL without a graphics card."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium on the PATH: apt-get install chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    flags = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, headless=True, args=flags)
        yield running
        running.close()
