"""What pages and pictures show of an analysis, as the values that they take."""

import math
from typing import TYPE_CHECKING

import numpy as np

from algophase.analysis.catalogue import CIRCULARITY, listed, metrics
from algophase.analysis.program.forms import form_curve
from algophase.core.palette import kind_of
from algophase.core.wording import form_name
from algophase.pages.network_text import MetricRow, NetworkText, frequencies_text
from algophase.pictures.marks import Panel
from algophase.pictures.program import (
    MOST_PROFILES,
    Profile,
    ProgramPicture,
    profile_panel,
    shares_panel,
)

if TYPE_CHECKING:
    from algophase.analysis.result import Analysis


def network_text(analysis: "Analysis") -> NetworkText:
    """What a summary, a card or a page says of a network."""
    verdict = analysis.verdict
    return NetworkText(
        record=analysis.to_dict(),
        headline=analysis.headline,
        reasons=verdict.general,
        certainty=str(verdict.confidence),
        paper_title=analysis.paper.title,
        remainder=analysis.instances.remainder,
        metrics=metric_rows(analysis),
        profiles=profiles(analysis),
    )


def metric_rows(analysis: "Analysis", every: bool = False) -> list[MetricRow]:
    """A network's metrics as summaries, pages and cards list them. every: also those that are
    not shown by default.
    """
    quantities = metrics() if every else listed(analysis.metrics)
    families = [quantity.family for quantity in quantities]
    rows = list[MetricRow]()
    name_above = ""
    for quantity in quantities:
        value = analysis.metrics.get(quantity.name, math.nan)
        means_nothing = analysis.on_group is not None or not quantity.shown
        if math.isnan(value) and means_nothing:
            continue
        name = quantity.family if families.count(quantity.family) > 1 else quantity.label
        own_name = "" if name == name_above else name
        rows.append(MetricRow(own_name, quantity.which, quantity.text(value), quantity.name))
        name_above = name
        if quantity.name == CIRCULARITY and len(analysis.operand_circularity) > 1:
            operands = zip(("first", "second"), analysis.operand_circularity, strict=True)
            for operand, circularity in operands:
                which = f"the {operand} operand's table"
                rows.append(MetricRow("", which, quantity.text(circularity)))
    return rows


def profiles(analysis: "Analysis") -> list[Profile]:
    """What the largest instances compute, as curves: g(d) of the leading frequency k of each, by
    the angle k d.
    """
    program = analysis.program
    p = program.modulus
    drawn = dict(zip(program.frequencies, program.drawn_profiles, strict=True))
    # Operands with tables of their own have circles at an angle to each other. A row of a table
    # keeps only cosines of its profiles, which have no such angle.
    turned = len(analysis.operand_circularity) > 1 and program.profiles.size > 0
    largest = analysis.instances.instances[:MOST_PROFILES]
    curves = []
    for instance, form in zip(largest, analysis.verdict.forms, strict=False):
        leading = instance.keys[0]
        values = drawn[leading]
        angles = ((leading * np.arange(p) / p + 0.5) % 1 - 0.5) * 360
        order = np.argsort(angles, kind="stable")
        fitted = form_curve(values, leading, form, turned=turned)
        curves.append(
            Profile(
                name=frequencies_text(instance.frequencies),
                form=form_name(form),
                kind=kind_of(form),
                angles=angles[order],
                values=values[order],
                fitted=None if fitted is None else fitted[order],
                share=instance.share,
            )
        )
    return curves


def program_picture(analysis: "Analysis") -> ProgramPicture:
    """What a picture of the program shows."""
    program, instances = analysis.program, analysis.instances
    shares = []
    for instance, form in zip(instances.instances, analysis.verdict.forms, strict=True):
        name = frequencies_text(instance.frequencies)
        shares.append((name, form_name(form), kind_of(form), instance.share))
    key_frequencies = sum(program.frequency_shares)
    return ProgramPicture(
        profiles=profiles(analysis),
        instances=shares,
        remainder=instances.remainder,
        key_frequencies=key_frequencies,
        other_frequencies=program.answer_share - key_frequencies,
        readout=program.readout_share,
        offsets=program.offset_share,
        rest=program.rest,
    )


def program_panels(analysis: "Analysis") -> list[Panel]:
    """What the logits are made of, then the profile of each instance. A table's row is enough."""
    picture = program_picture(analysis)
    shares = f"additivity {analysis.additivity:.2%}, program {analysis.program.explained:.2%}"
    return [
        shares_panel(picture, shares),
        *(profile_panel(profile) for profile in picture.profiles),
    ]
