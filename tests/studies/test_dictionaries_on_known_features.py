"""The oracle, a random dictionary and a small autoencoder by the study's own commands."""

import runpy
from pathlib import Path

import pytest
import torch
from fenced import ROOT

from algophase import export_features, handmade_pizza, known_features

STUDY = runpy.run_path(str(ROOT / "studies" / "dictionaries_on_known_features.py"))


@pytest.fixture(scope="module")
def features(tmp_path_factory: pytest.TempPathFactory) -> Path:
    networks = [handmade_pizza(13, frequencies) for frequencies in ((1, 3), (2, 5))]
    truth = [known_features(network, "reads") for network in networks]
    return export_features(truth, tmp_path_factory.mktemp("exported") / "features")


def printed(
    features: Path, words: str, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch
) -> str:
    patch.setattr("sys.argv", ["study", str(features), *words.split()])
    STUDY["main"]()
    return capsys.readouterr().out


def test_each_dictionary_is_scored(
    features: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for words, expected in (
        ("oracle", "2 networks, one dictionary: score 1.000"),
        ("random --latents 64", "2 networks, one dictionary: score 0.000"),
        ("oracle --each", "graded recall     1.000  (1.000 to 1.000)"),
        ("numbers --each", "two latents at a time explain 100.0% of the variance"),
        ("samples --latents 8", "8 latents pure"),
        ("components --each", "means over 2 networks"),
        ("topk --latents 16 --active 2 --steps 3", "with 2 active latents"),
        ("topk --latents 16 --active 2 --steps 3 --each", "with the nearest number's direction"),
    ):
        assert expected in printed(features, words, capsys, monkeypatch)


def test_latents_that_never_fire_are_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows point one way: of many latents two can fire."""
    monkeypatch.setitem(STUDY["trained"].__globals__, "PATIENCE", 5)
    data = torch.ones(1, 8, 4) + 0.1 * torch.eye(8, 4)
    model = STUDY["trained"](data, latents=32, active=1, steps=40, batch=8)
    assert all(torch.isfinite(tensor).all() for tensor in model)
    assert model.decoder[0].norm(dim=-1).numpy() == pytest.approx(1)


def test_an_autoencoder_finds_features_that_are_sparse() -> None:
    """Eight orthogonal directions, two on at once: what TopK is made for."""
    generator = torch.Generator().manual_seed(1)
    directions = torch.linalg.qr(torch.randn(16, 16, generator=generator))[0][:8]
    chosen = torch.rand(512, 8, generator=generator).topk(2).indices
    sizes = torch.zeros(512, 8).scatter(1, chosen, 1.0) * (
        0.5 + torch.rand(512, 8, generator=generator)
    )
    data = (sizes @ directions)[None]
    model = STUDY["trained"](data, latents=16, active=2, steps=1500, batch=128)
    cosines = (model.decoder[0] @ directions.T).max(dim=0).values
    assert cosines.min() > 0.95
    assert model.decoder[0].norm(dim=-1).numpy() == pytest.approx(1)
    assert (model.codes(data, 2) != 0).sum(dim=-1).max() <= 2
