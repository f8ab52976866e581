"""The score of a dictionary: 1 for an ideal one, 0 for chance, at every size."""

import numpy as np
import pytest
import torch

from algophase import InputError, dictionary_score, handmade_clock, handmade_pizza, known_features
from algophase.interop.ground_truth import KnownFeatures

PIZZA = known_features(handmade_pizza(23, (2, 5)), "reads")  # width 184, two planes twice


def features_in(width: int, planes: int, seed: int = 0) -> KnownFeatures:
    """Orthogonal planes in a space of any width."""
    draw = np.random.default_rng(seed)
    rows = np.linalg.qr(draw.standard_normal((width, width)))[0]
    truth = known_features(handmade_clock(7, (1,)), "embedding")
    (plane,) = truth.features
    features = []
    for number in range(planes):
        directions = rows[2 * number : 2 * number + 2]
        features.append(type(plane)("both", str(number + 1), directions, 1 / planes, None))
    return KnownFeatures(
        id=f"{planes} planes",
        at="embedding",
        activations=torch.zeros(1, width),
        mean=torch.zeros(width),
        inputs=torch.zeros(1, 2),
        answers=torch.zeros(1),
        features=tuple(features),
        known_share=1.0,
        network={},
    )


def noise(latents: int, width: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((latents, width))


def test_the_oracle_scores_one() -> None:
    for truth in (PIZZA, features_in(16, 8), features_in(64, 5)):
        result = dictionary_score(truth.oracle, truth)
        assert result.score == 1
        assert result.recovered == len(truth.features)
        assert result.pure == len(truth.oracle)
        assert result.capture == pytest.approx(1)
        assert result.graded_recall == pytest.approx(1)
        assert result.graded_precision == pytest.approx(1)


def test_a_graded_score_grows_before_a_feature_is_recovered() -> None:
    """Latents halfway between each plane and noise: pure by none, and above chance by all."""
    truth = features_in(64, 5)
    blurred = truth.oracle + 0.7 * noise(10, 64, 0) / 8
    result = dictionary_score(blurred, truth)
    assert result.score == 0
    assert 0.3 < result.graded_recall < 0.9
    assert 0.3 < result.graded_precision < 0.9
    chance = dictionary_score(noise(10, 64, 1), truth)
    assert chance.graded_recall < 0.1
    assert chance.graded_precision < 0.1


@pytest.mark.parametrize(
    ("width", "planes", "sizes"),
    [
        (8, 2, [8, 32]),
        (8, 4, [8, 32]),
        (16, 3, [8, 64, 512, 4096]),
        (32, 8, [8, 64, 512, 4096]),
        (128, 8, [8, 64, 512, 4096]),
    ],
)
def test_a_random_dictionary_scores_nothing_at_any_size(
    width: int, planes: int, sizes: list[int]
) -> None:
    truth = features_in(width, planes)
    for latents in sizes:
        for seed in range(3):
            assert dictionary_score(noise(latents, width, seed), truth).score < 0.05


def test_a_random_dictionary_on_several_networks() -> None:
    several = [features_in(32, 8, seed) for seed in range(8)]
    oracle = np.concatenate([truth.oracle for truth in several])
    assert dictionary_score(oracle, several).score == 1
    assert dictionary_score(noise(512, 32, 0), several).score < 0.05


def test_latents_that_tile_a_circle_recover_its_plane() -> None:
    truth = features_in(32, 2)
    angles = 2 * np.pi * np.arange(5) / 5
    tiles = np.stack([np.cos(angles), np.sin(angles)], axis=1) @ truth.features[0].directions
    result = dictionary_score(tiles, truth)
    assert (result.recovered, result.pure, result.recall, result.precision) == (1, 5, 0.5, 1)
    one = dictionary_score(tiles[:1], truth)
    assert (one.recovered, one.pure) == (0, 1)
    assert one.captures == pytest.approx([0.5, 0])


def test_mixes_are_not_pure() -> None:
    truth = features_in(32, 2)
    first, second = (feature.directions for feature in truth.features)
    mixes = np.concatenate([first + second, first - second])
    result = dictionary_score(mixes, truth)
    assert result.purity == pytest.approx(0.5)
    assert result.score == 0


def test_nearly_parallel_latents_are_one_direction() -> None:
    """A pair 0.1 degrees apart spans a plane by rounding alone."""
    truth = features_in(32, 1)
    first, second = truth.features[0].directions
    result = dictionary_score(np.stack([first, first + 0.002 * second]), truth)
    assert result.recovered == 0


def test_lengths_and_the_kind_of_array_do_not_matter() -> None:
    drawn = PIZZA.oracle + 0.1 * noise(8, PIZZA.width, 1) / PIZZA.width**0.5
    as_tensor = torch.nn.Parameter(torch.from_numpy(drawn * 7))
    assert dictionary_score(as_tensor, PIZZA).score == dictionary_score(drawn, PIZZA).score
    assert dictionary_score(PIZZA.oracle * 1e200, PIZZA).score == 1  # whose squares are infinite


def test_latents_that_never_fire_are_left_out() -> None:
    decoder = np.concatenate([PIZZA.oracle, noise(8, PIZZA.width, 0), np.zeros((1, PIZZA.width))])
    assert dictionary_score(decoder, PIZZA).precision == 0.5
    activations = np.zeros((3, 17))
    activations[1, :8] = 1
    assert dictionary_score(decoder, PIZZA, activations).score == 1


def test_what_cannot_be_scored_is_said() -> None:
    with pytest.raises(InputError, match=r"looks transposed: give decoder\.T"):
        dictionary_score(noise(PIZZA.width, 30, 0), PIZZA)
    with pytest.raises(InputError, match="NaN"):
        dictionary_score(np.full((2, PIZZA.width), np.nan), PIZZA)
    with pytest.raises(InputError, match="complex numbers; they must be real"):
        dictionary_score(PIZZA.oracle * 1j, PIZZA)
    with pytest.raises(InputError, match="truth is 'features'; give what known_features"):
        dictionary_score(PIZZA.oracle, "features")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="two axes"):
        dictionary_score(np.zeros(4), PIZZA)
    with pytest.raises(InputError, match="never fires"):
        dictionary_score(PIZZA.oracle, PIZZA, np.zeros((3, 8)))
    with pytest.raises(InputError, match="one column per latent"):
        dictionary_score(PIZZA.oracle, PIZZA, np.zeros((3, 9)))
    with pytest.raises(InputError, match="no known features"):
        dictionary_score(PIZZA.oracle, [])
    with pytest.raises(InputError, match="widths 16, 184"):
        dictionary_score(PIZZA.oracle, [PIZZA, features_in(16, 2)])
    with pytest.raises(InputError, match="64 random latents in 4 dimensions"):
        dictionary_score(noise(64, 4, 0), features_in(4, 2))
