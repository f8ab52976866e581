from pathlib import Path

import matplotlib
import pytest

from algophase.core.errors import InputError
from algophase.pictures.style import (
    FORMATS,
    check_format,
    house_style,
    new_figure,
    set_title,
)
from algophase.reports.save_figure import save_figure


def test_the_house_style_ends_with_its_block() -> None:
    usual = matplotlib.rcParams["font.size"]
    with house_style():
        assert matplotlib.rcParams["font.size"] == 9
    assert matplotlib.rcParams["font.size"] == usual


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
    with pytest.raises(InputError, match=r"'bmp'.*png, svg, pdf"):
        check_format("bmp")
