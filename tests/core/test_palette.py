from typing import get_args

from algophase.analysis.verdict.decide import Form
from algophase.core.palette import FORMS, OUTCOMES, VERDICTS, kind_of
from algophase.pages.card import COLORED


def test_every_verdict_has_a_color_and_a_marker_of_its_own() -> None:
    assert set(VERDICTS) == set(OUTCOMES) - {"not analyzed"}
    colors, markers = zip(*VERDICTS.values(), strict=True)
    assert len(set(colors)) == len(set(markers)) == len(VERDICTS)


def test_every_form_has_a_color_and_a_marker_of_its_own() -> None:
    assert set(FORMS) == {kind_of(form) for form in get_args(Form)}
    colors, markers = zip(*FORMS.values(), strict=True)
    assert len(set(colors)) == len(set(markers)) == len(FORMS)
    assert set(COLORED) < set(FORMS)
