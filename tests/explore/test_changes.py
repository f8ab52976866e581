"""What the page's controls do to a view."""

from pathlib import Path
from typing import Any

import pytest
from test_networks import settled

from algophase.analysis.specimen import Specimen
from algophase.core.errors import InputError
from algophase.explore import changes
from algophase.explore.explorer import Explorer
from algophase.explore.networks import Networks, frequencies
from algophase.explore.view import REST, View, decode, encode
from algophase.explore.visible_runs import VisibleRuns, open_sweep
from algophase.runs.runs import Runs
from algophase.runs.selection import Condition
from algophase.storage.runs_table import read_runs

CLOCK, HYBRID = "da98a6312948", "72e3fdf5cb71"
AXES = ("attention_rate", "gradient_symmetricity", "verdict")  # as the page chooses them itself


@pytest.fixture(scope="module")
def explorer(gallery: Path, tmp_path_factory: pytest.TempPathFactory) -> Explorer:
    networks = Networks(open_sweep(gallery), gallery, tmp_path_factory.mktemp("cache"))
    settled(networks, CLOCK)
    return Explorer(networks)


@pytest.fixture
def table(explorer: Explorer) -> Runs:
    return explorer.runs


@pytest.fixture
def specimen(explorer: Explorer) -> Specimen:
    specimen = explorer.specimen(View(run=CLOCK), "run")
    assert specimen is not None
    return specimen


def test_axes_stand_in_the_address_only_where_they_were_chosen(table: Runs) -> None:
    assert changes.choose_axes(View(), table, *AXES) == View()
    view = decode("?region=0,0,1,1")
    after = changes.choose_axes(view, table, "attention_rate", "circularity", "verdict")
    assert encode(after) == "?y=circularity"  # a region of other axes is no region
    after = changes.choose_axes(view, table, AXES[0], AXES[1], "circularity")
    assert encode(after) == "?color=circularity&region=0,0,1,1"


def test_a_scale_stands_in_the_address_and_goes_with_its_column(table: Runs) -> None:
    assert changes.choose_axes(View(), table, *AXES, "linear", "linear") == View()
    chosen = changes.choose_axes(decode("?region=0,0,1,1"), table, *AXES, "log", "linear")
    assert encode(chosen) == "?x-scale=log"
    linear = changes.choose_axes(chosen, table, *AXES, "linear", "linear")
    assert encode(linear) == "?x-scale=linear"
    loss = changes.choose_axes(chosen, table, "training_loss", *AXES[1:], "log", "linear")
    assert encode(loss) == "?x=training_loss"
    zero = table.columns.finite("attention_rate") == 0
    assert len(VisibleRuns(table, chosen).drawn) == len(table) - zero.sum()


def test_filters_are_added_checked_and_removed(explorer: Explorer, gallery: Path) -> None:
    table = explorer.runs
    one = changes.add_filter(View(), table, "attention_rate", "<", "0.5")
    assert encode(one) == "?where=attention_rate<0.5"
    two = changes.add_filter(one, table, "verdict", "=", "Pizza")
    chips, status, problems = explorer.show_filters(two)
    assert len(chips) == 2
    assert not problems
    runs = read_runs(gallery)
    met = ((runs.attention_rate < 0.5) & (runs.verdict == "Pizza")).sum()
    assert status == f"{met:,} of {len(runs):,} runs on the map"
    assert changes.add_filter(two, table, "verdict", "=", "Pizza") == two
    left = changes.remove_filter(two, table, 0)
    assert left.filters == (Condition("verdict", "=", "Pizza"),)
    nonsenses: list[object] = [-1, 2, None, "0", 10**400]
    for nonsense in nonsenses:
        assert changes.remove_filter(two, table, nonsense) == two


@pytest.mark.parametrize(
    ("column", "operator", "value", "match"),
    [
        ("attention_rate", "<", "fast", "holds numbers"),
        ("attention_rate", "<", "  ", "give a value to compare attention_rate with"),
        ("attention_rate", "~", "1", "choose a column and how to compare it"),
        (None, "=", "1", "choose a column"),
        ("verdict", "<", "Pizza", "use = or !="),
        ("__class__", "=", "1", "there is no column '__class__'"),
    ],
)
def test_a_filter_that_the_table_does_not_have_is_refused(
    table: Runs, column: object, operator: object, value: object, match: str
) -> None:
    with pytest.raises(InputError, match=match):
        changes.add_filter(View(), table, column, operator, value)


def test_a_click_opens_the_run_of_its_point(table: Runs) -> None:
    after = changes.click(View(x="width"), table, {"points": [{"customdata": CLOCK}]})
    assert after == View(x="width", run=CLOCK)
    points: list[Any] = [
        {},
        {"customdata": 10**9},
        {"customdata": -1},
        {"customdata": "x"},
        {"customdata": "0" * 12},
    ]
    nonsenses: list[object] = [None, "x", {}, {"points": []}]
    nonsenses += [{"points": [point]} for point in points]
    for nonsense in nonsenses:
        assert changes.click(View(), table, nonsense) == View()
    assert changes.open_run(after, table, CLOCK) == after
    assert changes.open_run(View(), table, "../../x") == View()


def test_a_region_is_selected_and_cleared() -> None:
    after = changes.select_region(View(), {"box": [0.9, 0.2, 1.0, 1.0]})
    assert encode(after) == "?region=0.9,0.2,1,1"
    assert changes.select_region(after, None) == View()


def test_circles_are_switched_off_one_by_one(specimen: Specimen) -> None:
    view, circles = View(run=CLOCK), frequencies(specimen)
    after = changes.switch_circles(view, "run", specimen, [*circles[1:], REST])
    assert after == View(run=CLOCK, off=(circles[0],))
    assert changes.switch_circles(view, "run", specimen, [*circles, REST]) == view
    assert changes.switch_circles(View(), "run", None, []) == View()


def test_switching_an_instance_off_switches_its_frequencies_off(
    explorer: Explorer, specimen: Specimen
) -> None:
    view = View(run=CLOCK)
    panel = explorer.show_network(view, "run")
    assert list(panel.instances_on) == [0, 1, 2]
    assert "Pizza with companion" in panel.instances[2]["label"]
    after = changes.switch_instances(view, "run", specimen, [0, 1])
    assert len(after.off) == 2  # a Pizza and its companion
    assert explorer.show_network(after, "run").instances_on == [0, 1]
    one_off = View(run=CLOCK, off=after.off[:1])
    switches = explorer.switches(one_off, "run")
    assert switches is not None
    assert switches.instances == [0, 1]
    assert changes.switch_instances(one_off, "run", specimen, [0, 1]) == one_off
    assert changes.switch_instances(after, "run", specimen, [0, 1, 2]) == view
    assert changes.switch_instances(View(), "run", None, []) == View()


def test_keeping_the_first_circles_switches_the_others_off(
    explorer: Explorer, specimen: Specimen
) -> None:
    view, circles = View(pin=CLOCK), frequencies(specimen)
    after = changes.keep_first(view, "pin", specimen, "1")
    assert after.pin_off == tuple(sorted(circles[1:]))
    assert changes.keep_first(after, "pin", specimen, 1) == after
    assert changes.keep_first(after, "pin", specimen, len(circles)) == view
    assert changes.keep_first(after, "pin", specimen, None) == after
    logits = explorer.show_logits(after, "pin")
    assert logits is not None
    assert logits.kept == f"Keep the first 1 of {len(circles)} circles, in the order listed"


def test_two_networks_are_compared_by_pinning_one(table: Runs) -> None:
    pinned = changes.pin(View(run=CLOCK, off=(REST,)))
    assert pinned == View(pin=CLOCK, pin_off=(REST,))
    both = changes.open_run(pinned, table, HYBRID)
    assert both == View(run=HYBRID, pin=CLOCK, pin_off=(REST,))
    assert changes.close(both, "pin") == View(run=HYBRID)
    assert changes.pin(View()) == View()
