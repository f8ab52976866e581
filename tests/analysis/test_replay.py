"""Work that is recorded for networks of one kind gives each of them what it would get by itself."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import torch
from test_device import assert_same, needs_gpu, networks
from torch import Tensor

from algophase.analysis import analyze as analysis_of
from algophase.analysis._measured import measure_on_device
from algophase.analysis._pending import Packed
from algophase.analysis._replay import CHECKED, MOST_KINDS, ONE_BY_ONE, Borrowed, Replays, kind_of
from algophase.analysis.analyze import analyze, analyze_many
from algophase.analysis.result import Analysis
from algophase.analysis.subject import Subject
from algophase.core.settings import LinearSettings, RunSettings, TaskSettings, TransformerSettings
from algophase.core.threads import one_thread
from algophase.networks import Network, initialize

TRANSFORMER = TransformerSettings(width=8, heads=2)
RUN = RunSettings(TaskSettings(modulus=11), TRANSFORMER)
LINEAR = RunSettings(TaskSettings(modulus=11), LinearSettings("beta", 8, 8))


class Tape:
    """A graph's ways without a GPU: it reads its own weights, and writes where it wrote before."""

    made = 0

    def __init__(self, work: Callable[[], Packed]) -> None:
        Tape.made += 1
        self.work, self.numbers = work, work()
        self.numbers.flat.fill_(torch.nan)  # a recording has computed nothing yet

    def play(self) -> None:
        self.numbers.flat.copy_(self.work().flat)


@pytest.fixture
def taped(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Analyses take their first round from tapes, one after the other."""
    monkeypatch.setattr(Tape, "made", 0)
    monkeypatch.setattr(analysis_of, "measure_on_device", Replays(measure_on_device, Tape))
    with one_thread():
        yield


def runs(run: RunSettings, count: int) -> list[Network]:
    """Networks of one kind. Transformers have their own attention rates, as in a sweep."""
    made = [replace(run, seed=seed) for seed in range(count)]
    if isinstance(run.network, TransformerSettings):
        made = [
            replace(each, network=replace(run.network, attention_rate=each.seed / count))
            for each in made
        ]
    return [initialize(each) for each in made]


def subject(run: RunSettings) -> Subject:
    return Subject(initialize(run))


def test_every_network_gets_its_own_numbers(request: pytest.FixtureRequest) -> None:
    two_kinds = [
        network for pair in zip(runs(RUN, 8), runs(LINEAR, 8), strict=True) for network in pair
    ]
    every = [*two_kinds, *networks()]
    expected = [analyze(network).to_dict() for network in every]
    request.getfixturevalue("taped")
    found = analyze_many(every)
    assert Tape.made == 2
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one, Analysis)
        assert_same(one.to_dict(), other)


@pytest.mark.usefixtures("taped")
def test_an_equals_sign_is_no_reason_to_refuse_a_recording(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Without it the network is another one, which must read the recording's attention rate,
    too.
    """
    equals = replace(RUN, task=replace(RUN.task, equals_sign=True))
    analyze_many(runs(equals, ONE_BY_ONE + CHECKED + 2))
    assert Tape.made == 1
    assert "is not used" not in caplog.text


@pytest.mark.usefixtures("taped")
def test_a_network_that_gives_no_numbers_is_still_named() -> None:
    every, broken = (
        runs(replace(RUN, network=replace(TRANSFORMER, layers=3)), 8),
        ONE_BY_ONE + CHECKED + 1,
    )
    with torch.no_grad():
        for weight in every[broken].parameters():
            weight.mul_(1e37)
    found = analyze_many(every)
    assert [isinstance(each, Analysis) for each in found] == [place != broken for place in range(8)]
    assert every[broken].id in str(found[broken])


def total(subject: Subject) -> Packed:
    return Packed(
        {"total": torch.Size([1])}, subject.network.operand_tables()[0].detach().sum().view(1)
    )


def test_a_kind_is_recorded_when_it_comes_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tape, "made", 0)
    play = Replays(total, Tape)
    for width in range(2, 2 * MOST_KINDS + 6, 2):
        kind, made = replace(RUN, network=TransformerSettings(width=width, heads=2)), Tape.made
        for number in range(ONE_BY_ONE + CHECKED + 2):
            one = subject(replace(kind, seed=number))
            assert play(one).flat.tolist() == total(one).flat.tolist()
            assert Tape.made - made == (number >= ONE_BY_ONE and made < MOST_KINDS)


def test_a_recording_is_played_alone_once_it_was_right() -> None:
    computed = []

    def work(subject: Subject) -> Packed:
        computed.append(subject)
        return total(subject)

    class Still(Tape):
        def play(self) -> None:
            self.numbers.flat.copy_(
                total(computed[ONE_BY_ONE]).flat
            )  # of its own weights, which are not of `computed`

    play = Replays(work, Still)
    for number in range(ONE_BY_ONE + CHECKED + 4):
        play(subject(replace(RUN, seed=number)))
    assert len(computed) == ONE_BY_ONE + 1 + CHECKED


@pytest.mark.parametrize("wrong", [lambda flat: flat + 1e-6, lambda flat: flat * torch.nan])
def test_a_recording_that_gives_other_numbers_is_not_used(
    wrong: Callable[[Tensor], Tensor], caplog: pytest.LogCaptureFixture
) -> None:
    class Wrong(Tape):
        def play(self) -> None:
            self.numbers.flat.copy_(wrong(self.work().flat))

    play = Replays(total, Wrong)
    for number in range(ONE_BY_ONE + CHECKED + 2):
        one = subject(replace(RUN, seed=number))
        assert play(one).flat.tolist() == total(one).flat.tolist()
    assert caplog.text.count("gives other numbers, and is not used") == 1


def test_a_recording_of_one_network_alone_is_found_out(caplog: pytest.LogCaptureFixture) -> None:
    """It would be right for the network that it was recorded with."""

    class Deaf(Tape):
        def __init__(self, work: Callable[[], Packed]) -> None:
            self.known = work().flat.clone()
            super().__init__(work)

        def play(self) -> None:
            self.numbers.flat.copy_(self.known)

    play = Replays(total, Deaf)
    for number in range(ONE_BY_ONE + CHECKED + 2):
        one = subject(replace(RUN, seed=number))
        assert play(one).flat.tolist() == total(one).flat.tolist()
    assert "is not used" in caplog.text


def test_a_kind_that_cannot_be_recorded_goes_on_without() -> None:
    tried = []

    def refuse(work: Callable[[], Packed]) -> Tape:
        tried.append(work)
        raise RuntimeError("out of memory")

    play = Replays(total, refuse)
    found = [play(subject(replace(RUN, seed=seed))).flat.item() for seed in range(8)]
    assert len(set(found)) == 8
    assert len(tried) == 1


def test_what_computes_otherwise_is_another_kind() -> None:
    one = subject(RUN)
    assert kind_of(one) == kind_of(subject(replace(RUN, seed=5))) is not None
    assert kind_of(one) == kind_of(
        subject(replace(RUN, network=replace(TRANSFORMER, attention_rate=0.5)))
    )
    assert kind_of(one) != kind_of(
        subject(replace(RUN, network=replace(TRANSFORMER, activation="gelu")))
    )
    assert kind_of(one) != kind_of(subject(replace(RUN, task=TaskSettings(modulus=7))))
    changed = initialize(RUN)
    next(iter(changed.children())).extra = 0.5  # type: ignore[assignment]
    assert kind_of(one) != kind_of(Subject(changed))
    hooked = initialize(RUN)
    hooked.register_forward_hook(lambda *_: None)
    assert kind_of(Subject(hooked)) is None


def test_what_a_recording_reads_is_held_and_what_it_makes_is_not() -> None:
    left, right = torch.ones(3), torch.ones(3)
    with Borrowed() as borrowed:
        half: Tensor = left.view(3) * 0.5
        (half + right).sum()
    assert {each.data_ptr() for each in borrowed.tensors} == {left.data_ptr(), right.data_ptr()}


@needs_gpu
def test_a_gpu_plays_what_it_would_compute() -> None:
    equals = replace(RUN, task=replace(RUN.task, equals_sign=True))
    deep = replace(RUN, network=replace(TRANSFORMER, layers=2))
    for run in (RUN, LINEAR, equals, deep):
        every = runs(run, ONE_BY_ONE + CHECKED + 4)
        played = analyze_many(every, device="cuda")
        for one, network in zip(played, every, strict=True):
            assert isinstance(one, Analysis)
            assert_same(one.to_dict(), analyze(network, device="cuda").to_dict())
