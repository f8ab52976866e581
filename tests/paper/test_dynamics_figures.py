"""Pictures of training: a column per epoch, a panel per circle."""

import pandas
import torch

from algophase.analysis.specimen import Specimen
from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.networks import Network, initialize
from algophase.networks.handmade import handmade_pizza
from algophase.paper.dynamics_figures import (
    draw_companions,
    draw_population,
    draw_stages,
    draw_state,
    stages,
)


def small(scale: float) -> Network:
    network = initialize(RunSettings(TaskSettings(modulus=13), TransformerSettings(width=12)))
    with torch.no_grad():
        network.operand_tables()[0].mul_(scale)
    return network


def test_stages_are_drawn_by_epoch_and_pair() -> None:
    found = stages({200: small(1), 600: small(2)})
    assert [stage.epoch for stage in found] == [200, 600]
    figure = draw_stages(found)
    titles = [axes.get_title() for axes in figure.axes]
    assert len(titles) == sum(len(stage.pairs) for stage in found)
    assert titles[0].startswith("epoch 200\naccuracy ")
    assert titles[1].startswith("epoch 600\naccuracy ")


def test_every_circle_is_drawn_with_what_it_is_worth() -> None:
    specimen = Specimen(handmade_pizza(13, (3,), accompanied=True))
    figure = draw_state(specimen)
    circles = specimen.analysis.circles
    assert len(figure.axes) == 2 * len(circles) == 4
    for item, axes in zip(circles, figure.axes[2:], strict=True):
        without = specimen.without([item]).accuracy
        assert axes.get_title() == f"alone {item.accuracy_alone:.1%}\nwithout it {without:.1%}"
        assert (
            axes.get_xlabel() == "a + b, along 3"
        )  # the companion too: it answers on its Pizza's circle


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
    population, companions = draw_population(table), draw_companions(table)
    assert [axes.get_ylabel() for axes in population.axes[2:]] == [
        "gradient symmetricity",
        "distance irrelevance",
    ]
    assert [text.get_text() for text in population.legends[0].get_texts()] == [
        "Pizza",
        "mixed",
        "Clock",
        "validation accuracy",
    ]
    assert [axes.get_ylabel() for axes in companions.axes] == [
        "share of runs",
        "accuracy over all pairs",
        "percentage points",
    ]
