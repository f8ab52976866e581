import torch
from hypothesis import given
from hypothesis import strategies as st

from algophase.core.settings import TaskSettings
from algophase.core.task import all_pairs, labels, split, tokens

moduli = st.integers(2, 40)


@given(moduli)
def test_labels_are_sums(p: int) -> None:
    pairs = all_pairs(p)
    assert pairs.shape == (p * p, 2)
    assert torch.equal(labels(p).flatten(), pairs.sum(dim=1) % p)


def test_token_layouts() -> None:
    pairs = torch.tensor([[3, 5]])
    assert tokens(TaskSettings(modulus=7), pairs).tolist() == [[3, 5]]
    assert tokens(TaskSettings(modulus=7, separate_vocabularies=True), pairs).tolist() == [[3, 12]]
    assert tokens(TaskSettings(modulus=7, equals_sign=True), pairs).tolist() == [[3, 5, 7]]
    both = TaskSettings(modulus=7, separate_vocabularies=True, equals_sign=True)
    assert tokens(both, pairs).tolist() == [[3, 12, 14]]
    assert (both.vocabulary, both.context) == (15, 3)


@given(moduli, st.integers(0, 2**32), st.floats(0.3, 1.0))
def test_split_is_a_partition_of_the_right_size(p: int, seed: int, fraction: float) -> None:
    parts = split(TaskSettings(modulus=p, training_fraction=fraction), seed)
    assert len(parts.training) == int(fraction * p * p)
    assert torch.equal(
        torch.cat([parts.training, parts.validation]).sort().values, torch.arange(p * p)
    )


def test_split_depends_on_the_seed_alone() -> None:
    task = TaskSettings()
    torch.manual_seed(1)
    first = split(task, 3).training
    torch.manual_seed(2)
    assert torch.equal(first, split(task, 3).training)
    assert not torch.equal(first, split(task, 4).training)
    assert len(first) == 2784
    assert split(task, 3).validation[:5].tolist() == [10, 11, 14, 17, 23]
