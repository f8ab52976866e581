"""An analysis keeps what was computed, so that nobody computes it again."""

import copy
import pickle

import pytest
import torch
from test_device import assert_same

from algophase.analysis import subject as subjects
from algophase.analysis.analyze import analyze, analyze_many
from algophase.analysis.hidden.look_inside import look_inside
from algophase.analysis.logits.all_pairs import grid_logits
from algophase.analysis.result import Analysis
from algophase.analysis.specimen import Specimen
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.errors import InputError
from algophase.networks.handmade import handmade_pizza


def test_the_network_its_tables_logits_and_circles_stay() -> None:
    network = handmade_pizza(23, (1, 5))
    analysis = analyze(network)
    subject = analysis.subject
    assert subject is not None
    assert subject.given is network
    torch.testing.assert_close(subject.logits, grid_logits(network.double()))
    assert [circle.frequency for circle in subject.circles] == [
        item.circle.frequency for item in analysis.circles
    ]
    assert not {"similarities", "pre_activations"} & vars(subject).keys()  # larger than the logits
    assert analysis.decide(Thresholds()).subject is subject


def test_pictures_and_the_hidden_layer_compute_no_logits_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network = handmade_pizza(23, (1, 5))
    expected = look_inside(network).to_dict()
    analysis = analyze(network)
    for name in ("run_all", "grid_logits", "in_float64"):
        monkeypatch.delattr(subjects, name)
    specimen = Specimen(network, analysis)
    assert specimen.whole.accuracy == 1.0
    assert specimen.analysis.subject is specimen
    assert_same(look_inside(analysis).to_dict(), expected)


def test_what_is_kept_by_the_thousand_keeps_no_network() -> None:
    network = handmade_pizza(23, (1, 5))
    (one,) = analyze_many([network])
    assert isinstance(one, Analysis)
    analysis = analyze(network)
    light = [
        one,
        analysis.without_subject(),
        pickle.loads(pickle.dumps(analysis)),
        copy.deepcopy(analysis),
    ]
    for other in light:
        assert other.subject is None
        assert_same(other.to_dict(), analysis.to_dict())
    with pytest.raises(InputError, match="pizza-p23-k1-5"):
        look_inside(one)
