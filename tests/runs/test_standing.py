from report_pages import made_runs

from algophase.analysis.analyze import analyze
from algophase.analysis.catalogue import IRRELEVANCE
from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.networks import initialize
from algophase.networks.handmade import handmade_clock
from algophase.runs.runs import Runs
from algophase.runs.standing import foreign_settings, standings


def test_a_percentile_is_the_share_below_ties_half() -> None:
    runs = made_runs(
        4, circularity=0.999, distance_irrelevance=[0.1, 0.2, 0.2, 0.9], verdict="Clock"
    )
    network = handmade_clock(7, (1,))
    analysis = analyze(network)
    found = {place.metric: place for place in standings(analysis, Runs.of(runs, "made"))}
    object.__setattr__(found[IRRELEVANCE], "value", 0.2)
    assert found[IRRELEVANCE].percentile == 0.5
    assert "percentile 50 of 4 circular accurate runs" in str(found[IRRELEVANCE])
    object.__setattr__(found[IRRELEVANCE], "value", float("nan"))
    assert found[IRRELEVANCE].percentile is None
    assert "undefined" in str(found[IRRELEVANCE])


def test_a_network_unlike_the_population_is_noticed() -> None:
    population = Runs.of(made_runs(20), "made")
    narrow = initialize(
        RunSettings(task=TaskSettings(modulus=59), network=TransformerSettings(width=32))
    )
    assert foreign_settings(narrow, population) == ["width 32 (there 128)"]
    differ = foreign_settings(handmade_clock(7, (1,)), population)
    assert any(line.startswith("modulus 7 (there 59)") for line in differ)
    alike = initialize(
        RunSettings(task=TaskSettings(modulus=59), network=TransformerSettings(width=128))
    )
    assert foreign_settings(alike, population) == []
