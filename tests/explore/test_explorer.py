"""The page's answers without a browser, and without Dash where they are plain functions."""

import csv
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from explored_tables import text_of
from shard_files import provenance
from test_networks import settled

from algophase.core.errors import InputError
from algophase.explore import changes
from algophase.explore.explorer import Explorer
from algophase.explore.networks import Networks
from algophase.explore.panels import leading
from algophase.explore.view import View, decode
from algophase.explore.visible_runs import open_sweep
from algophase.pictures.to_plotly import COLOR_STEPS
from algophase.runs.selection import Condition
from algophase.storage.runs_table import encode_table, read_runs, read_shard

CLOCK, HYBRID = "da98a6312948", "72e3fdf5cb71"


@pytest.fixture(scope="module")
def explorer(gallery: Path, tmp_path_factory: pytest.TempPathFactory) -> Explorer:
    explorer = Explorer(Networks(open_sweep(gallery), gallery, tmp_path_factory.mktemp("cache")))
    for run_id in (CLOCK, HYBRID):
        settled(explorer.networks, run_id)
    return explorer


def test_a_filter_offers_the_values_of_a_column_that_has_few(explorer: Explorer) -> None:
    assert explorer.offered_values("equals_sign") == ["false"]
    assert explorer.offered_values("width") == ["128"]
    assert "Pizza" in explorer.offered_values("verdict")
    assert "null" in explorer.offered_values("shape")
    for column in ("attention_rate", "run_id", "no such column", None, 7):
        assert explorer.offered_values(column) == []
    for value in explorer.offered_values("verdict"):
        assert changes.add_filter(View(), explorer.runs, "verdict", "=", value) != View()


def test_the_chosen_runs_are_a_csv_file(explorer: Explorer, gallery: Path) -> None:
    runs = read_runs(gallery)
    pizzas = Condition("verdict", "=", "Pizza"), Condition("attention_rate", "<", "0.5")
    view = View(pizzas)
    rows = list(csv.DictReader("".join(explorer.csv(view)).splitlines()))
    expected = runs[(runs.verdict == "Pizza") & (runs.attention_rate < 0.5)]
    assert [row["run_id"] for row in rows] == expected.run_id.tolist()
    assert [
        float(row["attention_rate"]) for row in rows
    ] == expected.attention_rate.tolist()  # exact
    listed = explorer.show_runs(View(pizzas, run=CLOCK), 0)
    assert listed.download == "runs.csv?where=verdict%3DPizza&where=attention_rate<0.5"
    assert listed.download_text == f"Download {len(expected):,} runs as CSV"
    region = View(region=((0, 0.99), (0.2, 1)))
    assert explorer.show_runs(region, 0).download == "runs.csv?region=0,0.99,0.2,1"
    assert len("".join(explorer.csv(region)).splitlines()) > 100


def test_the_map_is_drawn_again_only_for_other_points(explorer: Explorer) -> None:
    figure, key, _ = explorer.show_map(View(), None)
    assert figure is not None
    assert all(trace.type == "scattergl" for trace in figure.data)
    same = explorer.show_map(View(run=CLOCK, region=((0, 0), (1, 1))), key)
    assert (same.figure, same.key) == (None, key)
    assert [mark["text"] for mark in same.marks["annotations"]] == ["shown"]
    assert len(same.marks["selections"]) == 1
    pizzas = explorer.show_map(View((Condition("verdict", "=", "Pizza"),)), key)
    assert pizzas.figure is not None
    assert len(pizzas.figure.data) == 1


def test_a_column_that_colors_has_few_colors_and_exact_numbers_on_hover(
    explorer: Explorer,
) -> None:
    """With a thousand colors in a trace, plotly's WebGL drew the runs of a region in colors
    that are not on the scale.
    """
    figure = explorer.show_map(View(color="parameter_norm"), None).figure
    assert figure is not None
    points = [trace for trace in figure.data if trace.hovertext is not None]
    assert sum(len(trace.x) for trace in points) == len(explorer.runs)
    assert (
        len({color for trace in points for color in trace.marker.color.tolist()}) <= COLOR_STEPS + 1
    )
    exact = explorer.runs.columns.finite("parameter_norm")
    step = (exact.max() - exact.min()) / COLOR_STEPS
    for trace in points:
        places = [explorer.runs.columns.rows_by_id[run_id] for run_id in trace.customdata]
        assert list(trace.hovertext) == [f"{exact[place]:.4g}" for place in places]
        assert abs(trace.marker.color - exact[places]).max() <= 0.51 * step


def test_a_region_has_its_statistics_and_its_runs(explorer: Explorer) -> None:
    view = View(region=((0.9, 0.2), (1.0, 1.0)))
    listed = explorer.show_runs(view, 0)
    text = text_of(listed.statistics)
    assert not listed.no_region
    assert "in the region" in text
    assert "Clock" in text
    assert "% to " in text
    assert (listed.page, listed.first, listed.last) == (0, True, False)
    assert "page 1 of 15" in text_of(listed.table)
    last = explorer.show_runs(view, 99)
    assert (last.page, last.first, last.last) == (14, False, True)
    nothing = explorer.show_runs(View(region=((5, 5), (6, 6))), 0)
    assert text_of(nothing.statistics) == "No runs in the region."


def test_a_kept_network_is_shown_with_its_evidence(explorer: Explorer) -> None:
    view = View(run=CLOCK)
    panel = explorer.show_network(view, "run")
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
    assert len(explorer.show_circles(view, "run")) == panel.circles
    hybrid = View(run=HYBRID)  # a companion of it is no circle
    assert (
        len(explorer.show_circles(hybrid, "run"))
        == explorer.show_network(hybrid, "run").circles - 1
    )
    assert explorer.show_network(view, "pin").hidden
    assert explorer.show_network(View(), "run").hidden


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


def test_a_network_of_an_older_table_is_analyzed_when_it_is_asked_for(
    gallery: Path, tmp_path: Path
) -> None:
    newer, older = (
        gallery.parent / "separate-vocabularies",
        tmp_path / "older",
    )  # which has the paper's labels alone
    shutil.copytree(newer, older)
    for shard in older.rglob("runs.parquet"):
        table = read_shard(shard)
        ours = [
            name
            for name in table.column_names
            if name in OURS or name.startswith(("program.", "instances."))
        ]
        shard.write_bytes(encode_table(table.drop_columns(ours), provenance(shard)))
    explorer = Explorer(Networks(open_sweep(older), older, tmp_path))
    settled(explorer.networks, "6b10ba113d06")
    panel = explorer.show_network(View(run="6b10ba113d06"), "run")
    assert panel.title == "6b10ba113d06: two Pizzas"
    assert "the paper's label alone" in panel.job_text


def test_switching_a_circle_off_changes_logits_and_accuracy(explorer: Explorer) -> None:
    view = View(run=CLOCK)
    panel = explorer.show_network(view, "run")
    assert panel.values is not None
    first = panel.values[0]
    whole = explorer.show_logits(view, "run")
    without = explorer.show_logits(View(run=CLOCK, off=(first,)), "run")
    assert whole is not None
    assert without is not None
    assert whole.accuracy == "Accuracy 100.00%, whole network."
    assert without.accuracy != whole.accuracy
    assert without.accuracy.endswith(f"without k = {first}.")
    assert without.kept.endswith("(now chosen one by one)")
    assert leading([5, 3, 9], (3,)) == 1
    assert leading([5, 3, 9], ()) == 3


def test_each_side_shows_its_own_network(explorer: Explorer) -> None:
    both = View(run=HYBRID, pin=CLOCK)
    sentence = "a Pizza (38%), a Clock (37%) and a Clock-Pizza mixture (25%)"
    assert explorer.show_network(both, "run").title == f"{HYBRID}: {sentence}; borderline"
    pinned = explorer.show_network(both, "pin").title
    assert pinned == f"Pinned: {CLOCK}: two Clocks and a Pizza (9.8%)"


def test_a_run_without_weights_shows_its_row_and_offers_training(explorer: Explorer) -> None:
    run = explorer.runs.columns.texts("run_id", [2])[0]
    panel = explorer.show_network(View(run=run), "run")
    assert panel.title == f"{run}: Pizza"
    assert "From the table." in text_of(panel.verdict)
    assert not panel.train_hidden
    assert panel.inside_hidden
    assert panel.job_text.startswith("The weights of this run were not kept.")
    assert explorer.show_logits(View(run=run), "run") is None
    missing = View(run="000000000000")
    assert (
        explorer.show_network(missing, "run").settings
        == "There is no run 000000000000 in fixed-width."
    )
    with pytest.raises(InputError, match="there is no run"):
        explorer.start_training(missing, "run")


def test_a_run_that_diverged_says_so_before_it_offers_training(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = explorer.data
    run = opened.runs.columns.texts("run_id", [2])[0]
    row = opened.row(2) | {"diverged_at": 7, "verdict": None, "paper_label": None}
    runs = replace(opened.runs, frame=opened.runs.frame.assign(verdict="diverged"))
    changed = replace(opened, runs=runs, read_row=lambda _number: row)
    monkeypatch.setattr(explorer.networks, "_data", changed)
    panel = explorer.show_network(View(run=run), "run")
    assert panel.title == f"{run}: diverged"
    assert panel.job_text.startswith("The training of this run diverged at epoch 7.")
    assert panel.job_text.endswith("It will most likely diverge again.")
    assert "broke down" in text_of(panel.verdict)


def test_the_table_of_runs_does_not_depend_on_the_networks_shown(explorer: Explorer) -> None:
    plain = explorer.runs_key(View())
    assert explorer.runs_key(View(run=CLOCK, off=(5,), pin=HYBRID)) == plain
    assert explorer.runs_key(View((Condition("width", "=", "128"),))) != plain


def test_problems_of_an_address_are_told(explorer: Explorer) -> None:
    view = decode("?where=nonsense&where=widht<5&run=z z")
    _, status, problems = explorer.show_filters(view)
    count = f"{len(explorer.runs):,}"
    assert status.startswith(f"{count} of {count}")
    assert len(problems) == 3
