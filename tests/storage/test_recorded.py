"""A network with code of its own is saved as its tables, logits and analysis, and reported on
where its code is not.
"""

import hashlib
import json
import random
from collections import Counter
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from algophase import (
    RunSettings,
    TransformerSettings,
    analyze,
    distill,
    grid_logits,
    initialize,
    isolate_frequencies,
    wrap,
)
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.errors import InputError
from algophase.core.settings import ClockSettings, TaskSettings
from algophase.networks import Cache, Clock, Network, Recorded
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.record.codec import encode_value
from algophase.reports.figures import draw_all
from algophase.reports.make import report
from algophase.storage import load, save


class Doubled(Clock):
    """The Clock's tensors, and another function of them."""

    def logits_from_embeddings(
        self, first: Tensor, second: Tensor, cache: Cache | None = None
    ) -> Tensor:
        return 2 * super().logits_from_embeddings(first, second, cache)


def doubled() -> Network:
    network = Doubled(TaskSettings(modulus=5), ClockSettings((1, 2))).double()
    network.load_state_dict(handmade_clock(5, (1, 2)).state_dict())
    network.id = "mine"
    return network


def test_a_class_of_ones_own_is_kept_without_its_code(tmp_path: Path) -> None:
    network = doubled()
    expected = analyze(network)
    again = load(save(network, tmp_path / "mine", analysis=expected))
    assert isinstance(again, Recorded)
    torch.testing.assert_close(grid_logits(again), grid_logits(network))
    found = analyze(again)
    assert str(found) == str(expected)
    assert found.to_dict() == expected.to_dict()
    torch.testing.assert_close(
        torch.tensor(found.program.answer), torch.tensor(expected.program.answer)
    )
    assert distill(again).source == distill(network).source
    stricter = Thresholds(pizza_part=1.0)
    assert analyze(again, stricter).verdict == analyze(network, stricter).verdict
    with pytest.raises(InputError, match="saved without its code"):
        isolate_frequencies(again, [1])
    assert str(analyze(load(save(again, tmp_path / "copy")))) == str(expected)


def test_code_without_an_analysis_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"network mine has code of its own.*analysis="):
        save(doubled(), tmp_path / "mine")
    with pytest.raises(InputError, match="analysis is 'Clock'"):
        save(doubled(), tmp_path / "mine", analysis="Clock")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_a_garbled_analysis_is_refused(tmp_path: Path) -> None:
    network = doubled()
    path = save(network, tmp_path / "mine", analysis=analyze(network))
    description = path.with_suffix(".json")
    data = json.loads(description.read_text().replace('"remainder"', '"reminder"'))
    description.write_text(json.dumps(data))
    with pytest.raises(InputError, match="does not match its own checksum"):
        load(path)
    description.write_text(json.dumps({**data, "description_sha256": ""}))
    with pytest.raises(
        InputError, match="the analysis kept with a network is not readable: 'remainder'"
    ):
        load(path)


def content_of(network: Network) -> str:
    """All that `load` gives, to the bit."""
    assert isinstance(network, Recorded)
    analysis = encode_value(network.known_analysis)
    numbers = {name: value.tolist() for name, value in network.state_dict().items()}
    return repr((network.id, network.notes, network.settings, analysis, numbers))


def test_a_changed_bit_is_refused_or_reads_as_before(tmp_path: Path) -> None:
    network = doubled()
    network.notes = ("a note of its own",)
    path = save(network, tmp_path / "mine", analysis=analyze(network))
    description = path.with_suffix(".json")
    written, expected = description.read_bytes(), content_of(load(path))
    draw = random.Random(0)
    outcomes = Counter[str]()
    for _ in range(300):
        changed = bytearray(written)
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
        description.write_bytes(changed)
        try:
            same = content_of(load(path)) == expected
        except InputError:
            outcomes["refused"] += 1
        else:
            outcomes["same" if same else "differs"] += 1
    assert not outcomes["differs"]
    assert outcomes["refused"] > 200


def test_a_checksum_must_cover_the_analysis(tmp_path: Path) -> None:
    network = doubled()
    path = save(network, tmp_path / "mine", analysis=analyze(network))
    description = path.with_suffix(".json")
    data = json.loads(description.read_text())
    names = ("format", "version", "id", "task", "network", "run", "tensors_sha256")
    text = json.dumps({name: data[name] for name in names}, sort_keys=True)
    data["description_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    description.write_text(json.dumps(data))
    with pytest.raises(InputError, match="does not match its own checksum"):
        load(path)


class Summed(nn.Module):
    """A Pizza behind an embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.pizza = handmade_pizza(11, (1, 3))
        self.numbers = nn.Embedding.from_pretrained(self.pizza.embed.weight.detach())

    def forward(self, tokens: Tensor) -> Tensor:
        first, second = self.numbers(tokens).unbind(1)
        return self.pizza.logits_from_embeddings(first, second)


def one_hot() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(14, 12), nn.ReLU(), nn.Linear(12, 7))


OWN = {
    "module": lambda: wrap(Summed(), 11, "numbers"),
    "one-hot": lambda: wrap(one_hot(), 7),
    "function": lambda: wrap(lambda a, b: torch.nn.functional.one_hot((a + b) % 7, 7).double(), 7),
    "product": lambda: initialize(
        RunSettings(TaskSettings.multiplication(7), TransformerSettings(8))
    ),
    "difference": lambda: initialize(
        RunSettings(TaskSettings(7, operation="subtract"), TransformerSettings(8))
    ),
}


@pytest.mark.parametrize(
    "kind",
    [
        kind if kind in ("module", "function") else pytest.param(kind, marks=pytest.mark.slow)
        for kind in OWN
    ],
)
def test_a_report_and_pictures_of_any_network(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("plotly")
    network = OWN[kind]()
    network.id = kind
    analysis = analyze(network)
    direct = {path.stem for path in draw_all(network, analysis, tmp_path / "pictures")}
    assert "correct_logits" in direct
    assert report([network], tmp_path / "direct.html").networks == 1
    made = report([save(network, tmp_path / kind, analysis=analysis)], tmp_path / "page.html")
    assert (made.networks, made.problems) == (1, ())
    page = (tmp_path / "page.html").read_text()
    assert analysis.sentence in page
    for caution in analysis.cautions:
        assert page.count(caution.replace("'", "&#x27;")) == 1
    again = load(tmp_path / f"{kind}.safetensors")
    assert {path.stem for path in draw_all(again, analyze(again), tmp_path / "again")} <= direct
    assert analyze(again).sentence == analysis.sentence
