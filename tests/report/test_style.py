from pathlib import Path
from typing import get_args

import matplotlib
import pytest

from algophase.analysis import card
from algophase.analysis.profiles import kind_of
from algophase.analysis.verdict.decide import OUTCOMES, Form
from algophase.core.errors import InputError
from algophase.report.style import (
    FORMATS,
    FORMS,
    VERDICTS,
    check_format,
    house_style,
    new_figure,
    save_figure,
    set_title,
)


def test_the_house_style_ends_with_its_block() -> None:
    before = matplotlib.rcParams["font.size"]
    with house_style():
        assert matplotlib.rcParams["font.size"] == 9
    assert matplotlib.rcParams["font.size"] == before


def test_every_verdict_has_a_colour_and_a_marker_of_its_own() -> None:
    assert set(VERDICTS) == set(OUTCOMES) - {"not analysed"}
    assert (
        len({colour for colour, _ in VERDICTS.values()})
        == len({marker for _, marker in VERDICTS.values()})
        == len(VERDICTS)
    )


def test_every_form_has_a_colour_and_a_marker_of_its_own() -> None:
    assert set(FORMS) == {kind_of(form) for form in get_args(Form)}
    assert (
        len({colour for colour, _ in FORMS.values()})
        == len({marker for _, marker in FORMS.values()})
        == len(FORMS)
    )
    assert {kind: FORMS[kind][0] for kind in card.COLOURS} == card.COLOURS


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_same_figure_is_written_with_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    written = []
    for name in ("a", "b"):
        with house_style():
            figure = new_figure(2, 2)
            figure.subplots().plot([0, 1])
            written.append(save_figure(figure, tmp_path / f"{name}.{suffix}").read_bytes())
    assert written[0] == written[1]


def test_long_titles_are_broken_and_formats_checked() -> None:
    figure = new_figure(3, 2)
    set_title(figure, "a title that is much too long for so narrow a figure")
    assert len(figure.get_suptitle().splitlines()) > 1
    with pytest.raises(InputError, match="figure format is 'bmp'; choose one of png, svg, pdf"):
        check_format("bmp")
