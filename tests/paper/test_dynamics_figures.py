"""Pictures of training: a column per epoch, a panel per circle."""

import pandas
import torch

from algophase.analysis.specimen import Specimen
from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.networks import Network, initialize
from algophase.networks.handmade import handmade_pizza
from algophase.paper.dynamics_figures import (
    companions_figure,
    population_figure,
    stages,
    stages_figure,
    state_figure,
)
from algophase.pictures.marks import Band, legend_name
from algophase.pictures.to_data import marks_of


def small(scale: float) -> Network:
    network = initialize(RunSettings(TaskSettings(modulus=13), TransformerSettings(width=12)))
    with torch.no_grad():
        network.operand_tables()[0].mul_(scale)
    return network


def test_stages_are_drawn_by_epoch_and_pair() -> None:
    found = stages({200: small(1), 600: small(2)})
    assert [stage.epoch for stage in found] == [200, 600]
    figure = stages_figure(found)
    titles = [panel.title for panel in figure.panels]
    assert len(titles) == sum(len(stage.pairs) for stage in found)
    assert titles[0].startswith("epoch 200\naccuracy ")
    assert titles[1].startswith("epoch 600\naccuracy ")


def test_every_circle_is_drawn_with_what_it_is_worth() -> None:
    specimen = Specimen(handmade_pizza(13, (3,), accompanied=True))
    figure = state_figure(specimen)
    circles = specimen.analysis.circles
    assert len(figure.panels) == 2 * len(circles) == 4
    for item, panel in zip(circles, figure.panels[2:], strict=True):
        without = specimen.without([item]).accuracy
        assert panel.title == f"alone {item.accuracy_alone:.1%}\nwithout it {without:.1%}"
        # The companion too: it answers on its Pizza's circle.
        assert panel.x.name == "a + b, along 3"


def test_populations_are_drawn_along_training() -> None:
    rows = [
        {
            "run_id": run,
            "epoch": epoch,
            "role": role,
            "pizza_share_of_pair": 0.5,
            "validation_accuracy": 1.0,
            "gradient_symmetricity": 0.5,
            "distance_irrelevance": 0.5,
            "accompanying": companions,
            "accuracy": 1.0,
            "accuracy_without_accompanying": 0.9,
            "cost": 10.0,
        }
        for run in ("one", "two")
        for epoch, role, companions in ((200, "Pizza", 0), (600, "mixed", 1), (2000, "Clock", 1))
    ]
    table = pandas.DataFrame(rows)
    population, companions = population_figure(table), companions_figure(table)
    assert [panel.y.name for panel in population.panels[2:]] == [
        "gradient symmetricity",
        "distance irrelevance",
    ]
    assert [name for name in map(legend_name, population.panels[0].marks) if name] == [
        "Pizza",
        "mixed",
        "Clock",
        "validation accuracy",
    ]
    assert [panel.y.name for panel in companions.panels] == [
        "share of runs",
        "accuracy over all pairs",
        "percentage points",
    ]
    areas = marks_of(population.panels[0], Band)
    assert areas[-1].high.tolist() == [1, 1, 1]  # every run has one role
