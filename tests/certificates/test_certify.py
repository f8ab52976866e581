"""What `certify` proves is true, and the checker, which shares no code with it, agrees."""

import hashlib
import importlib
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from algophase.analysis.program.distill import distill
from algophase.certificates.certify import certify
from algophase.core.errors import InputError
from algophase.core.settings import (
    LinearSettings,
    MLPSettings,
    RunSettings,
    TaskSettings,
    TransformerSettings,
)
from algophase.core.task import all_pairs, answers, tokens
from algophase.networks import Network, build, initialize
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.storage import load, save

ROOT = Path(__file__).parents[2]
FOREIGN = ROOT.parent / "shared" / "foreign"
GALLERY = ROOT / "gallery"
EXHIBIT = GALLERY / "exhibits" / "58582e25b90b.safetensors"


@pytest.fixture(scope="module")
def checker() -> Iterator[ModuleType]:
    """`certificates/check.py` as a module."""
    pytest.importorskip("flint", reason="the checker needs python-flint")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "certificates")
        yield importlib.import_module("check")


def drawn(task: TaskSettings, settings: object, seed: int = 0, size: float = 1.0) -> Network:
    """A network whose every weight, biases too, is drawn at random."""
    network = build(task, settings)  # type: ignore[arg-type]
    draw = np.random.default_rng(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.from_numpy(size * draw.standard_normal(parameter.shape)))
    network.id = "drawn"
    return network


ARCHITECTURES = {
    "rate 0": (TaskSettings(5), TransformerSettings(8, heads=2, attention_rate=0.0)),
    "rate 0.6": (TaskSettings(7), TransformerSettings(9, heads=2, attention_rate=0.6)),
    "gelu": (TaskSettings(5), TransformerSettings(8, activation="gelu", attention_rate=1.0)),
    "equals sign": (TaskSettings(5, equals_sign=True), TransformerSettings(8)),
    "separate": (
        TaskSettings(5, separate_vocabularies=True, equals_sign=True),
        TransformerSettings(8, attention_rate=0.3),
    ),
    **{
        model: (TaskSettings(6), LinearSettings(model, 8, 10))
        for model in ("alpha", "alpha-prime", "beta", "gamma", "delta")
    },
    "concatenate": (TaskSettings(group="S3"), MLPSettings(4, 9, "concatenate", own_tables=True)),
    "add": (TaskSettings(7), MLPSettings(4, 9, "add", "gelu")),
    "one hot": (TaskSettings(7), MLPSettings(12, 0, "add", "square", one_hot=True)),
    "multiply": (TaskSettings(7), MLPSettings(4, 0, "multiply", "none", own_tables=True)),
    "subtract": (
        TaskSettings(7, operation="subtract"),
        MLPSettings(4, 9, "concatenate", own_tables=True),
    ),
}


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_checker_proves_what_is_certified(
    name: str, checker: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task, settings = ARCHITECTURES[name]
    network = drawn(task, settings)
    certificate = certify(network)
    every_pair = tokens(task, all_pairs(task.modulus))
    logits = network.double()(every_pair).detach().numpy()
    right = logits.argmax(axis=-1) == answers(task).numpy().ravel()
    assert certificate.undecided == 0
    assert certificate.proved_right == right.sum()
    if certificate.largest_difference is not None:
        program = distill(network)
        low, high = certificate.largest_difference
        assert low <= program.certificate.largest_error <= high
        assert certificate.share_explained is not None
        low, high = certificate.share_explained
        assert low <= program.certificate.share <= high
    file = save(drawn(task, settings), tmp_path / "network")
    certify(load(file)).save(tmp_path / "certificate.json")
    verdict = checker.main(file, tmp_path / "certificate.json")
    assert verdict == 0, capsys.readouterr().out


def test_every_logit_of_a_tiny_network_is_enclosed() -> None:
    """An independent reference: exact fractions."""
    from algophase.certificates.forms import form_of

    network = drawn(TaskSettings(3), LinearSettings("beta", 2, 3), seed=4)
    weights = {
        name: [[Fraction(float(x)) for x in row] for row in torch.atleast_2d(tensor).tolist()]
        for name, tensor in network.state_dict().items()
    }

    def affine(layer: str, x: list[Fraction]) -> list[Fraction]:
        rows, bias = weights[f"{layer}.weight"], weights[f"{layer}.bias"][0]
        sums = [sum(map(Fraction.__mul__, row, x), start=Fraction(0)) for row in rows]
        return [max(total + b, Fraction(0)) for total, b in zip(sums, bias, strict=True)]

    table = weights["embed.weight"]
    logits = form_of(network).logits(slice(0, 3))
    for a in range(3):
        for b in range(3):
            joined = [x + y for x, y in zip(table[a], table[b], strict=True)]
            hidden = affine("l2", affine("l1", joined))
            for c, row in enumerate(weights["unembed.weight"]):
                exact = sum(map(Fraction.__mul__, row, hidden), start=Fraction(0))
                off = abs(exact - Fraction(float(logits.mid[a, b, c])))
                assert off <= Fraction(float(logits.rad[a, b, c]))
                assert logits.rad[a, b, c] < 1e-12


def _describe(file: Path) -> None:
    """Put the digest of a file's tensors into the description beside it."""
    description = file.with_suffix(".json")
    entries = json.loads(description.read_text())
    entries["tensors_sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    description.write_text(json.dumps(entries))


@pytest.mark.parametrize("factor", [np.nan, np.inf, 1e30, 1e-42, 0.0])
def test_unusual_weights_prove_nothing_false(
    factor: float, checker: ModuleType, tmp_path: Path
) -> None:
    network = handmade_pizza(7, (1, 2)).float()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(parameter * factor)
    certificate = certify(network)
    if not np.isfinite(factor) or factor == 0:
        assert certificate.proved_right == certificate.proved_wrong == 0
    file = save(handmade_pizza(7, (1, 2)).float(), tmp_path / "network")
    save_file({name: tensor.contiguous() for name, tensor in network.state_dict().items()}, file)
    _describe(file)
    certificate.save(tmp_path / "certificate.json")
    verdict = checker.main(file, tmp_path / "certificate.json")
    assert verdict in (0, 1)


UNUSUAL = {
    "NaN": lambda index, values: values.fill_(np.nan),
    "one NaN": lambda index, values: values.view(-1)[:1].fill_(np.nan),
    "infinite": lambda index, values: values.fill_(np.inf),
    "one infinite": lambda index, values: values.view(-1)[:1].fill_(-np.inf),
    "one largest": lambda index, values: values.view(-1)[:1].fill_(_largest(values)),
    "largest": lambda index, values: values.copy_(values.sign() * _largest(values)),
    "denormal": lambda index, values: values.mul_(1e-42 if _largest(values) < 1e40 else 1e-310),
    "huge": lambda index, values: values.mul_(_largest(values) ** 0.7),
    "mixed": lambda index, values: values.mul_(1e30 if index % 2 else 1e-30),
    "zero": lambda index, values: values.zero_(),
    "no embedding": lambda index, values: values.zero_() if index == 0 else None,
    "equal": lambda index, values: values.fill_(1.0),
}


def _largest(values: torch.Tensor) -> float:
    return torch.finfo(values.dtype).max


@pytest.mark.parametrize("weights", UNUSUAL)
@pytest.mark.parametrize(
    ("name", "precision"),
    [
        *((name, torch.float32) for name in ("rate 0", "separate", "gelu", "multiply", "S3")),
        *((name, torch.float64) for name in ("rate 0.6", "beta", "concatenate", "S3")),
        *((name, torch.float16) for name in ("rate 0.6", "delta")),
    ],
)
def test_no_weights_cause_an_error(
    name: str, precision: torch.dtype, weights: str, checker: ModuleType, tmp_path: Path
) -> None:
    group = (TaskSettings(group="S3"), TransformerSettings(8, heads=2, attention_rate=0.7))
    network = drawn(*(ARCHITECTURES | {"S3": group})[name], seed=1).to(precision)
    with torch.no_grad():
        for index, parameter in enumerate(network.parameters()):
            UNUSUAL[weights](index, parameter)
    file = tmp_path / "network.pt"
    torch.save(dict(network.state_dict()), file)
    certificate = certify(network)
    certificate.save(tmp_path / "certificate.json")
    assert checker.main(file, tmp_path / "certificate.json") in (0, 1)
    if weights in ("NaN", "infinite", "zero", "equal"):
        assert certificate.proved_right == certificate.proved_wrong == 0


def test_a_network_without_a_form_is_refused() -> None:
    with pytest.raises(InputError, match="a certificate can be made for"):
        certify(handmade_clock(7))
    run = RunSettings(TaskSettings(7), TransformerSettings(width=8, layers=2), seed=1)
    with pytest.raises(InputError, match="transformer of one layer"):
        certify(initialize(run))


def test_an_exhibit_is_certified() -> None:
    certificate = certify(load(EXHIBIT))
    assert certificate.proved_right == certificate.pairs == 3481
    assert certificate.compact is not None
    assert certificate.compact["proved_right"] >= 0.95 * 3481
    assert certificate.compact["operations_share"] <= 0.25


@pytest.mark.slow
def test_an_exhibit_is_proved_right(checker: ModuleType, tmp_path: Path) -> None:
    certify(load(EXHIBIT)).save(tmp_path / "certificate.json")
    assert checker.main(EXHIBIT, tmp_path / "certificate.json") == 0


@pytest.mark.slow
@pytest.mark.skipif(not FOREIGN.is_dir(), reason="../shared/foreign is not here")
@pytest.mark.parametrize(
    "name",
    [
        "groups/A5_MLP_seed1.pt",
        "groups/S5_MLP_seed2.pt",
        "reproduction/model_B_0.372.pt",
        "onehot_mlp_p23.pth",
    ],
)
def test_networks_of_others_are_proved_right(
    name: str, checker: ModuleType, tmp_path: Path
) -> None:
    path = FOREIGN / name
    certificate = certify(load(path, activation="relu" if "onehot" in name else None))
    assert certificate.proved_right == certificate.pairs
    certificate.save(tmp_path / "certificate.json")
    assert checker.main(path, tmp_path / "certificate.json") == 0


def test_a_certificate_of_another_network_is_not_proved(
    checker: ModuleType, tmp_path: Path
) -> None:
    task, settings = ARCHITECTURES["alpha"]
    file = save(drawn(task, settings, seed=1), tmp_path / "network")
    certify(drawn(task, settings, seed=2)).save(tmp_path / "certificate.json")
    assert checker.main(file, tmp_path / "certificate.json") == 1


def test_one_changed_digit_is_never_proved(checker: ModuleType, tmp_path: Path) -> None:
    network = handmade_pizza(5, (1,))
    file = save(network, tmp_path / "network")
    text = certify(network).text
    changed_file = tmp_path / "certificate.json"
    changed_file.write_text(text)
    assert checker.main(file, changed_file) == 0
    digits = [index for index, letter in enumerate(text) if letter.isdigit()]
    draw = np.random.default_rng(0)
    for index in draw.choice(digits, 60, replace=False).tolist():
        other = str((int(text[index]) + int(draw.integers(1, 10))) % 10)
        changed_file.write_text(text[:index] + other + text[index + 1 :])
        assert checker.main(file, changed_file) in (1, 2), text[index - 30 : index + 10]


def test_claims_that_are_too_high_are_false(checker: ModuleType, tmp_path: Path) -> None:
    """Also where someone wrote the digest anew."""
    import dataclasses

    task, settings = ARCHITECTURES["rate 0"]
    network = drawn(task, settings)
    file = save(network, tmp_path / "network")
    certificate = certify(network)
    assert certificate.proved_wrong > 0
    better = dataclasses.replace(certificate, proved_right=25, proved_wrong=0)
    better.save(tmp_path / "certificate.json")
    assert checker.main(file, tmp_path / "certificate.json") == 2
    nearer = dataclasses.replace(certificate, largest_difference=(0.0, 1e-6))
    nearer.save(tmp_path / "certificate.json")
    assert checker.main(file, tmp_path / "certificate.json") == 2
    entries = json.loads(certificate.text)
    assert entries["undecided"] == 25 - entries["proved_right"] - entries["proved_wrong"]


def test_the_checker_is_short_and_needs_nothing_of_algophase() -> None:
    files = sorted((ROOT / "certificates").glob("*.py"))
    assert [file.name for file in files] == [
        "arithmetic.py",
        "check.py",
        "check_compact.py",
        "check_forms.py",
        "check_network.py",
        "check_program.py",
    ]
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 300
        assert "import algophase" not in text
        assert "from algophase" not in text
