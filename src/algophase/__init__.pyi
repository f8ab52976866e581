"""The public names of algophase: this list is the only one.

Type checkers and editors read it as it stands. At run time `__init__.py` reads it too, and imports
a name from its module when it is first used.
"""

from algophase.analysis.analyze import analyze as analyze
from algophase.analysis.analyze import analyze_many as analyze_many
from algophase.analysis.catalogue import Quantity as Quantity
from algophase.analysis.catalogue import register as register
from algophase.analysis.circles.find import find_circles as find_circles
from algophase.analysis.circles.find import isolate_circles as isolate_circles
from algophase.analysis.circles.find import isolate_components as isolate_components
from algophase.analysis.circles.find import isolate_frequencies as isolate_frequencies
from algophase.analysis.circles.principal import network_components as network_components
from algophase.analysis.hidden._geometry import geometry as geometry
from algophase.analysis.hidden._interactions import without_interactions as without_interactions
from algophase.analysis.hidden._neurons import neurons as neurons
from algophase.analysis.hidden.anatomy import anatomy as anatomy
from algophase.analysis.hidden.heads import attention_heads as attention_heads
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
from algophase.analysis.hidden.progress_measures import progress_measures as progress_measures
from algophase.analysis.hidden.topology import betti_numbers as betti_numbers
from algophase.analysis.logits.all_pairs import grid_logits as grid_logits
from algophase.analysis.program.distill import distill as distill
from algophase.analysis.result import Analysis as Analysis
from algophase.analysis.rivals.interventions import Intervention as Intervention
from algophase.analysis.rivals.rivals import Rivals as Rivals
from algophase.analysis.rivals.rivals import intervene as intervene
from algophase.analysis.rivals.rivals import rivals as rivals
from algophase.analysis.specimen import Specimen as Specimen
from algophase.analysis.verdict.thresholds import Thresholds as Thresholds
from algophase.certificates.certify import certify as certify
from algophase.core.errors import InputError as InputError
from algophase.core.interrupts import Stopped as Stopped
from algophase.core.interrupts import TrainingInterrupted as TrainingInterrupted
from algophase.core.progress import Progress as Progress
from algophase.core.settings import LinearSettings as LinearSettings
from algophase.core.settings import NetworkSettings as NetworkSettings
from algophase.core.settings import RunSettings as RunSettings
from algophase.core.settings import TaskSettings as TaskSettings
from algophase.core.settings import TrainingSettings as TrainingSettings
from algophase.core.settings import TransformerSettings as TransformerSettings
from algophase.explore.server import serve as serve
from algophase.interop.dictionary_score import dictionary_score as dictionary_score
from algophase.interop.feature_files import export_features as export_features
from algophase.interop.feature_files import read_features as read_features
from algophase.interop.ground_truth import known_features as known_features
from algophase.interop.hub import push_to_hub as push_to_hub
from algophase.interop.hub import save_pretrained as save_pretrained
from algophase.interop.transformer_lens import from_transformer_lens as from_transformer_lens
from algophase.interop.transformer_lens import to_transformer_lens as to_transformer_lens
from algophase.networks import Network as Network
from algophase.networks import add_architecture as add_architecture
from algophase.networks import build as build
from algophase.networks import initialize as initialize
from algophase.networks.handmade import handmade_clock as handmade_clock
from algophase.networks.handmade import handmade_pizza as handmade_pizza
from algophase.networks.handmade_groups import handmade_adding as handmade_adding
from algophase.networks.handmade_groups import handmade_multiplying as handmade_multiplying
from algophase.networks.wrapped import wrap as wrap
from algophase.paper.make import reproduce as reproduce
from algophase.reports.make import report as report
from algophase.reports.plots import plot_attention as plot_attention
from algophase.reports.plots import plot_circles as plot_circles
from algophase.reports.plots import plot_correct_logits as plot_correct_logits
from algophase.reports.plots import plot_gradients as plot_gradients
from algophase.reports.plots import plot_phase_diagram as plot_phase_diagram
from algophase.reports.plots import plot_program as plot_program
from algophase.runs.comparison import compare as compare
from algophase.runs.laws import selection_laws as selection_laws
from algophase.runs.runs import Runs as Runs
from algophase.storage import load as load
from algophase.storage import save as save
from algophase.storage.hub import from_pretrained as from_pretrained
from algophase.storage.runs_table import read_runs as read_runs
from algophase.surveys.survey import survey as survey
from algophase.sweeps.make import sweep as sweep
from algophase.sweeps.merge import merge as merge
from algophase.sweeps.retrain import retrain as retrain
from algophase.sweeps.retrain import retrain_sample as retrain_sample
from algophase.sweeps.spaces import Space as Space
from algophase.training.run.loop import EarlyStop as EarlyStop
from algophase.training.run.train import train as train
from algophase.training.run.trained import TrainedRun as TrainedRun

__all__: list[str]
__version__: str
