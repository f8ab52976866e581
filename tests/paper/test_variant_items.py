"""Circle isolation in other networks: embeddings turned against each other, wide Pizzas, and how
often they occur.
"""

import math
from pathlib import Path

import pandas
import pytest
import torch
from made_items import find, make_one, plant, write_networks, write_sweep

from algophase.core.fourier import circle
from algophase.core.settings import LinearSettings, RunSettings, TaskSettings, TransformerSettings
from algophase.networks import Linear, initialize
from algophase.networks.handmade import handmade_pizza
from algophase.paper.sources import Sources


def turned(points: torch.Tensor, angle: float) -> torch.Tensor:
    cosine, sine = math.cos(angle), math.sin(angle)
    return points @ torch.tensor([[cosine, sine], [-sine, cosine]], dtype=points.dtype)


@torch.no_grad()
def separate_pizza(modulus: int, frequencies: tuple[int, ...], angles: tuple[float, ...]) -> Linear:
    """A hand-made Pizza whose operands' circles are turned against each other, so that their
    midpoints stay where they were.
    """
    plain = handmade_pizza(modulus, frequencies)
    settings = LinearSettings(
        model="alpha-prime", width=plain.settings.width, hidden=plain.settings.hidden
    )
    network = Linear(TaskSettings(modulus=modulus), settings).double()
    weights = dict(plain.named_parameters())
    for name, parameter in network.named_parameters():
        if not name.startswith("embed"):
            parameter.copy_(weights[name])
    for table, sign in ((network.embed1, 1), (network.embed2, -1)):
        circles = plain.embed.weight.split(2, dim=1)
        parts = [turned(part, sign * angle) for part, angle in zip(circles, angles, strict=True)]
        table.weight.copy_(torch.cat(parts, dim=1))
    return network


def test_separate_embeddings_shift_the_pattern_by_their_angle(tmp_path: Path) -> None:
    sources = write_networks(
        tmp_path, {"separate-pizza": separate_pizza(59, (1, 5, 17), (0.4, -0.9, 1.6))}
    )
    made = make_one("iso-diffemb", sources, tmp_path / "out")
    # that one network's circles are aligned does not say that they often are
    assert [claim.verdict for claim in made.claims] == [
        "supported",
        "undecided",
        "supported",
        "reproduced",
    ]
    assert find(made.claims, "often aligned").ours.startswith(
        "3 of 3 circles, with 100% of their variance: 1.000"
    )
    # Turned by +-angle the operands are 2 * angle apart: row -2 angle p / (2 pi) of k(a - b).
    expected = [f"{-2 * angle / (2 * math.pi) * 59 % 59:.1f}" for angle in (0.4, -0.9, 1.6)]
    assert find(made.claims, "shifted").ours.endswith(f"shifts {', '.join(expected)}")
    assert find(made.claims, "(a - b)/18").ours == "10"


def test_a_wide_network_without_a_pizza_is_not_called_one(tmp_path: Path) -> None:
    wide = initialize(RunSettings(network=TransformerSettings(width=64)))
    made = make_one("widepizza", write_networks(tmp_path, {"wide-pizza": wide}), tmp_path / "out")
    assert made.problem is not None
    assert "no circle" in made.problem
    plant(wide, torch.cat([circle(59, 3), 0.9 * circle(59, 5)], dim=1))
    made = make_one(
        "widepizza", write_networks(tmp_path / "circular", {"wide-pizza": wide}), tmp_path / "out"
    )
    assert [claim.verdict for claim in made.claims] == [
        "not tested",
        "not tested",
        "supported",
        "not supported",
    ]
    assert len(made.files) == 2


@pytest.mark.slow
def test_tries_of_a_wide_network_are_counted_where_there_is_a_sweep(
    gallery: Path, tmp_path: Path
) -> None:
    made = make_one("widepizza", Sources(gallery.parent), tmp_path / "ours")
    assert find(made.claims, "after several tries").verdict == "supported"
    for count, verdict in (
        (2, "undecided"),
        (48, "undecided"),
        (100, "not supported"),
    ):  # none: among few, that says little
        runs = pandas.DataFrame(
            {"paper_label": ["Clock"] * count, "width": 1024, "validation_accuracy": 1.0}
        )
        write_sweep(tmp_path / str(count), "wide", runs)
        made = make_one(
            "widepizza",
            Sources(gallery.parent, (tmp_path / str(count) / "wide",)),
            tmp_path / "none",
        )
        tries = find(made.claims, "after several tries")
        assert (tries.verdict, tries.sample) == (verdict, count)
