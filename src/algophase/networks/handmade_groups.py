"""Networks on any finite group with weights set by hand: one that multiplies and one that adds.

Both use real irreducible representations rho, as orthogonal matrices.

*Multiplying.* The generalized Clock: hidden numbers are the products rho(x)_ik rho(y)_kj, whose
sums over k are the entries of rho(x + y), and

    Q_xyz = sum over rho of trace(rho(x) rho(y) rho(z)^T) = sum over rho of chi(x + y - z)

*Adding.* The generalized Pizza (the rho-sets of Wu et al. 2025): B is the orbit of one vector under
the group, and units read

    b^T rho(x) a - a^T rho(y) b'        for b and b' in B, and a in a basis

Since rho(y) b' = rho(x)^T rho(x + y) b', that is (b - rho(x + y) b')^T rho(x) a: zero if rho(x + y)
takes b' to b. A unit and its negative write - 1 on the labels z that do so. Hence

    Q_xyz = - sum over b' and a of |(rho(z) b' - rho(x + y) b')^T rho(x) a|

which is 0 at z = x + y, and negative wherever rho(z) differs from rho(x + y).
"""

import re
from collections.abc import Callable, Sequence

import numpy as np
import torch

from algophase.core.errors import InputError
from algophase.core.fourier import Array
from algophase.core.group import Group
from algophase.core.named_groups import named_group
from algophase.core.representations import Representation, representations
from algophase.core.settings import MLPSettings, TaskSettings
from algophase.networks.mlp import MLP

LONGEST_ID = 80
SAME = 1e-9  # vectors of an orbit that are nearer than this are one


def handmade_adding(group: str = "S3", representations: Sequence[str] | None = None) -> MLP:
    """Build a network on a finite group that adds: hidden units read a sum of a function of x and
    one of y, as a Pizza's do.

    Arguments:
        group: its name, such as "S3", "D5" or "A5", or generators.
        representations: the names of those that it uses; by default the first that tells all
            elements apart.

    Returns:
        The network. It answers every pair right if the representations tell all elements apart.

    Raises:
        InputError: the group or a representation is not known.

    Example:
        >>> from algophase import analyze, handmade_adding
        >>> analyze(handmade_adding("S3")).sentence
        'S3 by adding: the standard representation (100%)'
    """
    return _named("adding", adding_network, group, representations)


def handmade_multiplying(group: str = "S3", representations: Sequence[str] | None = None) -> MLP:
    """Build a network on a finite group that multiplies the matrices of its elements, as a Clock
    does: its logits are characters of x y z^-1.

    Arguments:
        group: its name, such as "S3", "D5" or "A5", or generators.
        representations: the names of those that it uses; by default the first that tells all
            elements apart.

    Returns:
        The network. It answers every pair right if the representations tell all elements apart.

    Raises:
        InputError: the group or a representation is not known.

    Example:
        >>> from algophase import analyze, handmade_multiplying
        >>> analyze(handmade_multiplying("S3")).sentence
        'S3 by multiplying: the standard representation (100%)'
    """
    return _named("multiplying", multiplying_network, group, representations)


def _named(
    algorithm: str,
    build: Callable[[Group, Sequence[str] | None], MLP],
    group: str,
    names: Sequence[str] | None,
) -> MLP:
    """A network with the group among its settings, and an id that says what it is."""
    network = build(named_group(group), names)
    network.task = TaskSettings(group=group, training_fraction=None)
    used = [member.name for member in chosen_representations(named_group(group), names)]
    words = re.findall(r"[A-Za-z0-9.]+", "-".join([group, *used]))
    network.id = "-".join([algorithm, *words])[:LONGEST_ID]
    return network


def chosen_representations(group: Group, names: Sequence[str] | None) -> list[Representation]:
    """The representations of these names; by default the first that tells all elements apart."""
    by_name = {member.name: member for member in representations(group)}
    if names is None:
        for member in by_name.values():
            is_identity = np.abs(member.character - member.dimension) < SAME
            if is_identity.sum() == 1:
                return [member]
        return list(by_name.values())[1:]
    for name in names:
        if name not in by_name:
            choices = ", ".join(by_name)
            raise InputError(f"representation is {name!r}; choose one of {choices}")
    return [by_name[name] for name in names]


def multiplying_network(group: Group, names: Sequence[str] | None = None) -> MLP:
    """A network that multiplies the matrices of these representations.

    >>> from algophase.core.named_groups import named_group
    >>> multiplying_network(named_group("S3")).settings.join
    'multiply'
    """
    first, second, written = [], [], []
    for member in chosen_representations(group, names):
        matrices, size = member.matrices, member.real_dimension
        shape = (group.order, size, size, size)  # element, i, k, j
        by_i_k = np.broadcast_to(matrices[:, :, :, None], shape)
        by_k_j = np.broadcast_to(matrices[:, None, :, :], shape)
        by_i_j = np.broadcast_to(matrices[:, :, None, :], shape)
        first.append(by_i_k.reshape(group.order, -1))
        second.append(by_k_j.reshape(group.order, -1))
        written.append(by_i_j.reshape(group.order, -1))
    width = sum(table.shape[1] for table in first)
    settings = MLPSettings(width, join="multiply", activation="none", own_tables=True)
    return filled(group, settings, np.hstack(first), np.hstack(second), np.hstack(written).T)


def adding_network(group: Group, names: Sequence[str] | None = None) -> MLP:
    """A network whose hidden units read sums, and that uses these representations.

    >>> from algophase.core.named_groups import named_group
    >>> adding_network(named_group("S3")).settings.join
    'add'
    """
    first, second, written = [], [], []
    for member in chosen_representations(group, names):
        matrices, orbit = _along_orbit(member.matrices)
        images = _images(matrices, orbit)
        for b in range(len(orbit)):
            for source in range(len(orbit)):
                reads_x = np.einsum("i,xij->xj", orbit[b], matrices)  # b^T rho(x) a, a = e_j
                reads_y = -np.einsum("yij,j->yi", matrices, orbit[source])
                writes = -(images[:, source] == b).astype(np.float64)[:, None]
                first += [reads_x, -reads_x]  # |u| = relu(u) + relu(-u)
                second += [reads_y, -reads_y]
                written += 2 * [np.repeat(writes, len(orbit[b]), axis=1)]
    width = sum(table.shape[1] for table in first)
    settings = MLPSettings(width, join="add", activation="relu", own_tables=True)
    return filled(group, settings, np.hstack(first), np.hstack(second), np.hstack(written).T)


def _along_orbit(matrices: Array) -> tuple[Array, Array]:
    """The matrices (n, D, D) in a basis whose first vector is one of the smallest orbit, and that
    orbit (vectors, D).

    The logits depend on the basis. In this one the numbers of a small group can be followed by
    hand (docs/groups.md).
    """
    orbit = smallest_orbit(matrices)
    basis, _ = np.linalg.qr(np.column_stack([orbit[0], np.eye(matrices.shape[1])]))
    return basis.T @ matrices @ basis, orbit @ basis


def smallest_orbit(matrices: Array) -> Array:
    """An orbit (vectors, D): of random vectors and those that one element leaves alone, that with
    the smallest orbit.
    """
    candidates = [np.eye(matrices.shape[1])[0]]
    for matrix in matrices[1:]:
        eigenvalues, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        fixed = vectors[:, eigenvalues > 1 - SAME]
        if fixed.shape[1] == 1:
            candidates.append(fixed[:, 0])
    orbits = [_distinct(matrices @ vector) for vector in candidates]
    return min(orbits, key=len)


def _images(matrices: Array, orbit: Array) -> np.ndarray:
    """Which vector of the orbit each element takes each to, (n, vectors)."""
    images = np.einsum("xij,bj->xbi", matrices, orbit)
    distances = np.abs(images[:, :, None] - orbit).max(axis=-1)
    return distances.argmin(axis=-1)


def _distinct(vectors: Array) -> Array:
    kept: list[Array] = []
    for vector in vectors:
        if all(np.abs(vector - earlier).max() > SAME for earlier in kept):
            kept.append(vector)
    return np.array(kept)


@torch.no_grad()
def filled(group: Group, settings: MLPSettings, first: Array, second: Array, written: Array) -> MLP:
    """An MLP with these tables (n, width) and this read-out (width, n)."""
    network = MLP(TaskSettings(group.order, training_fraction=None), settings).double()
    network.first.copy_(torch.from_numpy(first))
    network.second.copy_(torch.from_numpy(second))
    network.W_U.copy_(torch.from_numpy(np.ascontiguousarray(written)))
    return network
