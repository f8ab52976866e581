"""Settings, sizes and cost, and what the text says beside the figures."""

from pathlib import Path

import pandas
import pytest
from made_items import claims_of, find, transformers, write_sweep

from algophase.paper.items import find_items
from algophase.paper.make import make
from algophase.paper.product import Claim, entries
from algophase.paper.sources import Sources


def with_settings(runs: pandas.DataFrame, **changed: object) -> pandas.DataFrame:
    """Made-up runs with the settings that a sweep records."""
    printed = {}
    for entry in entries()["settings"]:
        if entry.quantity == "recorded_setting":
            printed[entry.arguments["column"]] = entry.value
    return runs.assign(**{**printed, **changed})


def test_settings_are_what_the_runs_record(tmp_path: Path) -> None:
    write_sweep(tmp_path, "fixed-width", with_settings(transformers(30)))
    claims = claims_of("settings", tmp_path)
    assert {claim.verdict for claim in claims if claim.sample == 30} == {"reproduced"}
    other = with_settings(transformers(30))
    other.loc[3, "learning_rate"] = 0.01
    write_sweep(tmp_path / "other", "fixed-width", other)
    rate = find(claims_of("settings", tmp_path / "other"), "learning rate")
    assert (rate.verdict, rate.ours) == ("differs", "0.001, 0.01")


def test_the_gallery_has_the_papers_settings_and_took_less_time(
    gallery: Path, tmp_path: Path
) -> None:
    made, text = make(find_items(["settings", "text"]), Sources(gallery.parent), tmp_path)
    claims = made.claims
    assert {claim.verdict for claim in claims} <= {"reproduced", "supported", "not tested"}
    cost = find(claims, "fewer resources")
    assert (cost.verdict, cost.published) == ("supported", "226 GPU days")
    assert cost.sample > 4000
    assert (
        find(text.claims, "the correct logits").verdict == "not tested"
    )  # without the authors' table


def test_the_linear_widths_of_the_released_networks_contradict_the_text(
    released: Path, tmp_path: Path
) -> None:
    made, text = make(find_items(["settings", "text"]), Sources(released=released), tmp_path)
    width = find(made.claims, "linear models")
    assert (width.verdict, width.ours.endswith("delta (released): 128, 256 and 256")) == (
        "paper contradicts itself",
        True,
    )
    logit = find(text.claims, "the correct logits")
    assert logit.verdict == "paper contradicts itself"
    assert (
        "largest wrong logit 0.0" in logit.ours
    )  # the released column is that one's, not the definition's


def words_of(
    tmp_path: Path,
    roles: list[list[str]],
    frequencies: list[list[int]],
    companions: list[list[int | None]],
) -> tuple[Claim, ...]:
    count = len(roles)
    runs = transformers(count, circular=1.0).assign(paper_label="Pizza", pizza_share=1.0)
    runs["circles.role"], runs["circles.frequency"], runs["circles.accompanies"] = (
        roles,
        frequencies,
        companions,
    )
    runs["circles.accuracy_alone"] = [[0.3] * len(each) for each in roles]
    write_sweep(tmp_path, "fixed-width", with_settings(runs))
    return claims_of("text", tmp_path)


@pytest.mark.parametrize(("companion", "expected"), [(3, "supported"), (None, "not supported")])
def test_companions_are_counted_by_network(
    tmp_path: Path, companion: int | None, expected: str
) -> None:
    claims = words_of(
        tmp_path, [["Pizza", "accompanying"]] * 30, [[3, 6]] * 30, [[None, companion]] * 30
    )
    assert find(claims, "usually come with").verdict == expected
    assert find(claims, "multiple, imperfect copies").verdict == "not supported"  # one pizza each


def test_two_pizzas_are_copies(tmp_path: Path) -> None:
    claims = words_of(tmp_path, [["Pizza", "Pizza"]] * 30, [[3, 5]] * 30, [[None, None]] * 30)
    assert find(claims, "multiple, imperfect copies").verdict == "supported"
