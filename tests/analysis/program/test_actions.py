"""Shares of the logits by what they are functions of, against projections written out; and against
what the authors of published networks say of theirs.
"""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

from algophase import RunSettings, load
from algophase.analysis.logits.all_pairs import grid_logits
from algophase.analysis.program.actions import action_sums, class_shares
from algophase.analysis.program.read import program_of_logits
from algophase.core.fourier import Array
from algophase.core.group import Group, group_from_table
from algophase.core.named_groups import named_group
from algophase.core.settings import MLPSettings, TaskSettings
from algophase.networks import Network, initialize

GROUPS = Path(__file__).parents[4] / "shared" / "foreign" / "groups"
needs_groups = pytest.mark.skipif(
    not GROUPS.exists(), reason="the networks of other groups are not here"
)


def untrained(order: int) -> Network:
    settings = MLPSettings(width=8, hidden=16)
    run = RunSettings(TaskSettings(order), settings)
    return initialize(run).double()


def action(group: Group, name: str, by: int, triple: tuple[int, ...]) -> tuple[int, ...]:
    x, y, z = triple
    match name:
        case "g":
            return group.sum(by, x), y, group.sum(by, z)
        case "h":
            return group.difference(x, by), group.sum(by, y), z
        case _:
            return x, group.sum(y, by), group.sum(z, by)


def mean_over(group: Group, name: str, logits: Array) -> Array:
    """The mean of the logits (x, y, z) over an action."""
    total = np.zeros_like(logits)
    for triple in product(range(group.order), repeat=3):
        images = [action(group, name, by, triple) for by in range(group.order)]
        total[triple] = np.mean([logits[image] for image in images])
    return total


@pytest.mark.parametrize("name", ["S3", "Z6", "Q8"])
def test_shares_are_those_of_means_over_the_actions(name: str) -> None:
    group = named_group(name)
    network = untrained(group.order)
    first, second = (table.detach()[None] for table in network.operand_tables())
    shares = class_shares(group, action_sums(network, group, first, second).get())

    logits = grid_logits(network).numpy()
    centered = logits - logits.mean(axis=-1, keepdims=True)
    whole = np.square(centered).sum()
    offsets = np.broadcast_to(centered.mean(axis=(0, 1)), centered.shape)
    rest = centered - offsets

    def share(*names: str) -> float:
        part = rest
        for action_name in names:
            part = mean_over(group, action_name, part)
        return float(np.square(part).sum() / whole)

    assert shares.offsets == pytest.approx(np.square(offsets).sum() / whole)
    assert shares.left == pytest.approx(share("g"))
    assert shares.right == pytest.approx(share("k"))
    assert shares.readout == pytest.approx(share("h"))
    assert shares.bi_equivariant == pytest.approx(share("g", "k"))
    assert shares.left_readout == pytest.approx(share("g", "h"))
    assert shares.right_readout == pytest.approx(share("k", "h"))
    assert shares.characters == pytest.approx(share("g", "h", "k"))
    assert sum(shares.exclusive.values()) == pytest.approx(1)
    assert min(shares.exclusive.values()) > -1e-12
    if group.commutes:
        assert shares.bi_equivariant == pytest.approx(shares.characters)


def group_read(network: Network) -> Group:
    order = network.task.modulus
    return group_from_table(grid_logits(network)[..., :order].argmax(dim=-1).numpy())


# The share of characters is published for each network; the other two are measurements of ours on
# the same networks with another program.
PUBLISHED = {
    "S5_MLP_seed1": (0.654, 0.893),
    "S5_MLP_seed2": (0.993, 0.993),
    "S5_MLP_seed10": (0.714, 0.763),
    "D59_MLP_seed1": (0.952, 0.965),
    "S5_T_seed1": (0.998, 0.999),
    "D59_T_seed1": (0.843, 0.882),
}


@needs_groups
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_networks(name: str) -> None:
    network = load(GROUPS / f"{name}.pt").double()
    group = group_read(network)
    first, second = (table.detach()[None] for table in network.operand_tables())
    sums = action_sums(network, group, first, second).get()
    shares = class_shares(group, sums)
    metrics = json.loads((GROUPS / f"{name}.summary_metrics.json").read_text())
    assert shares.characters == pytest.approx(metrics["percent_logits_explained"], abs=1e-4)
    bi_equivariant, left = PUBLISHED[name]
    assert shares.bi_equivariant == pytest.approx(bi_equivariant, abs=1e-3)
    assert shares.left == pytest.approx(left, abs=1e-3)
    assert sums.right.tolist() == [1.0]


def test_several_embeddings_and_several_strips_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    group = named_group("D4")
    network = untrained(8)
    first, second = (table.detach() for table in network.operand_tables())
    two_first, two_second = (torch.stack([table, 0.5 * table]) for table in (first, second))
    at_once = action_sums(network, group, two_first, two_second).get()
    monkeypatch.setattr("algophase.networks.pair_logits.CACHED_ELEMENTS", 1)
    in_strips = action_sums(network, group, two_first, two_second).get()
    for name, values in vars(in_strips).items():
        np.testing.assert_allclose(values, getattr(at_once, name), atol=1e-12, err_msg=name)


def test_a_cyclic_program_has_the_same_classes() -> None:
    network = untrained(7)
    with torch.no_grad():
        program = program_of_logits(grid_logits(network))
    first, second = (table.detach()[None] for table in network.operand_tables())
    group = named_group("Z7")
    shares = class_shares(group, action_sums(network, group, first, second).get())
    assert program.left_share == pytest.approx(shares.left)
    assert program.right_share == pytest.approx(shares.right)
    assert program.answer_only_share == pytest.approx(shares.characters)
    assert program.sum_share - program.offset_share == pytest.approx(shares.readout)
