"""What pages and pictures show of an analysis, as the values that they take."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from algophase.analysis.catalogue import (
    CIRCULARITY,
    EXACT,
    IRRELEVANCE,
    listed,
    metrics,
    quantity,
)
from algophase.analysis.program.by_representation import OnGroup
from algophase.analysis.program.forms import form_curve
from algophase.analysis.verdict.group_verdict import form_of
from algophase.core.lines import reaches
from algophase.core.palette import kind_of
from algophase.core.wording import form_name, share_text
from algophase.pages.network_text import MetricRow, NetworkText, frequencies_text
from algophase.pictures.group_program import (
    GroupPicture,
    UsedRepresentation,
    group_figure,
    representations_panel,
)
from algophase.pictures.marks import Figure, Panel
from algophase.pictures.program import (
    MOST_PROFILES,
    Profile,
    ProgramPicture,
    profile_panel,
    program_figure,
    shares_panel,
)

if TYPE_CHECKING:
    from algophase.analysis.result import Analysis

PAPER_METRICS = (EXACT, IRRELEVANCE, CIRCULARITY)
GROUP_COLUMNS = ("group", "largest instance", "additivity", "characters")
# Of the operand tables: a representation that is in no instance is shown from this share on.
LEAST_IN_TABLES = 0.01


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
    families = [item.family for item in quantities]
    rows = list[MetricRow]()
    name_above = ""
    for item in quantities:
        value = analysis.metrics.get(item.name, math.nan)
        means_nothing = analysis.on_group is not None or not item.shown
        if math.isnan(value) and means_nothing:
            continue
        name = item.family if families.count(item.family) > 1 else item.label
        own_name = "" if name == name_above else name
        rows.append(MetricRow(own_name, item.which, item.text(value), item.name))
        name_above = name
        if item.name == CIRCULARITY and len(analysis.operand_circularity) > 1:
            operands = zip(("first", "second"), analysis.operand_circularity, strict=True)
            for operand, circularity in operands:
                which = f"the {operand} operand's table"
                rows.append(MetricRow("", which, item.text(circularity)))
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


class Columns(NamedTuple):
    """Columns of a table of networks: heads, and the cells of each network."""

    heads: list[str]
    rows: list[list[str]]


def columns_at_a_glance(analyses: Sequence["Analysis"]) -> Columns:
    """What tells networks apart: the paper's metrics for addition modulo p, the group and the
    largest instance on other groups; both, empty where they mean nothing, for networks of both
    kinds.
    """
    on_groups = [analysis.on_group is not None for analysis in analyses]
    metrics_shown = ["accuracy", *(PAPER_METRICS if not all(on_groups) else ())]
    quantities = [quantity(name) for name in metrics_shown]
    # Populations are drawn with the paper's 100 triples: what is in this table says so.
    heads = [item.label if item.name == EXACT else item.family for item in quantities]
    heads = [*heads[:1], *(GROUP_COLUMNS if any(on_groups) else ()), *heads[1:]]
    rows = []
    for analysis in analyses:
        cells = [item.text(analysis.metrics[item.name]) for item in quantities]
        of_group = [""] * len(GROUP_COLUMNS)
        if analysis.on_group is not None:
            of_group = _group_cells(analysis.on_group)
            cells[1:] = [""] * len(cells[1:])
        rows.append([*cells[:1], *(of_group if any(on_groups) else ()), *cells[1:]])
    return Columns(heads, rows)


def _group_cells(on_group: OnGroup) -> list[str]:
    """Under `GROUP_COLUMNS`."""
    largest = "none"
    if on_group.instances:
        instance = on_group.instances[0]
        largest = f"{', '.join(instance.representations)} ({share_text(instance.share)})"
    name = on_group.name or f"order {on_group.order}"
    shares = [on_group.additivity, on_group.shares.characters]
    return [name, largest, *(f"{share:.2%}" for share in shares)]


def group_picture(analysis: "Analysis") -> GroupPicture:
    """What a picture of the program shows of a network on a group."""
    on_group = analysis.on_group
    assert on_group is not None
    members = []
    named = set[str]()
    for instance in on_group.instances:
        form = form_of(instance)
        name = ", ".join(instance.representations)
        shares = instance.embedding_share, instance.share
        members.append(UsedRepresentation(name, form, kind_of(form), *shares))
        named.update(instance.representations)
    rest = [member for member in on_group.embedding if member.name not in named]
    rest = [member for member in rest if reaches(member.share, LEAST_IN_TABLES)]
    rest.sort(key=lambda member: -member.share)
    members += [UsedRepresentation(member.name, "", "", member.share, 0.0) for member in rest]
    return GroupPicture(members, on_group.shares.exclusive, on_group.remainder)


def program_of(analysis: "Analysis", title: str) -> Figure:
    """The picture of the program of any network."""
    if analysis.on_group is not None:
        return group_figure(group_picture(analysis), title)
    return program_figure(program_picture(analysis), title)


def group_program_panels(analysis: "Analysis") -> list[Panel]:
    """Of a network on a group: its representations, if it has tables that show any, and what the
    logits are made of. A table's row is enough.
    """
    picture = group_picture(analysis)
    numbers = f"additivity {analysis.additivity:.2%}"
    shares = shares_panel(picture, numbers)
    return [representations_panel(picture), shares] if picture.representations else [shares]


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
