"""The program of a network on a group runs, and is what its certificate says."""

import copy
import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from commands import invoke, python
from test_actions import GROUPS, needs_groups, untrained

from algophase import distill, load
from algophase.analysis.logits.all_pairs import grid_logits
from algophase.analysis.logits.sums import answers
from algophase.analysis.operation import with_group
from algophase.analysis.program.distill_group import DistilledGroup
from algophase.core.errors import InputError
from algophase.core.named_groups import named_group
from algophase.networks import Network
from algophase.networks.handmade_groups import adding_network, multiplying_network
from algophase.storage import save


def run(program: DistilledGroup, folder: Path) -> dict[str, Any]:
    """The names that the file defines, after its check of itself."""
    path = folder / "program.py"
    path.write_text(program.source)
    return runpy.run_path(str(path), run_name="__main__")


def check(program: DistilledGroup, network: Network, folder: Path) -> None:
    """Against the network's logits by its own numbers."""
    names = run(program, folder)
    plain = copy.copy(network)
    plain.task = replace(network.task, group="", relabeling=())
    own = grid_logits(plain).double().cpu()
    n = network.task.modulus
    numbers = np.arange(n)
    written = names["logits"](numbers[:, None], numbers)
    assert (names["ORDER"], written.shape) == (n, (n, n, n))
    np.testing.assert_allclose(names["logits"](2, 1), written[2, 1], atol=1e-12)
    labels = own[..., :n] - own[..., :n].mean(dim=-1, keepdim=True)
    error = labels.numpy() - (written - written.mean(axis=-1, keepdims=True))
    proof = program.certificate
    share = 1 - np.square(error).sum() / float(labels.square().sum())
    assert proof.share == pytest.approx(share, abs=1e-6)
    assert proof.largest_error == pytest.approx(np.abs(error).max(), rel=1e-4, abs=1e-6)
    agreeing = torch.from_numpy(names["answer"](numbers[:, None], numbers)) == answers(own)
    assert proof.agreeing == int(agreeing.sum())


def on_group(network: Network, **how: Any) -> DistilledGroup:
    program = distill(network, **how)
    assert isinstance(program, DistilledGroup)
    return program


@pytest.mark.parametrize("name", ["S3", "D5", "Q8", "F20", "F21", "Z2xZ4", "A5"])
def test_a_network_that_multiplies_is_its_characters(name: str, tmp_path: Path) -> None:
    """Real, complex and quaternionic representations: one number each is all of the logits."""
    network = multiplying_network(named_group(name))
    program = on_group(network)
    assert program.numbers == len(program.representations)
    assert program.certificate.share == pytest.approx(1, abs=1e-9)
    assert program.certificate.agreeing == network.task.modulus**2
    check(program, network, tmp_path)


@pytest.mark.parametrize("name", ["S3", "D5", "A4"])
@pytest.mark.parametrize("smallest", [False, True])
def test_a_network_that_adds(name: str, smallest: bool, tmp_path: Path) -> None:
    network = adding_network(named_group(name))
    program = on_group(network, smallest=smallest)
    assert program.certificate.agreeing == network.task.modulus**2
    check(program, network, tmp_path)
    if smallest:
        assert program.numbers == 1
    else:
        assert program.certificate.share > 0.9


def test_all_parts_and_every_naming_of_the_operands(tmp_path: Path) -> None:
    """An untrained network has logits in every class."""
    network = with_group(untrained(6), "S3")
    program = on_group(network)
    for part in ("left(y", "right(x", "readout(x y", "offset(z)"):
        assert part in program.source
    check(program, network, tmp_path)
    with pytest.raises(InputError, match=r"no program of .* answers every pair"):
        distill(network, smallest=True, least_share=1)
    renamed = copy.copy(network)
    names = ((1, 0, 2, 4, 3, 5), (5, 4, 3, 2, 1, 0), (0, 2, 1, 3, 5, 4))
    renamed.task = replace(network.task, group="S3", relabeling=names)
    program = on_group(renamed)
    assert "FIRST[x]" in program.source
    check(program, renamed, tmp_path)


def test_the_command(tmp_path: Path) -> None:
    path = save(adding_network(named_group("S3")), tmp_path / "s3")
    result = invoke("distill", path, "-o", tmp_path / "program.py")
    assert result.exit_code == 0, result.exception
    assert "S3 by adding" in result.stderr
    assert "representations standard of the group S3 of order 6" in result.stderr
    assert "36 of 36 pairs answered as the network does" in result.stderr
    done = python(tmp_path / "program.py")
    assert done.returncode == 0, done.stderr
    assert "36 of 36 pairs are answered right" in done.stdout


def test_a_hostile_name_stays_text(tmp_path: Path) -> None:
    network = multiplying_network(named_group("S3"))
    network.id = 'x"""\nraise SystemExit(3)\n"""'
    run(on_group(network), tmp_path)


@needs_groups
@pytest.mark.parametrize(
    ("name", "numbers", "share"),
    [("S5_T_seed1", 17, 0.9985), ("A5_MLP_seed1", 34, 0.907), ("S5_MLP_seed2", 17, 0.9925)],
)
def test_published_networks(name: str, numbers: int, share: float, tmp_path: Path) -> None:
    network = load(GROUPS / f"{name}.pt")
    program = on_group(network)
    assert program.numbers == numbers
    assert program.certificate.share == pytest.approx(share, abs=0.001)
    assert program.certificate.disagreeing == 0
    check(program, network.double(), tmp_path)
