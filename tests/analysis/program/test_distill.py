"""A distilled program is a file that runs by itself, computes what its certificate says, and
answers as its network does.
"""

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import algophase
from algophase.analysis.circles.formulas import clock_logits
from algophase.analysis.device import in_float64
from algophase.analysis.logits.all_pairs import grid_logits
from algophase.analysis.logits.sums import answers
from algophase.analysis.program.distill import Distilled, distill, distill_logits
from algophase.core.errors import InputError
from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.networks import Network, initialize
from algophase.networks.handmade import handmade_clock, handmade_pizza


def cyclic(network: Network, *, smallest: bool = False, least_share: float = 0.0) -> Distilled:
    """The program of a network that adds."""
    program = distill(network, smallest=smallest, least_share=least_share)
    assert isinstance(program, Distilled)
    return program


def run(found: Distilled, folder: Path) -> dict[str, Any]:
    """The names that the file defines, after its check of itself."""
    path = folder / "program.py"
    path.write_text(found.source)
    return runpy.run_path(str(path), run_name="__main__")


def check(found: Distilled, network: Network, folder: Path) -> None:
    p = network.task.modulus
    names = run(found, folder)
    own = grid_logits(network).cpu()
    numbers = np.arange(p)
    made, wanted = names["logits"](numbers[:, None], numbers), answers(own)
    assert (names["MODULUS"], made.shape) == (p, (p, p, p))
    np.testing.assert_allclose(names["logits"](2, 1), made[2, 1], atol=1e-12)
    assert names["answer"](2, 1) == made[2, 1].argmax()
    x = (own[..., :p] - own[..., :p].mean(dim=-1, keepdim=True)).numpy()
    error = x - (made - made.mean(axis=-1, keepdims=True))
    proof = found.certificate
    assert proof.share == pytest.approx(1 - (error**2).sum() / (x**2).sum(), abs=1e-9)
    assert proof.largest_error == pytest.approx(np.abs(error).max(), abs=1e-9)
    assert proof.agreeing == int(
        (torch.from_numpy(names["answer"](numbers[:, None], numbers)) == wanted).sum()
    )


@pytest.mark.parametrize("smallest", [False, True])
@pytest.mark.parametrize(
    "network",
    [
        handmade_clock(7, (1, 2)),
        handmade_clock(12, (1, 6)),
        handmade_pizza(8, (1, 3), accompanied=True),
        handmade_pizza(13),
    ],
    ids=lambda network: network.id,
)
def test_a_program_is_what_its_certificate_says(
    network: Network, smallest: bool, tmp_path: Path
) -> None:
    found = cyclic(network, smallest=smallest)
    assert found.certificate.agreeing == network.task.modulus**2
    check(found, network, tmp_path)


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("p99zdpze5l", 0.9997),
        ("l8k1hzciux", 0.9964),
        ("p71frej8t7", 0.9995),
        ("qlvxqhkvit", 0.9867),
    ],
)
def test_released_networks_agree_on_every_pair(
    released: Path, name: str, share: float, tmp_path: Path
) -> None:
    network = in_float64(algophase.load(released / f"model_{name}.pt"))
    found = cyclic(network)
    assert found.certificate.agreeing == found.certificate.pairs == 3481
    assert found.certificate.share == pytest.approx(share, abs=5e-4)
    check(found, network, tmp_path)


def test_three_numbers_are_nearly_all_of_model_a(released: Path) -> None:
    network = in_float64(algophase.load(released / "model_p99zdpze5l.pt"))
    found = cyclic(network, smallest=True, least_share=0.99)
    assert (found.frequencies, found.numbers) == ((17, 3, 15), 3)
    assert found.certificate.share == pytest.approx(0.9948, abs=5e-4)
    assert found.certificate.agreeing == 3481
    assert cyclic(network, smallest=True).numbers == 1  # cos w r alone is right on every pair


def test_a_smallest_program_takes_the_smaller_parts_only_where_they_are_needed() -> None:
    p, numbers = 7, torch.arange(7)
    logits = clock_logits(p, 2)
    logits = logits + 3 * (numbers == 5)  # an offset that changes the answers
    found = distill_logits(logits, smallest=True)
    assert found.offsets is not None
    assert found.readout is None
    assert found.certificate.agreeing == p * p


def test_an_untrained_network_is_distilled_as_far_as_it_goes(tmp_path: Path) -> None:
    network = in_float64(
        initialize(RunSettings(TaskSettings(7), TransformerSettings(width=8), seed=1))
    )
    whole = cyclic(network)
    check(whole, network, tmp_path)
    agreeing = whole.certificate.agreeing
    assert agreeing < 49
    with pytest.raises(InputError, match=f"no program .* agrees on {agreeing} of 49 pairs"):
        cyclic(network, smallest=True)


def test_a_share_that_no_program_reaches_is_refused() -> None:
    logits = clock_logits(7, 2) + 0.1 * torch.from_numpy(
        np.random.default_rng(0).normal(size=(7, 7, 7))
    )
    assert distill_logits(logits, smallest=True).certificate.disagreeing == 0
    with pytest.raises(InputError, match=r"no program .* and explains 0\.9999 of its logits"):
        distill_logits(logits, smallest=True, least_share=0.9999)


@pytest.mark.parametrize("scale", [1e-100, 1e-15, 1e-6, 1e6, 1e15, 1e100])
def test_the_smallest_program_does_not_depend_on_the_size_of_the_logits(
    scale: float, tmp_path: Path
) -> None:
    """Powers of ten, since numbers are written with so many decimal digits."""
    logits = grid_logits(handmade_pizza(13, (1, 3), accompanied=True)).cpu()
    usual = distill_logits(logits, smallest=True, least_share=0.99)
    scaled = distill_logits(scale * logits, smallest=True, least_share=0.99)
    assert (scaled.frequencies, scaled.numbers) == (usual.frequencies, usual.numbers)
    assert scaled.certificate.share == pytest.approx(usual.certificate.share, abs=1e-6)
    assert scaled.certificate.disagreeing == 0
    np.testing.assert_allclose(
        scaled.profiles, scale * usual.profiles, rtol=1e-5, atol=1e-5 * scale
    )
    run(scaled, tmp_path)
    assert distill_logits(scale * logits).numbers == distill_logits(logits).numbers


HOSTILE = [
    '"""\nimport pathlib\npathlib.Path("ran").touch()\n"""',
    '\\"""\nopen("ran", "w")\n"""',
    "'''\nopen('ran', 'w')",
    'x"',
    "x\\",
    "line\u2028open('ran', 'w')\u2029\x85\x0b\x0c\r\x00end",
    "{p} {0} %s \\N{BULLET} \\x",
    "\u202eright to left, \ud800 alone, é, 数",
]


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_no_id_runs_as_code(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    network = handmade_clock(7, (1,))
    network.id = name
    (tmp_path / "program.py").write_bytes(cyclic(network).source.encode())
    names = runpy.run_path(str(tmp_path / "program.py"), run_name="__main__")
    assert f"as network {name} computes it" in names["__doc__"]
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]


def test_the_file_needs_numpy_alone_and_notices_a_changed_number(tmp_path: Path) -> None:
    found = cyclic(handmade_clock(7, (1,)), smallest=True)
    path = tmp_path / "program.py"
    path.write_text(found.source)
    code = (
        f"import sys, runpy; runpy.run_path({str(path)!r}, run_name='__main__'); assert "
        "'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("49 of 49 pairs are answered right")
    path.write_text(found.source.replace("(0, 1, 0)", "(0, 1.5, 0)"))
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert "differs from the certificate" in done.stderr
