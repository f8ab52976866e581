import pandas
from explored_tables import made_up, text_of

from algophase.analysis.catalogue import metrics
from algophase.analysis.specimen import Specimen
from algophase.core.named_groups import named_group
from algophase.core.settings import LinearSettings, RunSettings, TaskSettings
from algophase.explore.panels import (
    PAGE,
    circle_options,
    circle_pictures,
    filter_chips,
    instance_options,
    instances_on,
    leading,
    logits_picture,
    metrics_table,
    region_statistics,
    row_box,
    runs_page,
    settings_line,
    verdict_box,
)
from algophase.explore.view import REST, View
from algophase.explore.visible_runs import VisibleRuns, with_outcomes
from algophase.networks import initialize
from algophase.networks.handmade import handmade_pizza
from algophase.networks.handmade_groups import adding_network
from algophase.runs.runs import Runs
from algophase.runs.selection import read_condition

RUNS = made_up().runs


def test_a_region_has_shares_with_intervals_and_medians() -> None:
    shown = VisibleRuns(RUNS, View(y="circularity"))
    verdicts, medians = map(text_of, region_statistics(shown))
    assert "Verdicts of the 3 runs on the map" in verdicts
    assert "Clock 1 33.3%" in verdicts
    assert "circularity 0.5000 0.3500 to 0.7500 3" in medians
    none = VisibleRuns(RUNS, View((read_condition("width<0"),), y="circularity"))
    assert text_of(region_statistics(none)) == "No runs on the map."


def test_runs_are_listed_page_by_page() -> None:
    columns = {"run_id": [f"{row:012x}" for row in range(60)], "width": range(60)}
    many = with_outcomes(Runs("made up", pandas.DataFrame(columns), 60))
    for asked, page_shown in ((0, 0), (2, 2), (99, 2), (-1, 0)):
        listed, page, pages = runs_page(VisibleRuns(many, View()), asked)
        assert (page, pages) == (page_shown, 3)
        assert f"{page_shown * PAGE:012x}" in text_of(listed)
    listed, *_ = runs_page(VisibleRuns(RUNS, View(y="circularity", run=f"{2:012x}")), 0)
    buttons = [part for part in listed._traverse() if type(part).__name__ == "Button"]
    assert [getattr(button, "aria-pressed") for button in buttons] == ["false", "true", "false"]


def test_filters_are_buttons_that_say_what_they_remove() -> None:
    chips = filter_chips(View((read_condition("width>16"),)))
    assert getattr(chips[0], "aria-label") == "Remove the filter width>16"


def test_a_row_is_shown_whatever_it_holds() -> None:
    assert "The table calls it odd." in text_of(row_box({"reasons": "no list"}, "odd"))
    assert "the loss became NaN" in text_of(row_box({}, "diverged"))
    strange = text_of(
        metrics_table(
            {"accuracy": "high", "circularity": True, "distance_irrelevance": float("inf")}
        )
    )
    assert [word in strange for word in ("high", "yes", "inf")] == [True] * 3
    assert all(each.label in text_of(metrics_table({})) for each in metrics() if each.shown)
    assert (
        settings_line(RUNS, 1)
        == "index 1, equals sign no, width 32, activation gelu, attention rate 0.4000"
    )


def test_a_network_is_shown_with_its_circles_on_and_off() -> None:
    specimen = Specimen(handmade_pizza(13, (1, 5)))
    assert "It learned the Pizza" in text_of(verdict_box(specimen.analysis))
    assert [option["value"] for option in circle_options(specimen)][-1] == REST
    assert len(circle_pictures(specimen)) == 2
    whole, one, none = (logits_picture(specimen, off) for off in ([], [1], [1, 5, REST]))
    assert whole.accuracy == "Accuracy 100.00%, whole network."
    assert one.accuracy.endswith("without k = 1.")
    assert none.accuracy.endswith("without k = 1, k = 5, what is no circle.")
    assert none.kept == "Keep the first 0 of 2 circles, in the order listed"
    assert leading([5, 3, 9], (3,)) == 1
    assert leading([5, 3, 9], ()) == 3


def test_a_network_without_circles_says_so() -> None:
    specimen = Specimen(
        initialize(RunSettings(task=TaskSettings(modulus=13), network=LinearSettings()))
    )
    assert (
        text_of(circle_pictures(specimen))
        == "No frequency of the embedding stands out as a circle."
    )
    assert logits_picture(specimen, []).order.endswith("rows and columns in their own order.")


def test_a_network_on_a_group_is_shown_with_its_representations_on_and_off() -> None:
    specimen = Specimen(adding_network(named_group("S3"), ["standard", "sign"]))
    words = text_of(verdict_box(specimen.analysis))
    assert "It learned the group by adding" in words
    assert "S3, a group of order 6 with 3 conjugacy classes." in words
    options = {option["value"]: option["label"] for option in circle_options(specimen)}
    assert options[REST] == "the rest of the operand tables"
    assert [label.split(",")[0] for label in options.values()][:2] == ["standard", "sign"]
    assert [option["value"] for option in instance_options(specimen)] == [0, 1]
    standard, sign, _ = options
    assert instances_on(specimen, [sign]) == [0]
    whole, one, none = (logits_picture(specimen, off) for off in ([], [standard], [*options]))
    assert whole.accuracy == "Accuracy 100.00%, whole network."
    assert one.accuracy.endswith("without standard.")
    assert none.accuracy.endswith("without standard, sign, the rest of the tables.")
    assert none.kept == "Keep the first 0 of 2 representations, in the order listed"
    assert "elements in the order of the" in whole.order
    assert len(circle_pictures(specimen)) == 3
    values = specimen.analysis.metrics
    assert "circularity" not in text_of(metrics_table(values, defined_only=True))
