"""How well a dictionary has the known features of a network's activations.

A dictionary is the decoder of a sparse autoencoder, or any other list of directions: latents v_1 to
v_N of length 1 in the space of the activations, of width d. A known feature j has r_j orthonormal
directions Q_j (r_j, d); for a circle, a plane.

*Recall*: is every feature in the dictionary? Of a feature, choose r_j latents, one at a time, each
time the one that adds most. With S the orthonormal rows that span them,

    capture_j = |Q_j S^T|^2 / r_j        the mean of cos^2 of the principal angles

The next latent adds most if the part u of it that is orthogonal to those chosen, at length 1, has
the largest |Q_j u|^2; it counts only if that part is at least 1% of its squared length. A circle
may be tiled by many latents: two of them are enough to span its plane.

*Precision*: is every latent in one feature? Its purity is

    purity_i = max over j of |Q_j v_i|^2

A feature is *recovered* with a capture of at least 0.9, and a latent is *pure* with a purity of at
least 0.9. In few dimensions, random directions have both now and then. With f the share of features
that are recovered (or of latents that are pure), and f_0 that of random dictionaries of the same
N and d,

    recall, precision = max(0, (f - f_0) / (1 - f_0))
    score             = 2 recall precision / (recall + precision)

f_0 comes from random directions that are distributed alike in all d dimensions. Captures of such
dictionaries depend on N, d and r_j alone. All draws are seeded.

A graded score needs no line at 0.9. With c and c_0 the mean capture, of this dictionary and of
random ones, and the same for the mean purity,

    graded recall, graded precision = max(0, (c - c_0) / (1 - c_0))
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from algophase.core.errors import InputError
from algophase.core.fourier import Array
from algophase.core.settings import shown
from algophase.interop.ground_truth import KnownFeatures

# A latent spans a further direction only if this much of its squared length is outside of the span
# of those chosen before: 0.01 is an angle of 6 degrees.
LEAST_OUTSIDE = 0.01
RECOVERED = 0.9  # the least capture of a feature that is recovered
PURE = 0.9  # the least purity of a latent that is pure
RANDOM_CAPTURES = 64  # of a random dictionary, for the chance of a recall
RANDOM_LATENTS = 4096  # for the chance of a precision
# Beyond this share by chance, random dictionaries cannot be told from ideal ones.
MOST_CHANCE = 0.5


@dataclass(frozen=True)
class DictionaryScore:
    """How well a dictionary has known features. 1 is ideal, 0 is chance.

    Attributes:
        score: the harmonic mean of recall and precision.
        recall: the share of features that are recovered, corrected for chance.
        precision: the share of latents that are pure, corrected for chance.
        captures: (features,), how much of each feature the best few latents span.
        purities: (latents,), the share of each latent in its best feature; of latents that fire.
        chance_captures: (features,), the mean capture by random dictionaries of the same size.
        chance_purity: the mean purity of a random direction.
    """

    score: float
    recall: float
    precision: float
    captures: Array = field(repr=False)
    purities: Array = field(repr=False)
    chance_captures: Array = field(repr=False)
    chance_purity: float = field(repr=False)

    @property
    def recovered(self) -> int:
        """How many features have a capture of at least 0.9."""
        return int((self.captures >= RECOVERED).sum())

    @property
    def pure(self) -> int:
        """How many latents have a purity of at least 0.9."""
        return int((self.purities >= PURE).sum())

    @property
    def capture(self) -> float:
        """The mean capture of the features."""
        return float(self.captures.mean())

    @property
    def purity(self) -> float:
        """The mean purity of the latents."""
        return float(self.purities.mean())

    @property
    def graded_recall(self) -> float:
        """The mean capture, corrected for chance: 1 is ideal, 0 is chance."""
        return _above_chance(self.capture, float(self.chance_captures.mean()))

    @property
    def graded_precision(self) -> float:
        """The mean purity, corrected for chance: 1 is ideal, 0 is chance."""
        return _above_chance(self.purity, self.chance_purity)

    def __str__(self) -> str:
        recovered = f"{self.recovered:,} of {len(self.captures):,} features recovered"
        pure = f"{self.pure:,} of {len(self.purities):,} latents pure"
        return (
            f"score {self.score:.3f}: recall {self.recall:.3f} ({recovered}), precision "
            f"{self.precision:.3f} ({pure}); graded recall {self.graded_recall:.3f}, graded "
            f"precision {self.graded_precision:.3f}"
        )


def dictionary_score(
    decoder: Any,
    truth: KnownFeatures | Sequence[KnownFeatures],
    activations: Any = None,
) -> DictionaryScore:
    """Score a dictionary by the known features: recall of features, precision of latents.

    Arguments:
        decoder: the dictionary, (latents, width): an array or a tensor, such as `sae.W_dec` of
            SAELens. Lengths do not matter; rows of zeros are left out.
        truth: the features of a network, or of several whose activations have the same width.
        activations: the latents' activations, (rows, latents), if you have them: latents that never
            fire are left out.

    Returns:
        A `DictionaryScore`. `print` shows it in one line.

    Raises:
        InputError: the shapes do not fit, a number is not finite, there are no features, or a
            random dictionary of this size would have all of them.

    Example:
        >>> import numpy as np
        >>> from algophase import handmade_pizza, known_features
        >>> truth = known_features(handmade_pizza(23, (2, 5)), "reads")
        >>> ideal = dictionary_score(truth.oracle, truth)
        >>> ideal.score, ideal.recovered, ideal.pure
        (1.0, 4, 8)
        >>> noise = np.random.default_rng(0).standard_normal((512, truth.width))
        >>> dictionary_score(noise, truth).score < 0.05
        True
    """
    truths = _truths(truth)
    blocks = [feature.directions for one in truths for feature in one.features]
    if not blocks:
        raise InputError("there are no known features to score a dictionary by")
    width = blocks[0].shape[1]
    if any(block.shape[1] != width for block in blocks):
        widths = sorted({block.shape[1] for block in blocks})
        raise InputError(
            f"the networks' activations have widths {', '.join(map(str, widths))}; score a "
            "dictionary on networks of one width"
        )
    latents = _latents(decoder, width, activations)
    captures = np.array([_capture(latents, block) for block in blocks])
    purities = _purities(latents, blocks)
    by_chance = [_chance_of_capture(len(latents), width, len(block)) for block in blocks]
    recovered_by_chance = float(np.mean([chance.recovered for chance in by_chance]))
    random_purities = _purities(_directions(RANDOM_LATENTS, width), blocks)
    pure_by_chance = float((random_purities >= PURE).mean())
    _check_chance(recovered_by_chance, pure_by_chance, latents)
    recall = _above_chance(float((captures >= RECOVERED).mean()), recovered_by_chance)
    precision = _above_chance(float((purities >= PURE).mean()), pure_by_chance)
    both = recall + precision
    return DictionaryScore(
        score=2 * recall * precision / both if both > 0 else 0.0,
        recall=recall,
        precision=precision,
        captures=captures,
        purities=purities,
        chance_captures=np.array([chance.capture for chance in by_chance]),
        chance_purity=float(random_purities.mean()),
    )


def _truths(truth: object) -> list[KnownFeatures]:
    truths = list[KnownFeatures]()
    for one in truth if isinstance(truth, list | tuple) else [truth]:
        if not isinstance(one, KnownFeatures):
            raise InputError(
                f"truth is {shown(one)}; give what known_features or read_features returns"
            )
        truths.append(one)
    return truths


def _array(values: Any, name: str) -> Array:
    """An array or a tensor, wherever it is and whether or not it has gradients, in float64."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values if values.is_complex() else values.double()
    if np.iscomplexobj(values):
        raise InputError(f"{name} has complex numbers; they must be real")
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {shown(values)}; give an array or a tensor") from None
    if array.ndim != 2:
        raise InputError(f"{name} has shape {array.shape}; it must have two axes")
    if not np.isfinite(array).all():
        raise InputError(f"{name} has numbers that are NaN or infinite")
    return array


def _latents(decoder: Any, width: int, activations: Any) -> Array:
    """The latents that fire, (latents, width), each of length 1."""
    rows = _array(decoder, "decoder")
    if rows.shape[1] != width:
        turned = "; it looks transposed: give decoder.T" if rows.shape[0] == width else ""
        raise InputError(
            f"decoder has shape {rows.shape}; it must be (latents, {width}), the width of the "
            f"activations{turned}"
        )
    largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
    rows = rows / np.where(largest > 0, largest, 1.0)  # squares of very large numbers overflow
    lengths = np.linalg.norm(rows, axis=1)
    is_used = lengths > 0
    if activations is not None:
        fired = _array(activations, "activations")
        if fired.shape[1] != len(rows):
            raise InputError(
                f"activations have shape {fired.shape}; they must be (rows, {len(rows)}), one "
                "column per latent"
            )
        is_used &= (fired != 0).any(axis=0)
    if not is_used.any():
        raise InputError("the dictionary is empty: every latent is zero, or never fires")
    return rows[is_used] / lengths[is_used, None]


def _capture(latents: Array, block: Array) -> float:
    """|Q S^T|^2 / r of one feature with directions Q (r, d): see above."""
    projected = latents @ block.T  # (N, r): Q times what is left of each latent
    left = np.ones(len(latents))  # squared length of what is left of each latent
    chosen: list[Array] = []
    captured = 0.0
    for _ in range(len(block)):
        can_be_chosen = left >= LEAST_OUTSIDE
        if not can_be_chosen.any():
            break
        gains = np.square(projected).sum(axis=1) / np.maximum(left, LEAST_OUTSIDE)
        best = int(np.where(can_be_chosen, gains, -1.0).argmax())
        direction = latents[best]
        for earlier in chosen:
            direction = direction - (direction @ earlier) * earlier
        direction = direction / np.linalg.norm(direction)
        chosen.append(direction)
        in_block = block @ direction
        captured += float(in_block @ in_block)
        along = latents @ direction
        projected = projected - along[:, None] * in_block
        left = left - np.square(along)
    return captured / len(block)


def _purities(latents: Array, blocks: Sequence[Array]) -> Array:
    """(N,), the largest share of each latent in one feature."""
    shares = [np.square(latents @ block.T).sum(axis=1) for block in blocks]
    return np.max(shares, axis=0)


def _directions(count: int, width: int, seed: int = 0) -> Array:
    """Random directions (count, width), alike in all dimensions."""
    drawn = np.random.default_rng([seed, count, width]).standard_normal((count, width))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


class _Chance(NamedTuple):
    """Of a feature and random dictionaries: the mean capture, and how often it is recovered."""

    capture: float
    recovered: float


@functools.lru_cache(maxsize=256)
def _chance_of_capture(count: int, width: int, dimension: int) -> _Chance:
    """Of a feature of this dimension by random dictionaries of so many latents.

    All features are alike to random directions: take those along the axes.
    """
    axes = np.eye(width)
    per_dictionary = max(1, min(8, width // dimension))
    captures = []
    for seed in range(1, 1 + RANDOM_CAPTURES // per_dictionary):
        latents = _directions(count, width, seed)
        for number in range(per_dictionary):
            block = axes[number * dimension : (number + 1) * dimension]
            captures.append(_capture(latents, block))
    drawn = np.array(captures)
    return _Chance(float(drawn.mean()), float((drawn >= RECOVERED).mean()))


def _check_chance(recovered: float, pure: float, latents: Array) -> None:
    if max(recovered, pure) > MOST_CHANCE:
        count, width = latents.shape
        raise InputError(
            f"a score means nothing here: {count:,} random latents in {width} dimensions recover "
            f"{recovered:.0%} of the features, and {pure:.0%} of them are pure"
        )


def _above_chance(share: float, chance: float) -> float:
    """(f - f_0) / (1 - f_0), 0 where that is negative."""
    return max(0.0, (share - chance) / (1 - chance))
