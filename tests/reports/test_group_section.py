from pathlib import Path

import pytest
from report_pages import Parsed, parsed

from algophase import wrap
from algophase.analysis.analyze import analyze
from algophase.analysis.logits.all_pairs import grid_logits
from algophase.analysis.specimen import Specimen
from algophase.core.named_groups import named_group
from algophase.networks.handmade import handmade_pizza
from algophase.networks.handmade_groups import adding_network, multiplying_network
from algophase.reports.figures import draw_all
from algophase.reports.make import report
from algophase.reports.network_section import add_index, add_network
from algophase.reports.page import Page

HEADINGS = [
    "Group",
    "Instances",
    "What the logits are functions of",
    "Mean logits",
    "Mean logits of each instance alone",
    "Metrics",
]


def of_network(specimen: Specimen) -> Parsed:
    page = Page("one network")
    add_network(page, 1, specimen, None)
    return parsed(page)


@pytest.mark.parametrize("name", ["S3", "D5"])
def test_a_group_network_has_no_circular_part(name: str) -> None:
    for make, words in [(adding_network, "by adding"), (multiplying_network, "by multiplying")]:
        section = of_network(Specimen(make(named_group(name))))
        assert section.texts["h3"] == HEADINGS
        assert any(words in line for line in section.texts["strong"])
        assert any(line.startswith(f"{name}, a group of order") for line in section.texts["p"])
        # Representations, shares, four of the whole network, two of its only instance
        assert len(section.figures) == 1 + 1 + 4 + 2
        assert "undefined" not in section.texts["td"]


def test_a_function_on_a_group_has_its_logits_alone() -> None:
    logits = grid_logits(adding_network(named_group("S3")))
    section = of_network(Specimen(wrap(lambda a, b: logits[a, b], 6)))
    assert "Mean logits" in section.texts["h3"]
    assert "Mean logits of each instance alone" not in section.texts["h3"]
    assert len(section.figures) == 1 + 4


def test_networks_of_both_kinds_share_a_page(tmp_path: Path) -> None:
    cyclic, group = handmade_pizza(7, (1, 2)), adding_network(named_group("S3"))
    page = Page("both")
    add_index(page, [Specimen(cyclic), Specimen(group)])
    texts = parsed(page).texts
    assert "largest instance" in texts["th"]
    assert "gradient symmetricity (all triples)" in texts["th"]
    assert "undefined" not in texts["td"]
    assert report([cyclic, group], tmp_path / "page.html").contents == "2 networks"


def test_pictures_for_print_are_those_of_a_group(tmp_path: Path) -> None:
    network = adding_network(named_group("S3"))
    paths = draw_all(network, analyze(network), tmp_path)
    assert [path.stem for path in paths] == ["program", "mean_logits", "cosets"]
