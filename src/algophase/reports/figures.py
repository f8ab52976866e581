"""The pictures of one network: correct logits, circles, isolated circles, gradients, attention,
a linear network's inside.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from algophase.analysis.catalogue import EXACT, quantity
from algophase.analysis.circles.find import Circle, points_in_plane
from algophase.analysis.circles.principal import PrincipalComponents
from algophase.analysis.circles.roles import CircleEvidence
from algophase.analysis.hidden.anatomy import Readout
from algophase.analysis.logits.metrics import embedding_gradients, paper_triples
from algophase.analysis.presentation import program_picture
from algophase.analysis.result import Analysis
from algophase.analysis.specimen import Specimen
from algophase.core.fourier import steps_around
from algophase.core.palette import COLORS, MARKERS
from algophase.core.wording import floored
from algophase.networks import Network
from algophase.pictures.program import program_figure
from algophase.pictures.style import (
    DIVERGING,
    HEATMAP,
    check_format,
    house_style,
    new_figure,
    set_title,
)
from algophase.pictures.to_matplotlib import draw
from algophase.reports.save_figure import save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

MOST_LABELS = 64  # on a circle: more would overlap
LABEL_HEIGHT = 0.048  # of a label, as a share of the circle's diameter in a panel of `draw_circles`
MOST_CIRCLES = 8  # a picture of more than eight panels is not read
PER_ROW = 4
GRADIENT_COMPONENTS = 6


def drawn_circles(specimen: Specimen) -> tuple[CircleEvidence, ...]:
    """The largest circles of a network: as many as a picture has room for."""
    return specimen.evidence[:MOST_CIRCLES]


def draw_all(
    network: Network, analysis: Analysis, directory: str | Path, image_format: str = "png"
) -> list[Path]:
    """Write every picture that applies to this network into `directory` and return the paths."""
    check_format(image_format)
    specimen = Specimen(network, analysis)
    pictures: list[tuple[str, Callable[[Specimen], Figure]]] = [
        ("correct_logits", draw_correct_logits),
    ]
    if specimen.has_code:
        pictures.append(("gradients", draw_gradients))
    if analysis.verdict.known:
        pictures.append(
            (
                "program",
                lambda specimen: draw(
                    program_figure(program_picture(specimen.analysis), specimen.title)
                ),
            )
        )
    if specimen.evidence:
        pictures.append(("circles", draw_circles))
    if specimen.evidence and specimen.has_code:
        pictures.append(("isolated_logits", draw_isolated_logits))
    if specimen.network.first_attention() is not None:
        pictures.append(("attention", draw_attention))
    if analysis.anatomy is not None and analysis.anatomy.pizzas:
        pictures.append(("anatomy", draw_anatomy))
    paths = []
    with house_style():
        for name, picture in pictures:
            paths.append(save_figure(picture(specimen), Path(directory) / f"{name}.{image_format}"))
    return paths


def _panels(count: int, panel: float, extra_height: float = 0.0) -> tuple["Figure", list["Axes"]]:
    """A figure of `count` square panels, at most PER_ROW in a row."""
    columns = min(count, PER_ROW)
    rows = math.ceil(count / columns)
    figure = new_figure(max(3.4, panel * columns), panel * rows + 0.5 + extra_height)
    axes = figure.subplots(rows, columns, squeeze=False).flatten().tolist()
    for unused in axes[count:]:
        unused.remove()
    return figure, axes[:count]


def heatmap(
    axes: "Axes", matrix: Tensor, colors: str = HEATMAP, limit: float | None = None
) -> "AxesImage":
    low = None if limit is None else -limit
    values = matrix.numpy()
    return axes.imshow(
        values,
        cmap=colors,
        vmin=low,
        vmax=limit,
        origin="lower",
        interpolation="nearest",
        aspect="auto",
    )


def draw_correct_logits(specimen: Specimen) -> "Figure":
    """Rows a - b, columns a + b (figure 3): a Pizza shows horizontal bands, a Clock none."""
    figure = new_figure(4.2, 3.6)
    axes = figure.subplots()
    p = specimen.modulus
    image = logit_map(axes, specimen.whole.logits)
    axes.set(
        xlabel=f"a + b mod {p}", ylabel=f"a − b mod {p}", title=f"{specimen.title}\ncorrect logits"
    )
    figure.colorbar(image, ax=axes, label="correct logit")
    return figure


def logit_cells(matrix: Tensor) -> tuple[Tensor, tuple[float, float] | None]:
    """What a logit map draws of logits by a - b and a + b: its cells, and the ends of its colors
    where they must be set.

    At even p every second cell of a row holds no pair; the others are drawn twice as wide instead
    of a chequered picture: (p, p / 2). Colors do not magnify rounding: a matrix that is constant
    to nine digits is drawn in one color.
    """
    p = len(matrix)
    values = matrix if p % 2 else matrix[~matrix.isnan()].view(p, p // 2)
    middle = values.mean().item()
    spread = (values.max() - values.min()).item()
    constant = spread <= 1e-9 * max(1.0, values.abs().max().item())
    return values, (middle - 0.5, middle + 0.5) if constant else None


def logit_map(axes: "Axes", matrix: Tensor) -> "AxesImage":
    """Logits by a - b and a + b, whatever the order of rows and columns."""
    p = len(matrix)
    values, ends = logit_cells(matrix)
    image = heatmap(axes, values)
    image.set_extent((-0.5, p - 0.5, -0.5, p - 0.5))
    if ends is not None:
        image.set_clim(*ends)
    return image


def _times(frequency: int, term: str) -> str:
    return term if frequency == 1 else f"{frequency}({term})"


def circle_order(modulus: int, frequency: int) -> Tensor:
    """Residues in the order in which they lie on a circle: those with k d = 0, 1, 2, ... (mod
    p).
    """
    return torch.from_numpy(steps_around(modulus, frequency).argsort(kind="stable"))


def order_frequency(item: CircleEvidence) -> int:
    """The circle in whose order its logits show a pattern: an accompanying circle answers on the
    circle of its Pizza.
    """
    return item.accompanies or item.circle.frequency


def draw_isolated_logits(specimen: Specimen) -> "Figure":
    """Correct logits with one circle kept, rows and columns in the order of the circle (figures
    4, 5 and 12).
    """
    p = specimen.modulus
    figure, panels = _panels(len(drawn_circles(specimen)), 2.3)
    for axes, item in zip(panels, drawn_circles(specimen), strict=True):
        answer = specimen.only([item])
        k = order_frequency(item)
        order = circle_order(p, k)
        image = logit_map(axes, answer.logits[order][:, order])
        axes.set_title(
            f"{_circle_title(item.circle)}\naccuracy alone {floored(answer.accuracy, 1)}"
        )
        if math.gcd(k, p) == 1:
            axes.set(xlabel=f"{_times(k, 'a + b')} mod {p}", ylabel=f"{_times(k, 'a − b')} mod {p}")
        else:  # several residues share a place on the circle: positions are an order, not values
            axes.set(
                xlabel=f"a + b, by {k}(a + b) mod {p}",
                ylabel=f"a − b, by {k}(a − b) mod {p}",
                xticks=[],
                yticks=[],
            )
        figure.colorbar(image, ax=axes)
    set_title(figure, f"{specimen.title}, correct logits after isolating each circle")
    return figure


def _circle_title(circle: Circle) -> str:
    if circle.method == "components":
        return f"components {circle.components[0]}, {circle.components[1]}; k = {circle.frequency}"
    return f"frequency k = {circle.frequency}"


def draw_circles(specimen: Specimen) -> "Figure":
    """The embedding in the plane of each circle, points labeled with their tokens (every second
    one and so on if many).
    """
    separate = len(specimen.components.coordinates) > 1
    figure, panels = _panels(
        len(drawn_circles(specimen)), 2.6, extra_height=0.3 if separate else 0.0
    )
    for axes, circle in zip(panels, (item.circle for item in drawn_circles(specimen)), strict=True):
        draw_circle(axes, specimen.components, circle)
        axes.set_title(f"k = {circle.frequency}, {circle.variance_share:.1%} of variance")
    if separate:
        operand_legend(figure)
    set_title(figure, f"{specimen.title}, circles in the embedding")
    return figure


def draw_circle(
    axes: "Axes", components: PrincipalComponents, circle: Circle, most_labels: int = MOST_LABELS
) -> None:
    """The tokens in the plane of a circle; a small picture has room for fewer labels."""
    draw_plane(
        axes, points_in_plane(components, circle), circle.frequency, axis_names(circle), most_labels
    )


def draw_plane(
    axes: "Axes",
    tables: Tensor,
    frequency: int,
    names: tuple[str, str],
    most_labels: int = MOST_LABELS,
) -> None:
    """Tokens at their points (tables, p, 2), one color per operand table."""
    for table, points in enumerate(tables):
        # Two operands' labels keep out of each other's way: the first just inside the circle, the
        # second just outside.
        shift = 1.0 if len(tables) == 1 else (0.8, 1.2)[table]
        draw_tokens(axes, points, frequency, COLORS[table], shift, most_labels)
    axes.set(xlabel=names[0], ylabel=names[1])


def axis_names(circle: Circle) -> tuple[str, str]:
    if circle.method != "components":
        return "axis 1", "axis 2"
    first, second = circle.components[:2]
    return f"component {first}", f"component {second}"


def operand_legend(figure: "Figure") -> None:
    handles = [figure.axes[0].scatter([], [], color=COLORS[table], s=16) for table in (0, 1)]
    figure.legend(handles, ["first operand", "second operand"], loc="outside lower center", ncols=2)


def draw_tokens(
    axes: "Axes",
    points: Tensor,
    frequency: int,
    color: str = COLORS[0],
    shift: float = 1.0,
    most_labels: int = MOST_LABELS,
) -> None:
    """Tokens at their points (p, 2) on a circle, labeled; shift: the labels' distance from the
    middle, as a multiple.

    Neighbors' labels stand on two rings. Where points lie so close that two labels would still
    overlap, one is left out.
    """
    p = len(points)
    axes.scatter(points[:, 0], points[:, 1], s=5, color=color, alpha=0.5, linewidths=0)
    # A label's size, as a share of the picture: one of two digits is about a fifth wider than high.
    height = LABEL_HEIGHT * MOST_LABELS / most_labels * 2 * points.abs().max().item()
    taken = list[tuple[float, float]]()
    for rank, token in enumerate(
        circle_order(p, frequency)[:: math.ceil(p / most_labels)].tolist()
    ):
        x, y = ((shift + (0.1 if rank % 2 else -0.1)) * points[token]).tolist()
        if any(abs(x - left) < 1.2 * height and abs(y - up) < height for left, up in taken):
            continue
        taken.append((x, y))
        axes.annotate(
            str(token),
            (x, y),
            fontsize=6 if shift >= 1 else 5.5,
            ha="center",
            va="center",
            color=color,
        )
    axes.set_aspect("equal", adjustable="datalim")
    axes.update_datalim(
        ((max(shift, 1.0) + 0.18) * points).tolist()
    )  # labels reach further than points
    axes.margins(0.02)


def draw_gradients(specimen: Specimen) -> "Figure":
    """Gradients of a logit on the first six principal components, first operand against second
    (figure 2).
    """
    triples = paper_triples(specimen.modulus)[:3]
    gradients = embedding_gradients(specimen.network, triples)
    directions = specimen.components.directions[:GRADIENT_COMPONENTS]
    first, second = (gradient @ directions.T for gradient in gradients)
    figure, panels = _panels(len(triples), 2.4, extra_height=0.4)
    for axes, triple, x, y in zip(panels, triples.tolist(), first, second, strict=True):
        gradient_panel(axes, x, y)
        axes.set_title("(a, b, c) = ({}, {}, {})".format(*triple))
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    symmetricity = quantity(EXACT)
    measured = symmetricity.text(specimen.analysis.metrics[EXACT])
    set_title(figure, f"{specimen.title}, {symmetricity.family} {measured}")
    return figure


def gradient_panel(axes: "Axes", first: Tensor, second: Tensor) -> None:
    """Gradients on each component, first operand against second; on the dashed line they are
    equal.
    """
    reach = 1.15 * max(first.abs().max().item(), second.abs().max().item(), 1e-12)
    axes.plot([-reach, reach], [-reach, reach], linestyle="--", color="0.6", linewidth=1, zorder=0)
    for index, (x, y) in enumerate(zip(first, second, strict=True)):
        color = COLORS[index]
        marker = MARKERS[index]
        label = f"component {index + 1}"
        axes.scatter(
            x, y, s=34, c=color, marker=marker, label=label, edgecolors="white", linewidths=0.5
        )
    axes.set(
        xlim=(-reach, reach),
        ylim=(-reach, reach),
        xlabel="gradient, first operand",
        ylabel="gradient, second operand",
    )
    axes.set_aspect("equal")


@dataclass(frozen=True)
class AttentionPattern:
    """weights: what the position that answers takes from an operand, for each pair (a, b), with
    the attention rate applied.
    """

    layer: int
    head: int
    operand: Literal["a", "b"]
    weights: Tensor


def attention_patterns(specimen: Specimen) -> list[AttentionPattern]:
    """Head by head, on each operand. With two positions the weights on a and b add up to a
    constant: only a's are given.
    """
    network = specimen.network
    p = specimen.modulus
    _, cache = network.run_with_cache()
    by_layer = [value for name, value in cache.items() if name.endswith("attn.hook_pattern")]
    operands: tuple[Literal["a", "b"], ...] = ("a", "b") if network.task.equals_sign else ("a",)
    patterns = []
    for layer, whole in enumerate(by_layer, start=1):
        of_pairs = whole.detach().unflatten(0, (p, p))  # (a, b, head, to, from)
        for head, of_head in enumerate(of_pairs.unbind(2), start=1):
            for position, operand in enumerate(operands):
                weights = of_head[:, :, -1, position]
                patterns.append(AttentionPattern(layer, head, operand, weights))
    return patterns


def attention_rate(network: Network) -> float:
    """NaN for a network that has none."""
    return float(network.settings.to_dict().get("attention_rate", math.nan))


def attention_ends(network: Network) -> tuple[float, float]:
    """The ends of an attention picture's colors. Constant attention is 1 everywhere: it is
    shown on a whole scale.
    """
    rate = attention_rate(network)
    return (1 - rate if rate > 0 else 0.0), 1.0


def draw_attention(specimen: Specimen) -> "Figure":
    """What the position that answers takes from each operand, head by head, after the attention
    rate is applied.
    """
    network = specimen.network
    patterns = attention_patterns(specimen)
    rate = attention_rate(network)
    layers = patterns[-1].layer
    heads = patterns[-1].head
    operands = sorted({pattern.operand for pattern in patterns})
    rows = [(layer, operand) for layer in range(1, layers + 1) for operand in operands]
    figure = new_figure(1.9 * heads + 0.8, 1.9 * len(rows) + 0.7)
    panels = figure.subplots(len(rows), heads, squeeze=False)
    image = None
    for pattern in patterns:
        axes = panels[rows.index((pattern.layer, pattern.operand)), pattern.head - 1]
        image = heatmap(axes, pattern.weights)
        image.set_clim(*attention_ends(network))
        on = f", on {pattern.operand}" if len(operands) > 1 else ""
        axes.set_title(f"layer {pattern.layer}, head {pattern.head}{on}")
        axes.set(xlabel="b", ylabel="a" if pattern.head == 1 else None)
    assert image is not None
    beside = "" if len(operands) > 1 else f"\n(on b: {2 - rate:.3g} less that)"
    figure.colorbar(image, ax=panels, label="weight on " + " or ".join(operands) + beside)
    set_title(figure, f"{specimen.title}, attention of the last position (rate {rate:g})")
    return figure


def draw_anatomy(specimen: Specimen) -> "Figure":
    """Aligned W_1 and W_2, hidden units grouped by their pizza, and the readouts against A
    cos(2t + phi) (appendix L).
    """
    anatomy = specimen.analysis.anatomy
    assert anatomy is not None
    pizzas = anatomy.pizzas[:PER_ROW]
    order = list(dict.fromkeys(row for pizza in pizzas for row in pizza.rows))
    w1 = anatomy.aligned_w1[order][:, :16].T
    w2 = anatomy.aligned_w2[:16][:, order]
    figure = new_figure(8.0, 6.0)
    grid = figure.add_gridspec(3, len(pizzas))
    draw_aligned(figure, figure.add_subplot(grid[0, :]), w1, "embedding", "aligned $W_1$")
    draw_aligned(figure, figure.add_subplot(grid[1, :]), w2, "unembedding", "aligned $W_2$")
    for column, pizza in enumerate(pizzas):
        axes = figure.add_subplot(grid[2, column])
        readout = pizza.readouts[0]
        draw_readout(axes, readout)
        axes.set_title(f"k = {pizza.frequency}, {len(pizza.rows)} units")
        axes.set_ylim(-1.2 * readout.amplitude, 2.2 * readout.amplitude)
        axes.legend(loc="upper center", frameon=False)
    extent = (
        f" ({len(pizzas)} of {len(anatomy.pizzas)} pizzas)"
        if len(pizzas) < len(anatomy.pizzas)
        else ""
    )
    set_title(figure, f"{specimen.title}, inside the linear network{extent}")
    return figure


def draw_aligned(figure: "Figure", axes: "Axes", matrix: Tensor, side: str, name: str) -> None:
    """Aligned weights (components, hidden units) of one side of a linear network."""
    image = heatmap(axes, matrix, DIVERGING, matrix.abs().quantile(0.995).item())
    figure.colorbar(image, ax=axes)
    axes.set(
        xlabel="hidden unit, grouped by the circle it reads",
        ylabel=f"{side}\ncomponent",
        title=name,
    )
    ticks = range(0, len(matrix), 4)
    axes.set_yticks(list(ticks), [str(tick + 1) for tick in ticks])


def draw_readout(axes: "Axes", readout: Readout) -> None:
    """f(cos t, sin t) and its best A cos(2t + phi) over a whole turn."""
    fit = readout.amplitude * torch.cos(2 * readout.angles + readout.phase)
    axes.plot(readout.angles, readout.values, color=COLORS[0], label="f(cos t, sin t)")
    sign = "+" if readout.phase >= 0 else "−"
    label = f"{readout.amplitude:.1f} cos(2t {sign} {abs(readout.phase):.2f})"
    axes.plot(readout.angles, fit, color=COLORS[5], linestyle="--", label=label)
    axes.set_xlabel("t")
    axes.set_xticks([0, math.pi, 2 * math.pi], ["0", "π", "2π"])
