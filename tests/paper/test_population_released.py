"""Our populations beside the printed shares and the authors' released runs."""

from pathlib import Path

from made_items import claims_of, write_transformers

from algophase.analysis.catalogue import IRRELEVANCE, SYMMETRICITY
from algophase.paper.items import find_items
from algophase.paper.measure import measured
from algophase.paper.population_released import released_population, released_shift
from algophase.paper.product import Claim, entry
from algophase.paper.rules import judge
from algophase.paper.sources import Sources
from algophase.runs.statistics import Share


def test_a_printed_share_is_compared_within_both_sampling_errors() -> None:
    def judged(name: str, count: int, total: int) -> Claim:
        return judge(entry(name), measured(Share(count, total), space="s", of_accurate=""))

    one_layer = "share-circular-1-layer"
    assert judged(one_layer, 343, 1000).verdict == "reproduced"
    assert judged(one_layer, 450, 1000).verdict == "differs"
    assert judged(one_layer, 0, 0).verdict == "not tested"
    # No difference seen, but a large one might be there.
    assert judged("share-circular-4-layers", 2, 16).verdict == "undecided"
    assert judged(one_layer, 343, 1000).published == "34.31%"
    edge = judged(one_layer, 643, 1725)  # our interval alone leaves the printed share out
    assert edge.verdict == "reproduced"
    assert "outside our interval" in edge.note


def test_without_the_authors_table_there_is_nothing_beside_ours(tmp_path: Path) -> None:
    sources = Sources(tmp_path)
    assert released_population(sources, "layers-2") is None
    assert released_shift(sources, "equals-sign", SYMMETRICITY) is None


def test_released_runs_are_taken_by_their_settings(released: Path) -> None:
    sources = Sources(released=released)
    for space, name in (
        ("fixed-width", "share-circular-1-layer"),
        ("layers-2", "share-circular-2-layers"),
        ("layers-3", "share-circular-3-layers"),
        ("layers-4", "share-circular-4-layers"),
    ):
        runs = released_population(sources, space)
        assert runs is not None
        assert runs.circular_share == entry(name).share
    shift = released_shift(sources, "equals-sign", SYMMETRICITY)
    assert shift is not None
    assert shift[1] == "gradient symmetricity (without the equals sign)"
    shift = released_shift(sources, "separate-vocabularies", IRRELEVANCE)
    assert shift is not None
    assert shift[1] == "distance irrelevance (wrong logit)"


def test_released_runs_give_the_printed_shares(tmp_path: Path, released: Path) -> None:
    for space in ("fixed-width", "layers-2", "layers-3", "layers-4", "equals-sign"):
        write_transformers(tmp_path, space, 150)
    claims = (
        *claims_of("noncirc2", tmp_path, released),
        *claims_of("multilayers", tmp_path, released),
    )
    theirs = [claim for claim in claims if "released table" in claim.text]
    assert [claim.verdict for claim in theirs] == ["reproduced"] * 4
    assert [claim.published for claim in theirs] == ["34.31%", "9.95%", "11.55%", "6.08%"]
    for label in ("metricvs", "onelayer", "eqn-sign"):
        product = find_items([label])[0].make(Sources(tmp_path, (), released))
        assert set(product.figures) == {"", "released"}
        assert "wrong logit" in product.tables["released"].markdown()
