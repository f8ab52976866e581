"""An engineered start: three strong frequencies, and nothing else of the seed's start changed."""

from dataclasses import replace

import pytest
import torch

from algophase.core.errors import InputError
from algophase.core.fourier import folded
from algophase.core.relations import related_by
from algophase.core.settings import RunSettings, TaskSettings, TrainingSettings, TransformerSettings
from algophase.networks import initialize
from algophase.networks.planted import planted_frequencies
from algophase.runs.rows import run_from_row, settings_columns
from algophase.sweeps.shipped_spaces import OUR_SPACES

SUM = TrainingSettings(planted_trio="sum", planted_power=3.0)
UNRELATED = replace(SUM, planted_trio="unrelated")


@pytest.mark.parametrize("separate", [False, True])
def test_three_frequencies_are_strong_and_all_else_is_the_seeds(separate: bool) -> None:
    task = TaskSettings(59, separate_vocabularies=separate)
    plain = RunSettings(task, TransformerSettings(16), seed=4)
    run = replace(plain, training=SUM)
    trio = planted_frequencies(run)
    rest = [k - 1 for k in range(1, 30) if k not in trio]
    for before, after in zip(_table_powers(plain), _table_powers(run), strict=True):
        assert after[rest].numpy() == pytest.approx(before[rest].numpy(), rel=1e-4)
        planted = [(after[k - 1] / before.mean()).item() for k in trio]
        assert planted == pytest.approx([3.0] * 3, rel=1e-4)
    ours, theirs = (dict(initialize(each).named_parameters()) for each in (run, plain))
    for name in ours.keys() - {"embed.W_E"}:
        assert torch.equal(ours[name], theirs[name])


def _table_powers(run: RunSettings) -> list[torch.Tensor]:
    """The power of each frequency from 1 on, in both operands' tables."""
    waves = [torch.fft.rfft(table.double(), dim=0) for table in initialize(run).operand_tables()]
    return [wave[1:].detach().abs().square().sum(dim=1) for wave in waves]


def test_arms_of_a_seed_share_two_frequencies_and_one_is_a_sum() -> None:
    thirds = set()
    for seed in range(20):
        one = planted_frequencies(RunSettings(training=SUM, seed=seed))
        other = planted_frequencies(RunSettings(training=UNRELATED, seed=seed))
        assert one[:2] == other[:2]
        assert one[2] in (folded(one[0] + one[1], 59), folded(one[0] - one[1], 59))
        assert related_by(one, 59) == ["i + j = l"]
        assert related_by(other, 59) == []
        thirds.add(one[2])
    assert len(thirds) > 5


def test_a_row_gives_the_start_back_and_other_runs_keep_their_ids() -> None:
    run = RunSettings(training=SUM, seed=1)
    assert run_from_row({**settings_columns(run), "run_id": run.run_id}) == run
    assert not settings_columns(RunSettings(seed=1)).keys() & {"planted_trio", "planted_power"}
    pair = OUR_SPACES["trios"].sample(range(2))
    assert pair[0].seed == pair[1].seed
    assert pair[0].network == pair[1].network
    assert [each.training.planted_trio for each in pair] == ["sum", "unrelated"]


def test_what_cannot_be_planted_is_refused() -> None:
    with pytest.raises(InputError, match=r"planted_trio is 'both'; choose one of .*sum, unrelated"):
        TrainingSettings(planted_trio="both")
    with pytest.raises(InputError, match="planted_power is 2, but no trio"):
        TrainingSettings(planted_power=2.0)
    with pytest.raises(InputError, match="the task is the group A5; it must be addition"):
        RunSettings(TaskSettings(group="A5"), training=SUM)
    with pytest.raises(InputError, match="modulus is 7; it has no three frequencies"):
        initialize(RunSettings(TaskSettings(7), training=SUM))
