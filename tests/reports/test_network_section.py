from dataclasses import replace
from pathlib import Path

import pytest
from report_pages import ATTACK, Parsed, made_runs, parsed
from shard_files import write_shard

from algophase.analysis.analyze import analyze
from algophase.analysis.specimen import Specimen
from algophase.core.errors import InputError
from algophase.core.settings import LinearSettings, RunSettings, TaskSettings, TransformerSettings
from algophase.networks import initialize
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.reports.network_section import (
    add_index,
    add_network,
    add_population,
    odd_numbers,
    read_history,
)
from algophase.reports.page import Page
from algophase.runs.runs import Runs


def of_network(specimen: Specimen) -> Parsed:
    page = Page("one network")
    add_network(page, 1, specimen, None)
    return parsed(page)


def test_a_network_is_told_in_plain_words() -> None:
    network = handmade_pizza(13, (1, 5))
    analysis = analyze(network)
    found = of_network(Specimen(network, analysis))
    assert found.texts["h2"] == [f"{analysis.id}: two Pizzas"]
    assert any("It learned the Pizza" in words for words in found.texts["strong"])
    assert [
        reason
        for reason in (*analysis.verdict.general, *analysis.paper.reasons)
        if reason not in found.texts["li"]
    ] == []
    headings = [
        "Instances",
        "Program",
        "Correct logits of each instance alone",
        "By the paper's rules: Pizza",
        "Metrics",
        "Circles in the embedding",
        "What each circle does alone",
        "Inside the linear Pizza",
        "Correct logits",
    ]
    assert found.texts["h3"] == headings
    # Shares, profiles, each instance alone, circles, their readouts, the whole network, each circle
    # alone.
    assert len(found.figures) == 1 + 2 + 2 + 2 + 2 + 1 + 2
    cells = found.texts["td"]
    for item in analysis.circles:
        assert f"{100 * item.fve_pizza:.2f}%" in cells
        assert f"{100 * item.accuracy_alone:.2f}%" in cells
        assert f"0.0, {item.pizza_weight:.1f}, 0.0" in cells  # the weights its role comes from


def test_a_linear_network_has_no_attention_and_one_without_circles_says_so() -> None:
    network = initialize(RunSettings(task=TaskSettings(modulus=13), network=LinearSettings()))
    analysis = analyze(network)
    assert (analysis.verdict.label, analysis.circles) == ("not learned", ())
    found = of_network(Specimen(network, analysis))
    assert "Attention" not in found.texts["h3"]
    assert "No frequency of the embedding stands out as a circle." in found.texts["p"]
    assert "It has not learned the task" in found.texts["strong"][0]


def test_separate_tables_have_no_circularity_of_their_own() -> None:
    settings = LinearSettings(model="alpha-prime")
    network = initialize(RunSettings(task=TaskSettings(modulus=13), network=settings))
    found = of_network(Specimen(network))
    assert "undefined" in found.texts["td"]
    assert "the second operand's table" in found.texts["td"]


def test_a_network_is_set_among_its_population() -> None:
    network = handmade_clock(59, (1, 5, 17))
    page = Page("page")
    add_network(page, 1, Specimen(network), Runs.of(made_runs(200), "made <b>"))
    found = parsed(page)
    assert "percentile" in found.texts["th"]
    assert any(
        "Percentiles are those among" in line and "accurate runs of made <b>." in line
        for line in found.texts["p"]
    )
    assert any("Unlike the runs of made <b>, this network has" in line for line in found.texts["p"])
    captions = found.texts["figcaption"]
    assert sum("percentile" in caption for caption in captions) == 2
    # A perfect Clock's logits are all equal.
    assert "distance irrelevance is undefined" in captions


def test_networks_without_a_rate_are_said_not_to_be_drawn() -> None:
    networks = [handmade_pizza(7, (2,)), initialize(RunSettings(task=TaskSettings(modulus=7)))]
    page = Page("page")
    specimens = [Specimen(network) for network in networks]
    add_population(page, Runs.of(made_runs(50), "made"), specimens, [True, True])
    assert "Without an attention rate, and not drawn here: 1." in parsed(page).texts["p"]


def test_several_networks_get_an_index() -> None:
    page = Page("page")
    specimens = [
        Specimen(network) for network in (handmade_clock(7, (1,)), handmade_pizza(7, (2,)))
    ]
    add_index(page, specimens)
    for number, item in enumerate(specimens, 1):
        add_network(page, number, item, None, of=len(specimens))
    found = parsed(page)
    assert [heading.partition(". ")[0] for heading in found.texts["h2"]] == ["Networks", "1", "2"]
    targets = [attributes["href"] for tag, attributes in found.tags if tag == "a"]
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert targets[:3] == ["#main", "#networks", "#network-1"]
    assert targets[-2:] == [
        "#network-1",
        "#network-2",
    ]  # of the table; those before are the table of contents
    assert len(ids) == len(set(ids))
    assert {str(target).removeprefix("#") for target in targets} <= set(ids)
    headings = found.texts["h2"] + found.texts["h3"]
    assert sorted(found.texts["a"][1:-2]) == sorted(headings)


def test_numbers_that_no_share_can_have_are_explained() -> None:
    analysis = analyze(handmade_clock(13, (1, 5)))
    assert odd_numbers(analysis) == []
    first, second = analysis.instances.instances
    overlapping = replace(first, share=1.2, energy=0.5), replace(second, share=-0.1)
    odd = replace(
        analysis, instances=replace(analysis.instances, instances=overlapping, remainder=-0.1)
    )
    negative, beyond, kept = odd_numbers(odd)
    assert negative.startswith("A negative share:")
    assert beyond == (
        "The shares exceed 100% by 10.00%: instances overlap, so what they have in common counts twice."
    )
    assert kept.startswith("Kept above 100%:")
    page = Page("page")
    add_network(page, 1, Specimen(handmade_clock(13, (1, 5)), odd), None)
    assert beyond in parsed(page).texts["p"]


def test_histories_are_read_or_refused(tmp_path: Path) -> None:
    network, shard = handmade_clock(7, (1,)), tmp_path / "runs-000000-1-00000000"
    path = shard / "networks" / "a.safetensors"
    assert read_history(network, path) is None

    def write(**columns: object) -> None:
        row = {"index": 0, "run_id": network.id}
        row |= {f"history.{name}": values for name, values in columns.items()}
        write_shard(shard / "runs.parquet", [row], {})

    (shard / "networks").mkdir(parents=True)
    write()
    assert read_history(network, path) is None
    write(epochs=[0, 1], training_loss=[4.0, None])
    assert read_history(network, shard / "a.safetensors") is None  # not where a shard keeps it
    history = read_history(network, path)
    assert history == {"epochs": [0, 1], "training_loss": [4.0, None]}
    found = of_network(Specimen(network, history=history))
    assert "Training" in found.texts["h3"]
    broken: list[dict[str, object]] = [
        {"epochs": [ATTACK]},
        {"epochs": [0, 1], "training_loss": [1.0]},
        {"epochs": [0], "training_loss": [ATTACK]},
    ]
    for columns in broken:
        write(**columns)
        with pytest.raises(InputError, match="has no readable history"):
            read_history(network, path)
    network.id = "another"
    assert read_history(network, path) is None


def test_a_deeper_network_says_where_its_instances_mix() -> None:
    """An untrained one has none, so it gets one: what is tested is the table."""
    run = RunSettings(TaskSettings(modulus=11), TransformerSettings(width=8, layers=2), seed=0)
    specimen = Specimen(initialize(run))
    instance = analyze(handmade_pizza(11, (2,))).instances.instances[0]
    found = replace(specimen.analysis.instances, instances=(instance,))
    specimen.analysis = replace(
        specimen.analysis,
        instances=found,
        verdict=replace(specimen.analysis.verdict, forms=("Pizza",)),
    )
    page = Page("page")
    add_network(page, 1, specimen, None)
    cells = parsed(page).texts["td"]
    assert [
        cells[cells.index(place) + 1][-1]
        for place in ("in the embedding", "after 1 layer", "after 2 layers")
    ] == ["%"] * 3
