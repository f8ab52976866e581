import numpy
import pytest
import torch

from algophase.analysis.circles.find import isolate_circles
from algophase.analysis.logits.all_pairs import correct_logits, grid_logits
from algophase.analysis.specimen import Specimen
from algophase.core.settings import LinearSettings, RunSettings, TaskSettings, TransformerSettings
from algophase.networks import Network, initialize
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.pictures.marks import HeatMap, Line, Points
from algophase.pictures.to_data import hover_text, marks_of
from algophase.reports.network_panels import (
    MOST_ON_RING,
    attention_panels,
    circle_panel,
    correct_logits_panel,
    history_panels,
    isolated_panel,
    main_order,
    ring_labels,
)


def test_a_circle_says_its_tokens_on_hover() -> None:
    network = handmade_pizza(13, (2,))
    specimen = Specimen(network)
    points = marks_of(circle_panel(specimen, specimen.evidence[0]), Points)[0]
    assert sorted(map(int, points.texts)) == list(range(13))
    assert points.texts[:3] == ["0", "7", "1"]  # neighbors on the circle of frequency 2: 7 apart
    assert hover_text(points, 1).startswith("token 7\n(")
    radii = numpy.hypot(points.x, points.y)
    assert radii.std() < 1e-3 * radii.mean()


def test_tokens_that_share_a_place_are_named_together() -> None:
    network = handmade_pizza(12, (1, 5), accompanied=True)
    specimen = Specimen(network)
    (item,) = [item for item in specimen.evidence if item.circle.frequency == 2]
    assert marks_of(circle_panel(specimen, item), Points)[0].texts[0] == "0, beside 6"


@pytest.mark.parametrize("p", [13, 12])
def test_a_logit_map_shows_each_pair_where_its_hover_says(p: int) -> None:
    network = handmade_pizza(p, (1, 5), accompanied=True)
    specimen = Specimen(network)
    item = specimen.evidence[-1]
    for panel, logits in (
        (correct_logits_panel(specimen), grid_logits(specimen.network)),
        (isolated_panel(specimen, item), isolate_circles(specimen.network, [item.circle]).logits),
    ):
        (heat_map,) = marks_of(panel, HeatMap)
        z, cells = heat_map.values, heat_map.details
        assert z.shape == ((p, p) if p % 2 else (p, p // 2))
        own = correct_logits(logits).numpy()
        a, b = numpy.indices((p, p))
        for row in range(z.shape[0]):
            for column in range(z.shape[1]):
                difference, total = cells[row, column]
                pairs = own[((a - b) % p == difference) & ((a + b) % p == total)]
                assert z[row, column] == pytest.approx(pairs.mean(), abs=1e-4)


def test_rows_and_columns_go_in_steps_of_the_spacing() -> None:
    network = handmade_clock(13, (4,))
    specimen = Specimen(network)
    panel = isolated_panel(specimen, specimen.evidence[0])
    cells = marks_of(panel, HeatMap)[0].details
    assert cells[0, :3, 1].tolist() == [0, 10, 7]  # 10 * 4 = 1 (mod 13)
    assert "steps of 10" in panel.caption


def untrained(task: TaskSettings, layers: int = 1) -> Network:
    return initialize(
        RunSettings(
            task=task, network=TransformerSettings(width=32, attention_rate=0.5, layers=layers)
        )
    )


def test_attention_shows_what_the_answer_takes() -> None:
    network = untrained(TaskSettings(modulus=7), layers=2)
    panels = attention_panels(Specimen(network))
    assert len(panels) == 2 * 4
    z = marks_of(panels[0], HeatMap)[0].values
    _, cache = network.run_with_cache()
    expected = cache["blocks.0.attn.hook_pattern"][:, 0, -1, 0].view(7, 7)
    assert numpy.allclose(z, expected.detach().numpy(), atol=1e-6)
    equals = untrained(TaskSettings(modulus=7, equals_sign=True))
    assert len(attention_panels(Specimen(equals))) == 2 * 4
    linear = initialize(RunSettings(task=TaskSettings(modulus=7), network=LinearSettings()))
    assert attention_panels(Specimen(linear)) == []


def test_two_operand_tables_are_two_markers() -> None:
    network = untrained(TaskSettings(modulus=7, separate_vocabularies=True))
    specimen = Specimen(network)
    for item in specimen.evidence:
        points = marks_of(circle_panel(specimen, item), Points)
        assert [mark.marker for mark in points] == ["o", "s"]


def test_training_curves_leave_out_what_is_not_there() -> None:
    history: dict[str, list[float | None]]
    history = {
        "epochs": [0, 10],
        "training_loss": [4.0, 0.1],
        "validation_loss": [None, None],
        "parameter_norm": [3.0, None],
    }
    losses, norm = history_panels(history)
    assert len(marks_of(losses, Line)) == 1
    assert hover_text(losses.marks[0], 1) == "training, epoch 10: 0.1"
    assert losses.y.scale == "log"
    assert "training 0.1" in losses.alt
    assert "undefined" in norm.alt


def test_a_whole_network_is_seen_in_the_order_of_its_strongest_circle() -> None:
    order, words = main_order(Specimen(handmade_clock(13, (4,))))
    assert (order[:3], words) == ([0, 10, 7], "the order of the circle k = 4")
    plain = initialize(RunSettings(task=TaskSettings(modulus=13), network=LinearSettings()))
    assert main_order(Specimen(plain)) == (list(range(13)), "their own order")


def test_labels_stand_on_a_ring_around_an_uneven_circle() -> None:
    angles = 2 * torch.pi * 7 * torch.arange(59) / 59
    circle = torch.stack([angles.cos(), angles.sin()], dim=1).double()
    points = circle + 0.1 * torch.randn(59, 2, generator=torch.Generator().manual_seed(0)).double()
    labels, places = ring_labels(points)
    middle = points.mean(dim=0)
    farthest = (points - middle).norm(dim=1).max()
    assert 12 <= len(labels) <= MOST_ON_RING
    assert len(set(labels)) == len(labels)
    assert bool(((places - middle).norm(dim=1) > 1.15 * farthest).all())  # outside of every point
    apart = torch.cdist(places, places) + 9 * torch.eye(len(places))
    assert apart.min() > 0.9 * 2 * torch.pi / MOST_ON_RING * farthest  # side by side
    own = points[[int(name) for name in labels]] - middle
    assert torch.nn.functional.cosine_similarity(own, places - middle).min() > 1 - 1e-9
