"""Whatever is done to a certificate, the checker proves nothing false and never fails."""

import dataclasses
import json
from pathlib import Path
from types import ModuleType

import pytest
from hostile_certificates import edited, edits, signed, texts
from test_certify import GALLERY, checker
from test_compact import random_advice

from algophase.certificates.certify import certify, compact_part
from algophase.certificates.forms import form_of
from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.core.task import answers
from algophase.networks import initialize
from algophase.storage import load, save

__all__ = ["checker"]  # a fixture
# Advice that is replaced by other advice proves as little as random advice does.
NEEDS_A_PROOF = ("advice.reading.back changed", "scales: huge", "scales: infinite")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A small transformer, and its certificate with a compact part of random advice."""
    run = RunSettings(TaskSettings(7), TransformerSettings(width=8, attention_rate=0.5), seed=3)
    network = initialize(run)
    file = save(network, tmp_path_factory.mktemp("hostile") / "network")
    right = answers(network.task).numpy()
    compact = compact_part(form_of(network), right, random_advice(network, 0))
    return file, dataclasses.replace(certify(network), compact=compact).text


def test_there_are_a_hundred_kinds() -> None:
    assert len(edits()) + len(texts("{}")) >= 100


def test_an_unedited_certificate_is_proved(
    small: tuple[Path, str], checker: ModuleType, tmp_path: Path
) -> None:
    file, text = small
    certificate = tmp_path / "certificate.json"
    for written in (text, signed(json.loads(text))):
        certificate.write_text(written)
        assert checker.main(file, certificate) == 0


@pytest.mark.parametrize("name", [name for name in edits() if not name.count("scales: ")])
def test_an_edited_certificate_is_not_proved(
    name: str, small: tuple[Path, str], checker: ModuleType, tmp_path: Path
) -> None:
    if any(word in name for word in NEEDS_A_PROOF):
        pytest.skip("advice of a small network proves nothing; the slow test has a larger one")
    file, text = small
    certificate = tmp_path / "certificate.json"
    certificate.write_text(edited(text, edits()[name]))
    assert checker.main(file, certificate) in (1, 2)


@pytest.mark.parametrize("name", texts("{}"))
def test_an_edited_text_is_not_proved(
    name: str, small: tuple[Path, str], checker: ModuleType, tmp_path: Path
) -> None:
    file, text = small
    certificate = tmp_path / "certificate.json"
    certificate.write_text(texts(text)[name])
    assert checker.main(file, certificate) in (1, 2)


@pytest.mark.slow
def test_edited_certificates_of_an_exhibit_are_not_proved(
    checker: ModuleType, tmp_path: Path
) -> None:
    file = GALLERY / "exhibits" / "7b521e7f6cce.safetensors"
    text = certify(load(file)).text
    certificate = tmp_path / "certificate.json"
    for name, edit in edits().items():
        if name.startswith("compact"):
            certificate.write_text(edited(text, edit))
            assert checker.main(file, certificate) in (1, 2), name
