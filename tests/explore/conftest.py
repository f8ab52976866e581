from pathlib import Path

import pytest

from algophase.analysis.analyze import analyze
from algophase.settings import RunSettings, TaskSettings, TrainingSettings, TransformerSettings
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps.rows import make_row
from algophase.sweeps.spaces import Space
from algophase.training.train import train

SPACE = Space.from_dict({"name": "tiny", "task": {"modulus": 7}, "network": {"width": 8}, "training": {"epochs": 30}})


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of four real runs of a tiny network; the weights of the first are kept."""
    path = tmp_path_factory.mktemp("tiny") / "sweep"
    directory, rows = SweepDirectory(path), []
    directory.describe(SPACE.to_dict(), 0)
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
    """Our own sweep: 1,725 runs, five of them with weights."""
    return Path(__file__).resolve().parents[2] / "gallery" / "fixed-width"
