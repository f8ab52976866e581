"""Circle isolation of Models A and B: known answers on the authors' networks, stand-ins from the
gallery.
"""

from pathlib import Path

import pytest
from made_items import assert_same_files, find, make_one
from paper_fixtures import OF_A_AND_B

from algophase.paper.items import find_items
from algophase.paper.make import Made, make
from algophase.paper.sources import Sources

TABLES = {"isolation", "isolationside"}
HIGHLY_ACCURATE = (
    "after isolation a subset of predictions remains highly accurate, determined by the circle's k"
)

# What holds for the authors' two networks and not for ours: a circle of our Pizza is right
# somewhere at every a - b, and 94.9% of what one circle of our Clock writes depends on a + b and c,
# where the rule asks for 95%.
MISSED = {
    "corlogitpizza": {"Model A's accuracy drops to zero at specific values of a - b"},
    "corlogitclock": {
        "after isolation of a Clock's circle inputs with common sums a + b produce the same logits"
    },
}


def printed(made: Made) -> list[tuple[str, str, str]]:
    """The claims that compare a printed number."""
    return [
        (claim.published, claim.ours, claim.verdict)
        for claim in made.claims
        if claim.published != "-"
    ]


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("efflc", [("99.37%", "99.37%", "reproduced"), ("33.36%", "33.36%", "reproduced")]),
        (
            "corlogit",
            [
                ("0.17", "0.1717", "reproduced"),
                ("0.85", "0.8483", "reproduced"),
                ("A Clock, B Pizza", "A Pizza, B Clock", "paper contradicts itself"),
            ],
        ),
        (
            "corlogitpizza",
            [
                ("around 99.8%", "99.78%", "reproduced"),
                ("32.8%", "34.82%", "differs"),
                ("91.4%", "99.66%", "paper contradicts itself"),
            ],
        ),
        (
            "corlogitclock",
            [("around 99.8%", "99.89%", "reproduced"), ("100%", "100.00%", "reproduced")],
        ),
        (
            "isolation",
            [
                ("17", "17", "reproduced"),
                ("75.41%", "75.41%", "reproduced"),
                ("99.18%", "99.18%", "reproduced"),
                ("3", "3", "reproduced"),
                ("75.62%", "75.62%", "reproduced"),
                ("99.18%", "99.18%", "reproduced"),
                ("44", "15", "reproduced"),
                ("75.38%", "75.38%", "reproduced"),
                ("99.28%", "99.28%", "reproduced"),
            ],
        ),
        (
            "isolationside",
            [
                ("17", "17", "reproduced"),
                ("97.56%", "97.56%", "reproduced"),
                ("3", "3", "reproduced"),
                ("97.23%", "97.23%", "reproduced"),
                ("44", "15", "reproduced"),
                ("97.69%", "97.69%", "reproduced"),
            ],
        ),
        (
            "corlogitpizzaside",
            [
                ("99.7%", "99.66%", "reproduced"),
                ("16.7%", "16.72%", "reproduced"),
                ("100%", "100.00%", "reproduced"),
            ],
        ),
        ("corlogitbeta", []),
        ("corlogitdelta", []),
    ],
)
def test_numbers_of_the_authors_networks(
    published: dict[str, Made], label: str, expected: list[tuple[str, str, str]]
) -> None:
    assert printed(published[label]) == expected


@pytest.mark.parametrize("label", [*OF_A_AND_B, "corlogitbeta", "corlogitdelta"])
def test_every_statement_is_supported_on_the_authors_networks(
    published: dict[str, Made], label: str
) -> None:
    statements = [claim for claim in published[label].claims if claim.published == "-"]
    # Of Model A's circles alone, the best answers four fifths of the pairs at its best a - b.
    assert {claim.text for claim in statements if claim.verdict != "supported"} <= {HIGHLY_ACCURATE}
    assert all(claim.note.startswith("rule: ") for claim in statements)


def test_where_the_paper_and_its_network_part_the_note_gives_all_numbers(
    published: dict[str, Made],
) -> None:
    one = find(published["corlogitpizza"].claims, "one circle")
    assert all(value in one.note for value in ("34.82%", "32.84%", "26.00%", "circle 2's"))
    three = find(published["corlogitpizza"].claims, "three circles")
    # 91.4% is what two circles give: the first four components, not the first six.
    assert all(
        value in three.note
        for value in ("91.4%", "99.7%", "34.82%", "91.44%", "99.66%", "components 1 to 4")
    )
    assert "44 = 59 - 15" in find(published["isolation"].claims, "frequency of circle #3").note


@pytest.mark.parametrize("label", OF_A_AND_B)
def test_stand_ins_are_shown_and_not_judged_by_numbers(ours: dict[str, Made], label: str) -> None:
    made = ours[label]
    assert made.problem is None
    assert "our network" in made.source
    assert {row[2] for row in printed(made)} <= {"not tested", "paper contradicts itself"}
    failed = {
        claim.text
        for claim in made.claims
        if claim.published == "-" and claim.verdict != "supported"
    }
    assert failed - {HIGHLY_ACCURATE} == MISSED.get(label, set())


def check_files(made: Made) -> None:
    label = made.item.label
    assert [file.name for file in made.files] == (
        [f"{label}.md"] if label in TABLES else [f"{label}.png", f"{label}.svg"]
    )
    assert all(file.stat().st_size > 200 for file in made.files)


def test_a_table_and_a_picture_are_made(tmp_path: Path) -> None:
    sources = Sources()
    once, again = (make_one("isolation", sources, tmp_path / name) for name in ("once", "again"))
    check_files(once)
    assert_same_files(once, again)
    check_files(make_one("corlogit", sources, tmp_path))


@pytest.mark.slow
def test_every_file_is_made(tmp_path: Path) -> None:
    for made in make(find_items(OF_A_AND_B), Sources(), tmp_path):
        check_files(made)
