"""The program of a network in pictures: the profile g(d) of each instance with its form, and what
the logits are made of.

Both kinds of picture, Matplotlib's and plotly's, draw the same numbers, and a row without weights
has them too.
"""

from typing import TYPE_CHECKING

from algophase.analysis.analyze import Analysis
from algophase.analysis.profiles import Profile, kind_of, profiles
from algophase.analysis.verdict.decide import form_name
from algophase.report.plotly_style import FORMS as PLOTLY_FORMS
from algophase.report.plotly_style import Panel, graph_objects
from algophase.report.plotly_style import new_figure as new_plotly_figure
from algophase.report.style import COLOURS, FORMS, GREY, new_figure, set_title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TICKS = [-180, -90, 0, 90, 180]
ALONG = "k(a − b), in degrees around the circle"


def shares(analysis: Analysis) -> list[tuple[str, list[tuple[str, str, float]]]]:
    """Two bars: the logits by instance, and by class; each part with its name, its colour and
    its share.
    """
    forms = zip(analysis.instances.instances, analysis.verdict.forms, strict=True)
    parts = []
    for instance, form in forms:
        name = f"{', '.join(map(str, instance.frequencies))}: {form_name(form)}"
        parts.append((name, FORMS[kind_of(form)][0], instance.share))
    remainder = analysis.instances.remainder
    parts.append(("no instance" if remainder >= 0 else "instances overlap", GREY, remainder))
    program = analysis.program
    keys = sum(program.frequency_shares)
    classes = [
        ("key frequencies", "#5E4C8A", keys),
        ("other frequencies", "#B3A6D9", program.answer_share - keys),
        ("read-out", COLOURS[3], program.readout_share),
        ("offsets", COLOURS[6], program.offset_share),
        ("rest", GREY, program.rest),
    ]
    return [("instances", parts), ("program", classes)]


def program_panels(analysis: Analysis) -> list[Panel]:
    """The pictures of a page: one bar of shares, then one profile for each instance."""
    return [_shares_panel(analysis), *(_profile_panel(each) for each in profiles(analysis))]


def _shares_panel(analysis: Analysis) -> Panel:
    go = graph_objects()
    figure = new_plotly_figure(x="share of the logits", y="", height=230, showlegend=False)
    for bar, parts in reversed(shares(analysis)):
        for name, colour, share in parts:
            figure.add_trace(
                go.Bar(
                    x=[share],
                    y=[bar],
                    orientation="h",
                    marker={"color": colour, "line": {"color": "white", "width": 1}},
                    text=name.partition(":")[0] if share > 0.08 else "",
                    textposition="inside",
                    insidetextanchor="middle",
                    textangle=0,
                    hovertemplate=f"{name}: {share:.2%}<extra></extra>",
                )
            )
    figure.update_layout(barmode="relative", margin={"l": 80})
    figure.update_xaxes(tickformat=".0%")
    told = f"additivity {analysis.additivity:.2%}, program {analysis.program.explained:.2%}"
    remainder = analysis.instances.remainder
    if round(100 * remainder, 1) < 0:
        told += f"; instances overlap: their shares add up to {1 - remainder:.1%}"
    said = "; ".join(
        f"{bar}: " + ", ".join(f"{name} {share:.1%}" for name, _, share in parts)
        for bar, parts in shares(analysis)
    )
    return Panel(
        figure,
        f"what the logits are made of, by instance and by class; {told}",
        f"Shares of the logits. {said}.",
    )


def _profile_panel(profile: Profile) -> Panel:
    go = graph_objects()
    figure = new_plotly_figure(x=ALONG, y="g(a − b)", height=290, showlegend=False)
    colour, symbol = PLOTLY_FORMS[profile.kind]
    figure.add_trace(
        go.Scatter(
            x=profile.angles.round(2).tolist(),
            y=[float(f"{value:.5g}") for value in profile.values],
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 6},
            hovertemplate="%{x:.0f}°: %{y:.4g}<extra></extra>",
        )
    )
    if profile.fitted is not None:
        line = {"color": "black", "width": 1.5}
        values = [float(f"{value:.5g}") for value in profile.fitted]
        figure.add_trace(
            go.Scatter(
                x=profile.angles.round(2).tolist(),
                y=values,
                mode="lines",
                line=line,
                hoverinfo="skip",
            )
        )
    figure.update_xaxes(tickvals=TICKS)
    low = min(0.0, float(profile.values.min()))
    high = max(float(profile.values.max()), 1e-9)
    # Below zero there is room, so that the 0 of this axis does not touch the -180 of the other.
    figure.update_yaxes(range=[1.1 * low - 0.08 * (high - low), 1.15 * high])
    fit = "" if profile.fitted is None else ", and its form, the line"
    return Panel(
        figure,
        f"{profile.name}: {form_name(profile.form)}, {profile.share:.1%} of the logits; g(a − "
        f"b), the points{fit}",
        f"The profile of the instance {profile.name}, which has the form: "
        f"{form_name(profile.form)}.",
    )


def draw_program(analysis: Analysis, title: str) -> "Figure":
    """The same for print: profiles of up to eight instances over the bars of shares."""
    from matplotlib.patches import Patch

    drawn = profiles(analysis)
    columns = min(4, max(1, len(drawn)))
    rows = -(-len(drawn) // columns)
    figure = new_figure(max(6.4, 2.3 * columns), 2.1 * rows + 2.4)
    grid = figure.add_gridspec(rows + 1, columns, height_ratios=[*[2.0] * rows, 1.5])
    for place, each in enumerate(drawn):
        axes = figure.add_subplot(grid[place // columns, place % columns])
        colour, marker = FORMS[each.kind]
        axes.plot(each.angles, each.values, marker, color=colour, markersize=3)
        if each.fitted is not None:
            axes.plot(each.angles, each.fitted, color="black", linewidth=1)
        axes.set(xticks=TICKS, title=f"{each.name}\n{form_name(each.form)}")
        axes.set_ylim(
            min(0.0, 1.1 * float(each.values.min())), 1.15 * max(float(each.values.max()), 1e-9)
        )
        if place % columns == 0:
            axes.set_ylabel("g(a − b)")
        if place // columns == rows - 1:
            axes.set_xlabel("k(a − b), degrees")
    axes = figure.add_subplot(grid[rows, :])
    for place, (bar, parts) in enumerate(shares(analysis)):
        left = 0.0
        for name, colour, share in parts:
            axes.barh(-place, share, left=left, color=colour, edgecolor="white", linewidth=0.6)
            if share > 0.12:
                shade = (
                    "white"
                    if colour in (COLOURS[0], COLOURS[6], FORMS["short cycle"][0], "#5E4C8A")
                    else "black"
                )
                axes.text(
                    left + share / 2,
                    -place,
                    name.partition(":")[0],
                    ha="center",
                    va="center",
                    fontsize=7,
                    color=shade,
                )
            left += share
        axes.text(-0.01, -place, bar, ha="right", va="center", transform=axes.get_yaxis_transform())
    ends = [sum(share for _, _, share in parts) for _, parts in shares(analysis)]
    axes.set(yticks=[], xlabel="share of the logits", xlim=(0, 1.005 * max(1.0, *ends)))
    handles = [Patch(color=colour, label=name) for name, colour, _ in shares(analysis)[1][1]]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
    set_title(figure, f"{title}, its program")
    return figure
