import sys

import pytest
from report_pages import ATTACK

from algophase.analysis.verdict.decide import OUTCOMES
from algophase.core.errors import InputError
from algophase.reports.plotly_style import VERDICTS, graph_objects, inert_text


def test_verdicts_differ_in_color_and_shape() -> None:
    assert set(VERDICTS) == set(OUTCOMES)
    assert (
        len({color for color, _ in VERDICTS.values()})
        == len({shape for _, shape in VERDICTS.values()})
        == len(VERDICTS)
    )


def test_text_from_files_is_inert() -> None:
    assert (
        inert_text(ATTACK)
        == "&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(2)&gt;"
    )
    assert inert_text("%{x} $a$\x00\u2028") == "%&#123;x} &#36;a&#36;  "
    assert len(inert_text("a" * 10_000)) == 200


def test_without_plotly_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(InputError, match=r'pip install "algophase\[explore\]"'):
        graph_objects()
