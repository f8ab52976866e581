import pickle
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

import pytest
import torch
from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.networks import initialize
from algophase.training.check import _states as of_states
from algophase.training.check import gradient_check
from algophase.training.check._states import STATES, states
from algophase.training.check.cases import cases, chosen_cases
from algophase.training.check.gradient_check import (
    TRAINED_TOLERANCES,
    WAYS,
    Agreement,
    Comparison,
    ElevenBitProducts,
    Expected,
    away_from_kinks,
    check,
    compare,
    expected,
    in_every_state,
    quick,
    rounded,
    telling_run,
)
from algophase.training.engines.grid import GridTransformer
from algophase.training.engines.plain import PlainEngine
from algophase.training.run.plan import distinct_engines

CPU = torch.device("cpu")
RUN = RunSettings(
    task=TaskSettings(modulus=7), network=TransformerSettings(width=9, attention_rate=0.37)
)


def test_engines_pass_in_every_state() -> None:
    some = [
        (name, runs)
        for name, runs in cases(small=True)
        if name in ("1 layer, p 7, relu", "linear beta, p 7", "1 layer, S3, relu")
    ]
    results = list(check(distinct_engines(), CPU, ("float32", "float64"), some))
    assert {(result.engine, result.state) for result in results} == {
        (name, s) for name in ("stacked", "grid") for s in STATES
    }
    assert [result for result in results if not result.passed] == []


@pytest.mark.slow
def test_every_engine_passes_on_small_shapes() -> None:
    results = list(check(distinct_engines(), CPU, ("float32", "float64"), cases(small=True)))
    assert {result.engine for result in results} == {"stacked", "grid"}
    assert len({result.case for result in results}) == len(list(cases(small=True)))
    assert [result for result in results if not result.passed] == []


def test_a_late_state_has_a_loss_near_1e_minus_7_and_dead_attention_no_pull() -> None:
    found = states([RUN], CPU)
    assert list(found) == list(STATES)
    assert expected([RUN], CPU, found["late"])[0].loss < 1e-6
    assert expected([RUN], CPU, found["middle"])[0].loss > 1e-5
    (dead,) = expected([RUN], CPU, found["dead attention"])
    assert (
        dead.gradient["blocks.0.attn.W_Q"].norm() < 1e-6 * dead.gradient["blocks.0.attn.W_V"].norm()
    )


@pytest.mark.parametrize("layers", [1, 4])
def test_near_divergence_is_as_near_at_any_depth(layers: int) -> None:
    run = replace(RUN, network=TransformerSettings(16, layers))
    network, (large,) = initialize(run), states([run], CPU)["near divergence"]
    before = network.run_with_cache()[0].abs().max().item()
    if layers == 1:
        assert all(
            torch.equal(large[name], 2 * value) for name, value in network.named_parameters()
        )
    network.load_state_dict(large)
    assert 8 < network.run_with_cache()[0].abs().max().item() / before < 64


class CutOff(GridTransformer):
    """Cuts the read-out off towards zero after eleven bits, as a TF32 product in Triton does."""

    def loss_and_gradient(self) -> Tensor:
        exact = self.parameters.flat.clone()
        self.parameters["IU"].copy_(
            (self.parameters["IU"].view(torch.int32) & ~0x1FFF).view(torch.float32)
        )
        loss = super().loss_and_gradient()
        self.parameters.flat.copy_(exact)
        return loss


def test_rounding_that_only_shows_late_is_found() -> None:
    found = states([RUN], CPU)
    assert compare(CutOff, [RUN], CPU, "float32").error < 2e-2
    late = compare(CutOff, [RUN], CPU, "float32", found["late"])
    assert late.error > 5 * compare(CutOff, [RUN], CPU, "float32").error
    assert compare(GridTransformer, [RUN], CPU, "float32", found["late"]).error < 5e-3


class ElevenBits(GridTransformer):
    """Exact, but for parameters rounded to nearest."""

    @classmethod
    def precisions(cls, device: torch.device) -> tuple[str, ...]:
        return ("tf32",)

    def __init__(self, runs: list[RunSettings], device: torch.device, precision: str) -> None:
        super().__init__(runs, device, "float64")
        self.precision = precision

    def put(self, values: Sequence[Mapping[str, Tensor]]) -> None:
        super().put(rounded(values, "tf32"))


class ForgetfulElevenBits(ElevenBits):
    def loss_and_gradient(self) -> Tensor:
        loss = super().loss_and_gradient()
        self.gradients["W_out"].mul_(0.5)
        return loss


def test_with_eleven_bits_a_network_may_be_off_by_what_rounding_its_parameters_does() -> None:
    """Late, the exact gradient of this tiny network moves by more than its own size. At the
    start a mistake still shows.
    """
    results = list(check([ElevenBits, ForgetfulElevenBits], CPU, ("tf32",), [("small", [RUN])]))
    by_state = {name: [result for result in results if result.state == name] for name in STATES}
    result, _ = by_state["late"]
    assert result.agreement.error > TRAINED_TOLERANCES["tf32"][0]
    assert result.passed
    assert result.sensitive
    run = away_from_kinks(RUN)
    late = states([run], CPU)["late"]
    wanted = expected([run], CPU, late)
    roundings = [rounded(late, "tf32", way) for way in range(WAYS)]
    moved = [
        compare(GridTransformer, [run], CPU, "float64", values, wanted).error
        for values in roundings
    ]
    assert result.agreement.error == pytest.approx(moved[0], rel=1e-6)
    for way, values in enumerate(roundings):
        with ElevenBitProducts(way):
            moved.append(compare(PlainEngine, [run], CPU, "float64", values, wanted).error)
    assert result.tolerance == pytest.approx(2 * max(moved), rel=1e-6)
    assert [result.passed for result in by_state["start"]] == [True, False]


class ElevenBitSpecification(PlainEngine):
    """As exact as an engine with eleven bits can be: nothing is rounded but what enters a matrix
    product.
    """

    def loss_and_gradient(self) -> Tensor:
        with ElevenBitProducts(way=0):
            return super().loss_and_gradient()


def test_near_divergence_four_layers_may_be_off_by_what_eleven_bits_in_every_product_do() -> None:
    """The last layer's keys have a thousandth of the gradient, and rounded activations move it
    more than rounded parameters.
    """
    ((_, run, _),) = (runs for name, runs in cases(small=False) if name == "4 layers, p 23, relu")
    near = states([run], CPU)["near divergence"]
    allowed = gradient_check._Allowed(
        gradient_check.Yardstick([run], CPU), run, "near divergence", near, off_kinks=True
    )
    engine = ElevenBitSpecification([run], CPU, "float64")
    found = gradient_check.compare_built(engine, near, allowed.exact)
    moved = [
        _agreement(allowed.yardstick.at(rounded(near, "half", way)), allowed) for way in range(WAYS)
    ]
    assert found.error > 2 * max(*moved, TRAINED_TOLERANCES["half"][0] / 2)
    limit, gap, _ = allowed.limits("half", found)
    assert found.within(limit, gap)
    assert limit < 1  # keys without a gradient would show even here


def test_a_rounding_in_float32_moves_every_parameter_by_its_last_bit() -> None:
    start = [dict(initialize(RUN).named_parameters())]
    first, second = (rounded(start, "float32", way)[0]["embed.W_E"] for way in (0, 1))
    exact = start[0]["embed.W_E"].detach().double()
    for moved in (first, second):
        torch.testing.assert_close(
            (moved / exact - 1).abs(), torch.full_like(exact, 2.0**-24), rtol=1e-6, atol=0
        )
    assert not torch.equal(first, second)
    plain = PlainEngine([RUN], CPU, "float64")
    plain.put(rounded(start, "float32"))
    assert torch.equal(plain.parameters["embed.W_E"][0], first)  # not rounded on the way


@pytest.mark.parametrize(
    ("precision", "state"), [("float32", "late"), ("float32", "start"), ("tf32", "start")]
)
def test_sensitivity_counts_in_every_state_and_precision_where_the_stated_is_not_enough(
    precision: str, state: str
) -> None:
    values = states([RUN], CPU)[state]
    allowed = gradient_check._Allowed(
        gradient_check.Yardstick([RUN], CPU), RUN, state, values, off_kinks=False
    )
    stated, _, asked = allowed.limits(precision, Agreement("loss", 0.0, 1.0))
    assert not asked
    assert allowed._moved == {}  # not even computed
    moved = [
        _agreement(allowed.yardstick.at(rounded(values, precision, way)), allowed)
        for way in range(WAYS)
    ]
    limit, _, asked = allowed.limits(precision, Agreement("loss", 1.0, 1.0))
    assert asked
    assert limit >= max(stated, 2 * max(moved))
    assert allowed.limits("float64", Agreement("loss", 1.0, 1.0))[0] < 1e-8


def _agreement(found: list[Expected], allowed: gradient_check._Allowed) -> float:
    return gradient_check._agreement(found, allowed.exact, trained=allowed.trained).error


def test_a_case_can_be_checked_by_another_process() -> None:
    results = gradient_check._check_case("linear alpha, p 7", CPU, small=True)
    assert {result.case for result in results} == {"linear alpha, p 7"}
    assert pickle.loads(pickle.dumps(results)) == results


class Wrong(GridTransformer):
    """Forgets part of the gradient of the attention weights, as torch.compile once did."""

    def loss_and_gradient(self) -> Tensor:
        loss = super().loss_and_gradient()
        self.gradients["QKV"][:, :, 0] *= 0.7
        return loss


class LeakyPadding(GridTransformer):
    def loss_and_gradient(self) -> Tensor:
        loss = super().loss_and_gradient()
        self.gradients["W_out"][0, -1] += 1e-3
        return loss


def test_a_wrong_gradient_is_found_and_named() -> None:
    where, error, _ = compare(Wrong, [RUN], CPU, "float32")
    assert where == "blocks.0.attn.W_Q"
    assert error == pytest.approx(0.3, rel=1e-3)
    with pytest.raises(
        InputError,
        match=r"grid engine gives a wrong gradient on cpu in float32 \(start\): "
        r"blocks\.0\.attn\.W_Q is off by 3",
    ):
        quick(RUN, Wrong, CPU, "float32")
    assert [
        result.state for result in quick(RUN, GridTransformer, CPU, "float32") if result.passed
    ] == list(STATES)


def test_what_diverges_is_trained_more_slowly_and_a_wrong_gradient_still_shows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At this rate all three diverge, as four layers of width 128 do at the usual one; at a
    quarter of it, two.
    """
    monkeypatch.setattr(of_states, "QUICK", replace(of_states.QUICK, learning_rate=0.64))
    runs = [replace(RUN, seed=seed) for seed in (0, 1, 5)]
    middle = expected(runs, CPU, states(runs, CPU)["middle"])
    assert all(
        after.loss < before.loss for after, before in zip(middle, expected(runs, CPU), strict=True)
    )

    def build() -> list[GridTransformer]:
        return [engine(runs, CPU, "float32") for engine in (GridTransformer, Wrong)]

    results = list(islice(in_every_state(runs, CPU, build, "diverging", off_kinks=False), 4))
    assert [(result.state, result.passed) for result in results] == [
        (name, passed) for name in ("start", "middle") for passed in (True, False)
    ]


def test_a_gradient_in_the_padding_is_found() -> None:
    wide = RunSettings(task=RUN.task, network=TransformerSettings(width=16))
    where, error, _ = compare(LeakyPadding, [RUN, wide], CPU, "float32")
    assert where == "blocks.0.mlp.W_out (padding)"
    assert error == float("inf")


def test_an_ensemble_is_checked_by_its_widest_network_with_most_attention() -> None:
    sizes = [(9, 1.0), (16, 0.0), (16, 0.6), (16, 0.2)]
    runs = [
        RunSettings(task=RUN.task, network=TransformerSettings(width, attention_rate=rate))
        for width, rate in sizes
    ]
    assert telling_run(runs) == runs[2]
    assert (
        compare(Wrong, [runs[1]], CPU, "float32").error < 1e-5
    )  # at rate 0 the mistake does not show
    assert compare(Wrong, [telling_run(runs)], CPU, "float32").error > 0.1


def test_nan_does_not_pass() -> None:
    for found in (Agreement("loss", float("nan"), 1.0), Agreement("loss", 0.0, float("nan"))):
        assert not Comparison("grid", "cpu", "float32", "case", "start", found, 1.0, 1.0).passed
    assert Comparison(
        "grid", "cpu", "float32", "case", "start", Agreement("loss", 0.0, 1.0), 1.0, 1.0
    ).passed


def test_a_seed_on_a_kink_is_moved_to_the_next_off_it() -> None:
    on_kink = replace(RUN, seed=503)  # a pre-activation of 2e-8 of their size
    assert away_from_kinks(on_kink) == replace(RUN, seed=504)


def test_a_seed_off_the_kinks_is_kept() -> None:
    assert away_from_kinks(RUN) == RUN


def test_a_network_that_no_seed_keeps_off_a_kink_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gradient_check, "KINK", 1.0)
    monkeypatch.setattr(gradient_check, "MOST_SEEDS", 3)
    with pytest.raises(
        InputError, match="no seed from 0 to 2 keeps every pre-activation of this network off 0"
    ):
        away_from_kinks(RUN)


def test_some_cases_are_chosen_by_a_part_of_their_names() -> None:
    names = [name for name, _ in chosen_cases(True, ["S3", "linear beta"])]
    assert names[:2] == ["linear beta, p 7", "1 layer, S3, relu"]
    assert len(chosen_cases(True, ())) == len(list(cases(True)))
    with pytest.raises(InputError, match="no case has E8 in its name; there are: 1 layer, p 7"):
        chosen_cases(True, ["E8"])
