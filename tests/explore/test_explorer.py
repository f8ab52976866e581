"""The page's answers without a browser, and without Dash where they are plain functions."""

import csv
import shutil
from pathlib import Path
from typing import Any

import pytest
from explored_tables import text_of
from test_networks import settled

from algophase.core.errors import InputError
from algophase.explore.explorer import Explorer
from algophase.explore.map_figure import COLOUR_STEPS
from algophase.explore.networks import Networks
from algophase.explore.panels import leading
from algophase.explore.state import REST, decode
from algophase.explore.table import read_run_table
from algophase.runs.columns import column_of
from algophase.storage.runs_table import encode_table, provenance, read_runs, read_shard

CLOCK, HYBRID = "da98a6312948", "72e3fdf5cb71"


@pytest.fixture(scope="module")
def explorer(gallery: Path, tmp_path_factory: pytest.TempPathFactory) -> Explorer:
    explorer = Explorer(
        Networks(read_run_table(gallery), gallery, tmp_path_factory.mktemp("cache"))
    )
    for run_id in (CLOCK, HYBRID):
        settled(explorer.networks, run_id)
    return explorer


def test_axes_stand_in_the_address_only_where_they_were_chosen(explorer: Explorer) -> None:
    assert explorer.choose_axes("", "attention_rate", "gradient_symmetricity", "verdict") is None
    after = explorer.choose_axes("?region=0,0,1,1", "attention_rate", "circularity", "verdict")
    assert after == "?y=circularity"  # a region of other axes is no region
    kept = explorer.choose_axes(
        "?region=0,0,1,1", "attention_rate", "gradient_symmetricity", "circularity"
    )
    assert kept == "?colour=circularity&region=0,0,1,1"


def test_a_scale_stands_in_the_address_and_goes_with_its_column(explorer: Explorer) -> None:
    axes = ("attention_rate", "gradient_symmetricity", "verdict")
    assert explorer.choose_axes("", *axes, "linear", "linear") is None
    chosen = explorer.choose_axes("?region=0,0,1,1", *axes, "log", "linear")
    assert chosen == "?x-scale=log"
    assert explorer.choose_axes(chosen, *axes, "linear", "linear") == "?x-scale=linear"
    assert (
        explorer.choose_axes(chosen, "training_loss", *axes[1:], "log", "linear")
        == "?x=training_loss"
    )
    zero = explorer.table.numbers("attention_rate") == 0
    assert len(explorer.table.drawn(explorer.view(chosen))) == explorer.table.count - zero.sum()


def test_filters_are_added_checked_and_removed(explorer: Explorer, gallery: Path) -> None:
    one = explorer.add_filter("", "attention_rate", "<", "0.5")
    assert one == "?where=attention_rate<0.5"
    two = explorer.add_filter(one, "verdict", "=", "Pizza")
    chips, status, problems = explorer.show_filters(two)
    assert len(chips) == 2
    assert not problems
    runs = read_runs(gallery)
    met = ((runs.attention_rate < 0.5) & (runs.verdict == "Pizza")).sum()
    assert status == f"{met:,} of {len(runs):,} runs on the map"
    assert explorer.add_filter(two, "verdict", "=", "Pizza") is None
    assert explorer.remove_filter(two, 0) == "?where=verdict%3DPizza"
    for column, operator, value, match in (
        ("attention_rate", "<", "fast", "holds numbers"),
        ("attention_rate", "<", "  ", "give a value to compare attention_rate with"),
        ("attention_rate", "~", "1", "choose a column and how to compare it"),
        (None, "=", "1", "choose a column"),
        ("verdict", "<", "Pizza", "use = or !="),
        ("__class__", "=", "1", "there is no column '__class__'"),
    ):
        with pytest.raises(InputError, match=match):
            explorer.add_filter("", column, operator, value)


def test_a_filter_offers_the_values_of_a_column_that_has_few(explorer: Explorer) -> None:
    assert explorer.offered_values("equals_sign") == ["false"]
    assert explorer.offered_values("width") == ["128"]
    assert "Pizza" in explorer.offered_values("verdict")
    assert "null" in explorer.offered_values("shape")
    for column in ("attention_rate", "run_id", "no such column", None, 7):
        assert explorer.offered_values(column) == []
    for value in explorer.offered_values("verdict"):
        assert explorer.add_filter("", "verdict", "=", value) is not None


def test_the_chosen_runs_are_a_csv_file(explorer: Explorer, gallery: Path) -> None:
    runs = read_runs(gallery)
    search = "?where=verdict%3DPizza&where=attention_rate<0.5"
    rows = list(csv.DictReader("".join(explorer.csv(search)).splitlines()))
    expected = runs[(runs.verdict == "Pizza") & (runs.attention_rate < 0.5)]
    assert [row["run_id"] for row in rows] == expected.run_id.tolist()
    assert [
        float(row["attention_rate"]) for row in rows
    ] == expected.attention_rate.tolist()  # exact
    listed = explorer.show_runs(f"{search}&run={CLOCK}", 0)
    assert listed.download == "runs.csv?where=verdict%3DPizza&where=attention_rate<0.5"
    assert listed.download_text == f"Download {len(expected):,} runs as CSV"
    region = explorer.show_runs("?region=0,0.99,0.2,1", 0)
    assert (
        len(list(csv.DictReader("".join(explorer.csv("?region=0,0.99,0.2,1")).splitlines()))) > 100
    )
    assert region.download == "runs.csv?region=0,0.99,0.2,1"


def test_a_click_opens_the_run_of_its_point(explorer: Explorer) -> None:
    after = explorer.click("?x=width", {"points": [{"customdata": CLOCK}]})
    assert after == f"?x=width&run={CLOCK}"
    points: list[Any] = [
        {},
        {"customdata": 10**9},
        {"customdata": -1},
        {"customdata": "x"},
        {"customdata": "0" * 12},
    ]
    nonsenses: list[object] = [
        None,
        "x",
        {},
        {"points": []},
        *({"points": [point]} for point in points),
    ]
    for nonsense in nonsenses:
        assert explorer.click("", nonsense) is None
    assert explorer.open_run(after, CLOCK) is None
    assert explorer.open_run("", "../../x") is None


def test_the_map_is_drawn_again_only_for_other_points(explorer: Explorer) -> None:
    figure, key = explorer.show_map("", None)
    assert figure is not None
    assert all(trace.type == "scattergl" for trace in figure.data)
    assert explorer.show_map(f"?run={CLOCK}&region=0,0,1,1", key) == (None, key)
    other, _ = explorer.show_map("?where=verdict%3DPizza", key)
    assert other is not None
    assert len(other.data) == 1


def test_a_column_that_colours_has_few_colours_and_exact_numbers_on_hover(
    explorer: Explorer,
) -> None:
    """With a thousand colours in a trace, plotly's WebGL drew the runs of a region in colours
    that are not on the scale.
    """
    figure, _ = explorer.show_map("?colour=parameter_norm", None)
    assert figure is not None
    points = [trace for trace in figure.data if trace.hovertext is not None]
    assert sum(len(trace.x) for trace in points) == explorer.table.count
    assert (
        len({colour for trace in points for colour in trace.marker.color.tolist()})
        <= COLOUR_STEPS + 1
    )
    exact = explorer.table.numbers("parameter_norm")
    step = (exact.max() - exact.min()) / COLOUR_STEPS
    for trace in points:
        places = [explorer.table.places[run_id] for run_id in trace.customdata]
        assert list(trace.hovertext) == [f"{exact[place]:.4g}" for place in places]
        assert abs(trace.marker.color - exact[places]).max() <= 0.51 * step


def test_a_region_has_its_statistics_and_its_runs(explorer: Explorer) -> None:
    after = explorer.select_region("", {"box": [0.9, 0.2, 1.0, 1.0]})
    statistics, listed, page, pages, region, *_ = explorer.show_runs(after, 0)
    text = text_of(statistics)
    assert region
    assert "in the region" in text
    assert "Clock" in text
    assert "% to " in text
    assert (page, pages) == (0, 14)
    assert "page 1 of 14" in text_of(listed)
    assert explorer.show_runs(after, 99)[2] == 13
    assert explorer.select_region(after, None) == ""
    nothing, *_ = explorer.show_runs("?region=5,5,6,6", 0)
    assert text_of(nothing) == "No runs in the region."


def test_a_kept_network_is_shown_with_its_evidence(explorer: Explorer) -> None:
    panel = explorer.show_network(f"?run={CLOCK}", "run")
    assert not panel.hidden
    assert panel.title == f"{CLOCK}: two Clocks and a Pizza (9.8%)"
    told = text_of(panel.verdict)
    assert all(
        words in told
        for words in (
            "It learned the Clock",
            "Instances, the largest first",
            "By the paper's rules: Clock",
        )
    )
    assert not panel.job_text  # its row says all of it
    assert not panel.inside_hidden
    assert panel.values is not None
    assert len(panel.options) == len(panel.values) == panel.circles + 1
    assert len(explorer.show_circles(f"?run={CLOCK}", "run")) == panel.circles
    hybrid = f"?run={HYBRID}"  # a companion of it is no circle
    assert (
        len(explorer.show_circles(hybrid, "run"))
        == explorer.show_network(hybrid, "run").circles - 1
    )
    assert explorer.show_network(f"?run={CLOCK}", "pin").hidden
    assert explorer.show_network("", "run").hidden


OURS = (
    "verdict",
    "sentence",
    "reasons",
    "pizza_logit_share",
    "named_share",
    "nearest_line",
    "nearest_distance",
    "additivity",
)


def test_a_network_of_an_older_table_is_analysed_when_it_is_asked_for(
    gallery: Path, tmp_path: Path
) -> None:
    newer, older = (
        gallery.parent / "separate-vocabularies",
        tmp_path / "older",
    )  # which has the paper's labels alone
    shutil.copytree(newer, older)
    (shard,) = older.glob("*.parquet")
    table = read_shard(shard)
    ours = [
        name
        for name in table.column_names
        if name in OURS or name.startswith(("program.", "instances."))
    ]
    shard.write_bytes(encode_table(table.drop_columns(ours), provenance(shard)))
    explorer = Explorer(Networks(read_run_table(older), older, tmp_path))
    settled(explorer.networks, "6b10ba113d06")
    panel = explorer.show_network("?run=6b10ba113d06", "run")
    assert panel.title == "6b10ba113d06: two Pizzas"
    assert "the paper's label alone" in panel.job_text


def test_switching_a_circle_off_changes_logits_and_accuracy(explorer: Explorer) -> None:
    search = f"?run={CLOCK}"
    panel = explorer.show_network(search, "run")
    assert panel.values is not None
    first = panel.values[0]
    after = explorer.switch_circles(search, "run", list(panel.values[1:]))
    assert after == f"{search}&off={first}"
    whole, without = explorer.show_logits(search, "run"), explorer.show_logits(after, "run")
    assert whole is not None
    assert without is not None
    assert whole[1] == "Accuracy 100.00%, whole network."
    assert without[1] != whole[1]
    assert without[1].endswith(f"without k = {first}.")
    assert without[3].endswith("(now chosen one by one)")
    assert explorer.switch_circles(search, "run", panel.values) is None
    assert explorer.switch_circles("", "run", []) is None


def test_switching_an_instance_off_switches_its_frequencies_off(explorer: Explorer) -> None:
    search = f"?run={CLOCK}"
    panel = explorer.show_network(search, "run")
    assert list(panel.instances_on) == [0, 1, 2]
    assert "Pizza with companion" in panel.instances[2]["label"]
    after = explorer.switch_instances(search, "run", [0, 1])
    members = decode(after)[0].off
    assert len(members) == 2  # a Pizza and its companion
    assert explorer.show_network(after, "run").instances_on == [0, 1]
    assert explorer.instances_on(f"{search}&off={members[0]}", "run") == [0, 1]
    assert (
        explorer.switch_instances(f"{search}&off={members[0]}", "run", [0, 1]) is None
    )  # nothing was changed
    assert explorer.switch_instances(after, "run", [0, 1, 2]) == search
    assert explorer.switch_instances("", "run", []) is None


def test_keeping_the_first_circles_switches_the_others_off(explorer: Explorer) -> None:
    search = f"?pin={CLOCK}"
    known = [value for value in explorer.show_network(search, "pin").values or () if value != REST]
    after = explorer.keep_first(search, "pin", "1")
    assert decode(after)[0].pin_off == tuple(sorted(known[1:]))
    assert explorer.keep_first(after, "pin", 1) is None
    assert explorer.keep_first(after, "pin", len(known)) == search
    assert explorer.keep_first(after, "pin", None) is None
    found = explorer.show_logits(after, "pin")
    assert found is not None
    assert found[3] == f"Keep the first 1 of {len(known)} circles, in the order listed"
    assert leading([5, 3, 9], (3,)) == 1
    assert leading([5, 3, 9], ()) == 3


def test_two_networks_are_compared_by_pinning_one(explorer: Explorer) -> None:
    pinned = explorer.pin(f"?run={CLOCK}&off=0")
    assert pinned == f"?pin={CLOCK}&pin-off=0"
    both = explorer.open_run(pinned, HYBRID)
    sentence = "a Pizza (38%), a Clock (37%) and a Clock-Pizza mixture (25%)"
    assert explorer.show_network(both, "run").title == f"{HYBRID}: {sentence}; borderline"
    assert (
        explorer.show_network(both, "pin").title
        == f"Pinned: {CLOCK}: two Clocks and a Pizza (9.8%)"
    )
    assert explorer.close(both, "pin") == f"?run={HYBRID}"
    assert explorer.pin("") is None


def test_a_run_without_weights_shows_its_row_and_offers_training(explorer: Explorer) -> None:
    run = explorer.table.run_id(2)
    panel = explorer.show_network(f"?run={run}", "run")
    assert panel.title == f"{run}: Pizza"
    assert "From the table." in text_of(panel.verdict)
    assert not panel.train_hidden
    assert panel.inside_hidden
    assert panel.job_text.startswith("The weights of this run were not kept.")
    assert explorer.show_logits(f"?run={run}", "run") is None
    missing = explorer.show_network("?run=000000000000", "run")
    assert missing.said == "There is no run 000000000000 in fixed-width."
    with pytest.raises(InputError, match="there is no run"):
        explorer.start_training("?run=000000000000", "run")


def test_a_run_that_diverged_says_so_before_it_offers_training(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, row = explorer.table.run_id(2), explorer.table.row(2)
    monkeypatch.setattr(
        explorer.table,
        "row",
        lambda _place: row | {"diverged_at": 7, "verdict": None, "paper_label": None},
    )
    changed = column_of(["diverged"] * explorer.table.count)
    assert changed is not None
    monkeypatch.setitem(explorer.table.columns, "verdict", changed)
    panel = explorer.show_network(f"?run={run}", "run")
    assert panel.title == f"{run}: diverged"
    assert panel.job_text.startswith("The training of this run diverged at epoch 7.")
    assert panel.job_text.endswith("It will most likely diverge again.")
    assert "broke down" in text_of(panel.verdict)


def test_the_table_of_runs_does_not_depend_on_the_networks_shown(explorer: Explorer) -> None:
    assert explorer.runs_key(f"?run={CLOCK}&off=5&pin={HYBRID}") == explorer.runs_key("")
    assert explorer.runs_key("?where=width=128") != explorer.runs_key("")


def test_problems_of_an_address_are_told(explorer: Explorer) -> None:
    _, status, problems = explorer.show_filters("?where=nonsense&where=widht<5&run=zzz")
    count = f"{explorer.table.count:,}"
    assert status.startswith(f"{count} of {count}")
    assert len(problems) == 3
