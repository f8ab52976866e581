"""Our populations beside the printed shares and the authors' released runs."""

from pathlib import Path

from made_items import claims_of, write_transformers

from algophase.analysis.catalogue import IRRELEVANCE, SYMMETRICITY
from algophase.paper.items import find_items
from algophase.paper.population_released import (
    printed_share,
    published_share,
    released_population,
    released_shift,
)
from algophase.paper.sources import Sources
from algophase.runs.statistics import Share


def test_a_printed_share_is_compared_within_both_sampling_errors() -> None:
    assert printed_share(Share(343, 1000), "fixed-width").verdict == "reproduced"
    assert printed_share(Share(450, 1000), "fixed-width").verdict == "differs"
    assert printed_share(Share(0, 0), "fixed-width").verdict == "not tested"
    assert (
        printed_share(Share(2, 16), "layers-4").verdict == "undecided"
    )  # no difference seen, but a large one might be there
    assert printed_share(Share(343, 1000), "fixed-width").published == "34.31%"
    edge = printed_share(
        Share(643, 1725), "fixed-width"
    )  # our interval alone leaves the printed share out
    assert edge.verdict == "reproduced"
    assert "outside our interval" in edge.note


def test_without_the_authors_table_there_is_nothing_beside_ours(tmp_path: Path) -> None:
    sources = Sources(tmp_path)
    assert released_population(sources, "layers-2") is None
    assert released_shift(sources, "equals-sign", SYMMETRICITY) is None


def test_released_runs_are_taken_by_their_settings(released: Path) -> None:
    sources = Sources(released=released)
    for space in ("fixed-width", "layers-2", "layers-3", "layers-4"):
        runs = released_population(sources, space)
        assert runs is not None
        assert (runs.circular_share.count, runs.circular_share.total) == (
            published_share(space).count,
            published_share(space).total,
        )
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
