"""An architecture from outside of the package: three places are written, and everything else takes
it.

CONTRIBUTING.md, "Add an architecture", says the same three: settings, network, an entry in the
list.
"""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from commands import call

from algophase import analyze, load, save, train
from algophase.core.errors import InputError
from algophase.core.settings import NETWORK_KINDS, RunSettings, TaskSettings, TrainingSettings
from algophase.networks import ARCHITECTURES, add_architecture
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps.options import Options
from algophase.sweeps.spaces import Space
from algophase.sweeps.sweep import Request, sweep_here

SOURCE = """
import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from algophase.networks import add_architecture
from algophase.networks.network import InitialValues, Network
from algophase.core.settings import NetworkSettings


@dataclass(frozen=True)
class DeepMLPSettings(NetworkSettings):  # the first place
    kind: ClassVar[str] = "deep-mlp"
    trained: ClassVar[bool] = True
    width: int = 32
    hidden: int = 64


class DeepMLP(Network):  # the second
    def __init__(self, task, settings):
        super().__init__(task, settings)
        sizes = [settings.width, settings.hidden, settings.hidden, task.modulus]
        self.embed = nn.Parameter(torch.empty(task.modulus, settings.width))
        self.layers = nn.ParameterList(
            nn.Parameter(torch.empty(inputs, outputs)) for inputs, outputs in zip(sizes, sizes[1:])
        )

    def operand_tables(self):
        return self.embed, self.embed

    def logits_from_embeddings(self, first, second, cache=None):
        stream = first + second
        for weight in self.layers[:-1]:
            stream = torch.relu(stream @ weight)
        return stream @ self.layers[-1]

    def initial_values(self):
        return {
            name: InitialValues("normal", 1 / math.sqrt(parameter.shape[0]))
            for name, parameter in self.named_parameters()
        }


add_architecture(DeepMLPSettings, DeepMLP)  # the third
"""


@pytest.fixture
def module(tmp_path: Path) -> Iterator[ModuleType]:
    path = tmp_path / "deep_mlp.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("deep_mlp", path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules["deep_mlp"] = loaded
    spec.loader.exec_module(loaded)
    yield loaded
    del sys.modules["deep_mlp"]
    settings = NETWORK_KINDS.pop("deep-mlp")
    del ARCHITECTURES[settings]


def test_every_architecture_of_the_package_is_known_by_its_kind() -> None:
    assert {settings.kind: settings for settings in ARCHITECTURES} == NETWORK_KINDS


def test_it_is_trained_saved_loaded_and_analyzed(module: ModuleType, tmp_path: Path) -> None:
    training = TrainingSettings(epochs=300, learning_rate=1e-2, weight_decay=0.1)
    run = RunSettings(TaskSettings(11), module.DeepMLPSettings(), training, seed=1)
    (trained,) = train([run], engine="auto", device="cpu")
    assert trained.engine == "plain"
    assert trained.history.training_loss[-1] < trained.history.training_loss[0] / 2
    assert trained.network is not None
    path = save(trained.network, tmp_path / "network")
    loaded = load(path)
    assert type(loaded) is module.DeepMLP
    assert loaded.run == run
    analysis = analyze(loaded)
    assert analysis.accuracy == analyze(trained.network).accuracy
    assert analysis.to_dict() == analyze(trained.network).to_dict()


def test_it_is_swept_and_reported(module: ModuleType, tmp_path: Path) -> None:
    space = Space.from_dict(
        {
            "name": "deep",
            "task": {"modulus": 7},
            "network": {"kind": "deep-mlp", "width": {"choice": [8, 16]}},
            "training": {"epochs": 40},
        }
    )
    directory = tmp_path / "sweep"
    request = Request(space, 4, keep_weights="all", options=Options(device="cpu"))
    outcome = sweep_here(request, SweepDirectory(directory))
    assert (outcome.ended, outcome.done) == ("complete", 4)
    rows = SweepDirectory(directory).runs()
    assert set(rows["kind"]) == {"deep-mlp"}
    assert set(rows["width"]) <= {8, 16}
    page = tmp_path / "report.html"
    done = call("report", directory, *SweepDirectory(directory).kept_files().values(), "-o", page)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert "deep-mlp" in text
    for run_id in rows["run_id"]:
        assert run_id in text


def test_a_kind_belongs_to_one_architecture(module: ModuleType) -> None:
    class Impostor(module.DeepMLPSettings):  # type: ignore[name-defined, misc]
        pass

    with pytest.raises(InputError, match="deep-mlp"):
        add_architecture(Impostor, module.DeepMLP)
