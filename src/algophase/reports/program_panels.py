"""The program of a network in pictures for a browser: what the logits are made of, and the
profile g(d) of each instance with its form.

They draw the same numbers as `pictures.program`, and a row without weights has them too.
"""

from algophase.analysis.presentation import program_picture
from algophase.analysis.result import Analysis
from algophase.pictures.program import TICKS, Profile, ProgramPicture
from algophase.reports.plotly_style import FORMS, Panel, graph_objects, new_figure

ALONG = "k(a − b), in degrees around the circle"


def program_panels(analysis: Analysis) -> list[Panel]:
    """The pictures of a page: one bar of shares, then one profile for each instance."""
    picture = program_picture(analysis)
    captions = f"additivity {analysis.additivity:.2%}, program {analysis.program.explained:.2%}"
    profiles = [_profile_panel(profile) for profile in picture.profiles]
    return [_shares_panel(picture, captions), *profiles]


def _shares_panel(picture: ProgramPicture, numbers: str) -> Panel:
    """numbers: what the caption says of the whole."""
    go = graph_objects()
    figure = new_figure(x="share of the logits", y="", height=230, showlegend=False)
    bars = picture.bars()
    edge = {"color": "white", "width": 1}
    for bar, parts in reversed(bars.items()):
        for part in parts:
            piece = go.Bar(
                x=[part.share],
                y=[bar],
                orientation="h",
                marker={"color": part.color, "line": edge},
                text=part.short_name if part.share > 0.08 else "",
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                hovertemplate=f"{part.name}: {part.share:.2%}<extra></extra>",
            )
            figure.add_trace(piece)
    figure.update_layout(barmode="relative", margin={"l": 80})
    figure.update_xaxes(tickformat=".0%")
    if round(100 * picture.remainder, 1) < 0:
        total = 1 - picture.remainder
        numbers += f"; instances overlap: their shares add up to {total:.1%}"
    spoken = []
    for bar, parts in bars.items():
        shares = ", ".join(f"{part.name} {part.share:.1%}" for part in parts)
        spoken.append(f"{bar}: {shares}")
    return Panel(
        figure,
        f"what the logits are made of, by instance and by class; {numbers}",
        f"Shares of the logits. {'; '.join(spoken)}.",
    )


def _profile_panel(profile: Profile) -> Panel:
    go = graph_objects()
    figure = new_figure(x=ALONG, y="g(a − b)", height=290, showlegend=False)
    color, symbol = FORMS[profile.kind]
    angles = profile.angles.round(2).tolist()
    points = go.Scatter(
        x=angles,
        y=[float(f"{value:.5g}") for value in profile.values],
        mode="markers",
        marker={"color": color, "symbol": symbol, "size": 6},
        hovertemplate="%{x:.0f}°: %{y:.4g}<extra></extra>",
    )
    figure.add_trace(points)
    if profile.fitted is not None:
        curve = go.Scatter(
            x=angles,
            y=[float(f"{value:.5g}") for value in profile.fitted],
            mode="lines",
            line={"color": "black", "width": 1.5},
            hoverinfo="skip",
        )
        figure.add_trace(curve)
    figure.update_xaxes(tickvals=TICKS)
    low = min(0.0, float(profile.values.min()))
    high = max(float(profile.values.max()), 1e-9)
    # Below zero there is room, so that the 0 of this axis does not touch the -180 of the other.
    figure.update_yaxes(range=[1.1 * low - 0.08 * (high - low), 1.15 * high])
    fit = "" if profile.fitted is None else ", and its form, the line"
    return Panel(
        figure,
        f"{profile.name}: {profile.form}, {profile.share:.1%} of the logits; g(a − b), the "
        f"points{fit}",
        f"The profile of the instance {profile.name}, which has the form: {profile.form}.",
    )
