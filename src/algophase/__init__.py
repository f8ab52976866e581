"""algophase: which algorithm did this neural network learn?

Names are imported when they are first used: the command line's help and its errors need not wait
for torch.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from algophase.analysis.analyze import analyze as analyze
    from algophase.analysis.analyze import analyze_many as analyze_many
    from algophase.analysis.catalogue import Quantity as Quantity
    from algophase.analysis.catalogue import register as register
    from algophase.analysis.circles.find import find_circles as find_circles
    from algophase.analysis.circles.find import isolate_circles as isolate_circles
    from algophase.analysis.circles.find import isolate_components as isolate_components
    from algophase.analysis.circles.find import isolate_frequencies as isolate_frequencies
    from algophase.analysis.circles.principal import network_components as network_components
    from algophase.analysis.hidden.anatomy import anatomy as anatomy
    from algophase.analysis.hidden.geometry import geometry as geometry
    from algophase.analysis.hidden.heads import attention_heads as attention_heads
    from algophase.analysis.hidden.interactions import without_interactions as without_interactions
    from algophase.analysis.hidden.learning_coefficient import (
        LearningCoefficient as LearningCoefficient,
    )
    from algophase.analysis.hidden.learning_coefficient import Sampling as Sampling
    from algophase.analysis.hidden.learning_coefficient import (
        learning_coefficient as learning_coefficient,
    )
    from algophase.analysis.hidden.learning_coefficient import (
        learning_coefficients as learning_coefficients,
    )
    from algophase.analysis.hidden.neurons import neurons as neurons
    from algophase.analysis.hidden.progress_measures import progress_measures as progress_measures
    from algophase.analysis.hidden.topology import betti_numbers as betti_numbers
    from algophase.analysis.logits.all_pairs import grid_logits as grid_logits
    from algophase.analysis.program.distil import distil as distil
    from algophase.analysis.result import Analysis as Analysis
    from algophase.analysis.specimen import Specimen as Specimen
    from algophase.analysis.verdict.thresholds import Thresholds as Thresholds
    from algophase.core.errors import InputError as InputError
    from algophase.core.settings import LinearSettings as LinearSettings
    from algophase.core.settings import NetworkSettings as NetworkSettings
    from algophase.core.settings import RunSettings as RunSettings
    from algophase.core.settings import TaskSettings as TaskSettings
    from algophase.core.settings import TrainingSettings as TrainingSettings
    from algophase.core.settings import TransformerSettings as TransformerSettings
    from algophase.interop.hub import push_to_hub as push_to_hub
    from algophase.interop.hub import save_pretrained as save_pretrained
    from algophase.interop.transformer_lens import from_transformer_lens as from_transformer_lens
    from algophase.interop.transformer_lens import to_transformer_lens as to_transformer_lens
    from algophase.networks import Network as Network
    from algophase.networks import add_architecture as add_architecture
    from algophase.networks import build as build
    from algophase.networks import initialise as initialise
    from algophase.networks.handmade import handmade_clock as handmade_clock
    from algophase.networks.handmade import handmade_pizza as handmade_pizza
    from algophase.networks.wrapped import wrap as wrap
    from algophase.report.plots import plot_attention as plot_attention
    from algophase.report.plots import plot_circles as plot_circles
    from algophase.report.plots import plot_correct_logits as plot_correct_logits
    from algophase.report.plots import plot_gradients as plot_gradients
    from algophase.report.plots import plot_phase_diagram as plot_phase_diagram
    from algophase.report.plots import plot_program as plot_program
    from algophase.runs.laws import selection_laws as selection_laws
    from algophase.runs.runs import Runs as Runs
    from algophase.storage import load as load
    from algophase.storage import save as save
    from algophase.storage.hub import from_pretrained as from_pretrained
    from algophase.storage.runs_table import read_runs as read_runs
    from algophase.sweeps.spaces import Space as Space
    from algophase.training.run.loop import EarlyStop as EarlyStop
    from algophase.training.run.train import train as train
    from algophase.training.run.trained import TrainedRun as TrainedRun
    from algophase.training.run.trained import TrainingInterrupted as TrainingInterrupted

# Read when torch is loaded. By default OpenMP's threads wait for each other at full speed, which
# takes the cores from whatever they wait for as soon as another program runs (docs/speed.md).
if not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"} & os.environ.keys():
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"

__version__ = "0.1.0"

_PLACES = {  # the same list for run time; a test compares the two
    "Analysis": "algophase.analysis.result",
    "analyze": "algophase.analysis.analyze",
    "analyze_many": "algophase.analysis.analyze",
    "anatomy": "algophase.analysis.hidden.anatomy",
    "Quantity": "algophase.analysis.catalogue",
    "register": "algophase.analysis.catalogue",
    "find_circles": "algophase.analysis.circles.find",
    "isolate_circles": "algophase.analysis.circles.find",
    "isolate_components": "algophase.analysis.circles.find",
    "isolate_frequencies": "algophase.analysis.circles.find",
    "distil": "algophase.analysis.program.distil",
    "geometry": "algophase.analysis.hidden.geometry",
    "grid_logits": "algophase.analysis.logits.all_pairs",
    "attention_heads": "algophase.analysis.hidden.heads",
    "without_interactions": "algophase.analysis.hidden.interactions",
    "neurons": "algophase.analysis.hidden.neurons",
    "network_components": "algophase.analysis.circles.principal",
    "progress_measures": "algophase.analysis.hidden.progress_measures",
    "Specimen": "algophase.analysis.specimen",
    "Thresholds": "algophase.analysis.verdict.thresholds",
    "betti_numbers": "algophase.analysis.hidden.topology",
    "InputError": "algophase.core.errors",
    "push_to_hub": "algophase.interop.hub",
    "save_pretrained": "algophase.interop.hub",
    "from_transformer_lens": "algophase.interop.transformer_lens",
    "to_transformer_lens": "algophase.interop.transformer_lens",
    "Network": "algophase.networks",
    "add_architecture": "algophase.networks",
    "build": "algophase.networks",
    "initialise": "algophase.networks",
    "handmade_clock": "algophase.networks.handmade",
    "handmade_pizza": "algophase.networks.handmade",
    "wrap": "algophase.networks.wrapped",
    "plot_attention": "algophase.report.plots",
    "plot_circles": "algophase.report.plots",
    "plot_correct_logits": "algophase.report.plots",
    "plot_gradients": "algophase.report.plots",
    "plot_phase_diagram": "algophase.report.plots",
    "plot_program": "algophase.report.plots",
    "selection_laws": "algophase.runs.laws",
    "Runs": "algophase.runs.runs",
    "LinearSettings": "algophase.core.settings",
    "NetworkSettings": "algophase.core.settings",
    "RunSettings": "algophase.core.settings",
    "TaskSettings": "algophase.core.settings",
    "TrainingSettings": "algophase.core.settings",
    "TransformerSettings": "algophase.core.settings",
    "load": "algophase.storage",
    "save": "algophase.storage",
    "from_pretrained": "algophase.storage.hub",
    "read_runs": "algophase.storage.runs_table",
    "Space": "algophase.sweeps.spaces",
    "LearningCoefficient": "algophase.analysis.hidden.learning_coefficient",
    "Sampling": "algophase.analysis.hidden.learning_coefficient",
    "learning_coefficient": "algophase.analysis.hidden.learning_coefficient",
    "learning_coefficients": "algophase.analysis.hidden.learning_coefficient",
    "EarlyStop": "algophase.training.run.loop",
    "train": "algophase.training.run.train",
    "TrainedRun": "algophase.training.run.trained",
    "TrainingInterrupted": "algophase.training.run.trained",
}

__all__ = [*_PLACES, "__version__"]


if not TYPE_CHECKING:  # a type checker that saw it would let every name pass

    def __getattr__(name: str) -> Any:
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_PLACES[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
