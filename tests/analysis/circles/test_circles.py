import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from algophase.analysis.circles.find import (
    circles_by_components,
    circles_by_frequency,
    find_circles,
    isolate_circles,
    isolate_components,
    isolate_frequencies,
    plane,
    points_in_plane,
)
from algophase.analysis.circles.principal import (
    frequency_shares,
    network_components,
    principal_components,
)
from algophase.analysis.logits.all_pairs import grid_logits
from algophase.core import fourier
from algophase.core.errors import InputError
from algophase.core.settings import LinearSettings, RunSettings, TaskSettings, TransformerSettings
from algophase.networks import build, initialize
from algophase.networks.handmade import handmade_clock, handmade_pizza


def embedding(
    p: int,
    circles: dict[int, tuple[float, float]],
    width: int = 16,
    noise: float = 0.0,
    seed: int = 0,
) -> torch.Tensor:
    """Ellipses {frequency: (long axis, short axis)} in random orthogonal planes, plus a mean and
    noise.
    """
    generator = torch.Generator().manual_seed(seed)
    basis = torch.linalg.qr(torch.randn(width, width, generator=generator, dtype=torch.float64)).Q
    t = torch.arange(p).double()
    table = torch.randn(width, generator=generator, dtype=torch.float64).expand(p, width).clone()
    for index, (k, (long, short)) in enumerate(circles.items()):
        angle = 2 * math.pi * k * t / p + 0.3
        table += (
            long * torch.cos(angle)[:, None] * basis[2 * index]
            + short * torch.sin(angle)[:, None] * basis[2 * index + 1]
        )
    return table + noise * torch.randn(p, width, generator=generator, dtype=torch.float64)


@given(st.sampled_from([13, 24, 59, 60]), st.integers(0, 50), st.data())
def test_finds_the_circles_that_are_there(p: int, seed: int, data: st.DataObject) -> None:
    frequencies = data.draw(
        st.lists(st.integers(1, (p - 1) // 2), min_size=1, max_size=4, unique=True)
    )
    radii = {k: 2.0 / (i + 1) for i, k in enumerate(frequencies)}
    components = principal_components(
        (embedding(p, {k: (r, r) for k, r in radii.items()}, seed=seed),)
    )
    found = find_circles(components)
    assert [circle.frequency for circle in found] == frequencies  # largest first
    total = sum(r**2 for r in radii.values())
    for index, circle in enumerate(found):
        assert circle.method == "components"
        assert circle.components == (2 * index + 1, 2 * index + 2)
        assert circle.radius == pytest.approx(radii[circle.frequency])
        assert circle.roundness == pytest.approx(1)
        assert circle.purity == pytest.approx(1)
        assert circle.variance_share == pytest.approx(radii[circle.frequency] ** 2 / total)
        fitted = points_in_plane(components, circle)[0, 0]
        assert circle.phase == pytest.approx(math.atan2(fitted[1].item(), fitted[0].item()))


def test_circles_of_exactly_equal_size_are_told_apart() -> None:
    components = principal_components((embedding(59, {3: (1, 1), 8: (1, 1), 20: (1, 1)}),))
    assert sorted(circle.frequency for circle in circles_by_components(components)) == [3, 8, 20]


def test_where_noise_mixes_components_frequency_still_finds_the_circles() -> None:
    components = principal_components((embedding(59, {3: (1, 1), 8: (1, 1)}, noise=0.05),))
    assert frequency_shares(components)[:4].amax(dim=1).min() < 0.9  # no clean pairs
    found = find_circles(components)
    assert sorted(circle.frequency for circle in found) == [3, 8]
    assert {circle.method for circle in found} == {"frequency"}
    assert all(circle.roundness > 0.9 for circle in found)
    assert all(
        circle.purity > 0.98 for circle in found
    )  # its plane shows the circle that no pair of components shows
    assert all(set(circle.components) <= {1, 2, 3, 4} for circle in found)


@pytest.mark.parametrize("p", [24, 59])
def test_purity_is_a_circles_share_of_what_its_plane_shows(p: int) -> None:
    plane = torch.eye(2, 8, dtype=torch.float64)
    table = 2 * fourier.circle(p, 3) @ plane + fourier.circle(p, 5) @ plane  # both in one plane
    (found,) = (
        item for item in find_circles(principal_components((table,))) if item.frequency == 3
    )
    assert found.purity == pytest.approx(4 / 5)


def test_a_flat_wave_is_not_a_circle() -> None:
    components = principal_components((embedding(59, {3: (1, 0.1), 8: (0.8, 0.8)}, noise=0.01),))
    assert [circle.frequency for circle in circles_by_frequency(components)] == [8]


@pytest.mark.parametrize("p", [59, 60, 113])
def test_an_untrained_embedding_has_no_circles(p: int) -> None:
    network = initialize(
        RunSettings(task=TaskSettings(modulus=p), network=TransformerSettings(width=128))
    )
    assert find_circles(network_components(network)) == []


def test_separate_tables_share_axes_and_show_their_offset() -> None:
    first = embedding(59, {5: (1, 1)})
    second = first.roll(-4, dims=0) + 3.0  # token t where the first table has t + 4
    components = principal_components((first, second))
    (circle,) = find_circles(components)
    assert (circle.frequency, circle.components) == (5, (1, 2))
    assert circle.offset == pytest.approx(
        -2 * math.pi * 5 * 4 / 59 % (2 * math.pi) - 2 * math.pi, abs=1e-9
    )


def test_the_equals_sign_is_not_a_number() -> None:
    task = TaskSettings(modulus=11, equals_sign=True)
    network = build(task, TransformerSettings(width=16)).double()
    network.initialize(0)
    state = network.state_dict()
    state["embed.W_E"] = torch.cat(
        [embedding(11, {2: (1, 1)}), torch.full((1, 16), 100.0).double()]
    )
    network.load_state_dict(state)
    assert [circle.frequency for circle in find_circles(network_components(network))] == [2]


@settings(max_examples=20)
@given(st.sampled_from([7, 12]), st.sampled_from(["alpha", "alpha-prime", "delta"]), st.data())
def test_isolation_keeps_and_drops(p: int, model: str, data: st.DataObject) -> None:
    network = build(
        TaskSettings(modulus=p), LinearSettings(model=model, width=6, hidden=8)
    ).double()
    network.initialize(1)
    components = network_components(network)
    every = range(1, components.count + 1)
    full = grid_logits(network)
    torch.testing.assert_close(isolate_components(network, every).logits, full)
    torch.testing.assert_close(isolate_components(network, [], drop=True).logits, full)
    torch.testing.assert_close(isolate_frequencies(network, range(1, p // 2 + 1)).logits, full)
    torch.testing.assert_close(isolate_frequencies(network, [], drop=True).logits, full)
    kept = data.draw(st.sets(st.sampled_from(list(every))))
    other = isolate_components(network, set(every) - kept, drop=True)
    torch.testing.assert_close(isolate_components(network, kept).logits, other.logits)
    bare = isolate_components(
        network, []
    ).logits  # nothing but the means: the same answer for every pair
    torch.testing.assert_close(bare, bare[:1, :1].expand_as(bare))


def test_isolating_a_component_pair_is_the_rank_two_approximation_of_the_paper() -> None:
    network = initialize(
        RunSettings(
            task=TaskSettings(modulus=11), network=LinearSettings(model="alpha", width=8, hidden=8)
        )
    ).double()
    table = network.operand_tables()[0].detach()
    mean = table.mean(dim=0)
    u, s, v = torch.linalg.svd(table - mean, full_matrices=False)
    expected = mean + (u[:, 2:4] * s[2:4]) @ v[2:4]
    torch.testing.assert_close(isolate_components(network, [3, 4]).tables[0], expected)


def test_isolated_circles_of_a_handmade_network_are_its_terms() -> None:
    clock = handmade_clock(13, (1, 3))
    circles = find_circles(network_components(clock))
    for circle in circles:
        alone = handmade_clock(13, (circle.frequency,))
        torch.testing.assert_close(isolate_circles(clock, [circle]).logits, grid_logits(alone))
    rest = isolate_circles(clock, circles[:1], drop=True)
    torch.testing.assert_close(
        rest.logits, grid_logits(handmade_clock(13, (circles[1].frequency,)))
    )


def test_circles_found_by_frequency_are_isolated_by_frequency() -> None:
    pizza = handmade_pizza(13, (1, 3))
    components = network_components(pizza)
    by_frequency = circles_by_frequency(components)
    by_components = circles_by_components(components)
    assert {c.frequency for c in by_frequency} == {c.frequency for c in by_components} == {1, 3}
    logits: dict[int, torch.Tensor] = {
        c.frequency: isolate_circles(pizza, [c]).logits for c in by_components
    }
    for circle in by_frequency:
        torch.testing.assert_close(
            isolate_circles(pizza, [circle]).logits, logits[circle.frequency]
        )
        spanned = plane(components, circle)
        torch.testing.assert_close(spanned @ spanned.T, torch.eye(2).double())


def test_members_that_do_not_exist_are_named() -> None:
    network = handmade_clock(13, (1,))
    with pytest.raises(InputError, match="component 3 does not exist; choose from 1 to 2"):
        isolate_components(network, [3])
    with pytest.raises(InputError, match="frequency 7 does not exist; choose from 1 to 6"):
        isolate_frequencies(network, [7])


@pytest.mark.parametrize(
    ("function", "argument", "message"),
    [
        (isolate_components, 1, r"give a list of component numbers, such as \[1, 2\], not 1"),
        (isolate_frequencies, "1", "give a list of frequency numbers"),
        (
            isolate_circles,
            find_circles(network_components(handmade_clock(7, (1,))))[0],
            "give a list of circles",
        ),
        (isolate_circles, [1], "give a list of circles"),
    ],
)
def test_what_is_no_list_is_named(
    function: Callable[..., object], argument: object, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        function(handmade_clock(7, (1,)), argument)


def test_a_network_is_not_its_components() -> None:
    wrong: Any = handmade_clock(7, (1,))
    with pytest.raises(
        InputError,
        match=r"give principal components, such as network_components\(network\), not a Clock",
    ):
        find_circles(wrong)
