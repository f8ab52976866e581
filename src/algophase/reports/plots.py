"""The public pictures. Each returns a matplotlib figure, which a notebook shows and `savefig`
writes.

They draw a network, or a `Specimen`: a network with its analysis, so that several pictures share
one analysis.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from algophase.analysis.presentation import program_of
from algophase.analysis.result import Analysis
from algophase.analysis.specimen import Specimen
from algophase.core.errors import InputError
from algophase.core.settings import shown
from algophase.networks import Network
from algophase.pictures.to_matplotlib import draw
from algophase.reports import figures
from algophase.runs.runs import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_circles(network: Network | Specimen) -> "Figure":
    """Draw the embedded numbers 0 .. p - 1 in the plane of each of the largest circles.

    Arguments:
        network: a network, or a `Specimen`.

    Returns:
        A Matplotlib figure.

    Raises:
        InputError: the embedding has no circle.

    Example:
        >>> from algophase import handmade_pizza, plot_circles
        >>> figure = plot_circles(handmade_pizza(23, (1, 5)))
        >>> [axes.get_title() for axes in figure.axes]
        ['k = 1, 50.0% of variance', 'k = 5, 50.0% of variance']
    """
    specimen = _specimen(network)
    if not specimen.evidence:
        raise InputError(
            f"network {specimen.name} has no circles to draw: no frequency of its embedding "
            "stands out"
        )
    return draw(figures.circles_figure(specimen))


def plot_correct_logits(network: Network | Specimen) -> "Figure":
    """Draw the logit of the right answer for every pair: a Pizza shows bands, a Clock none.

    For a network on a group that is not cyclic: mean logits, with elements by cosets.

    Arguments:
        network: a network, or a `Specimen`.

    Returns:
        A Matplotlib figure with rows a - b and columns a + b; on a group, several maps.

    Example:
        >>> from algophase import handmade_clock, plot_correct_logits
        >>> plot_correct_logits(handmade_clock(23)).axes[0].get_ylabel()
        'a − b mod 23'
    """
    specimen = _specimen(network)
    return draw(figures.logits_figure(specimen))


def plot_gradients(network: Network | Specimen) -> "Figure":
    """Draw a logit's gradient by the first operand's embedding against that by the second's.

    Arguments:
        network: a network, or a `Specimen`.

    Returns:
        A Matplotlib figure; on its dashed line the two gradients are equal.

    Raises:
        InputError: the network has no embedding to take gradients by, or is on a group that is not
            cyclic.

    Example:
        >>> from algophase import handmade_pizza, plot_gradients
        >>> plot_gradients(handmade_pizza(23)).axes[0].get_xlabel()
        'gradient, first operand'
    """
    specimen = _specimen(network)
    if specimen.analysis.on_group is not None:
        raise InputError(
            f"network {specimen.name} is on {specimen.network.task.described}: gradients are drawn "
            "for addition modulo p"
        )
    if not specimen.has_code:
        raise InputError(
            f"network {specimen.name} was saved without its code: it has no gradients to draw"
        )
    return draw(figures.gradients_figure(specimen))


def plot_attention(network: Network | Specimen) -> "Figure":
    """Draw the attention of the answering position to each operand, for every pair and head.

    Arguments:
        network: a transformer, or a `Specimen` of one.

    Returns:
        A Matplotlib figure.

    Raises:
        InputError: the network has no attention.

    Example:
        >>> from algophase import RunSettings, TaskSettings, TransformerSettings
        >>> from algophase import initialize, plot_attention
        >>> untrained = initialize(RunSettings(TaskSettings(7), TransformerSettings(width=8)))
        >>> plot_attention(untrained).axes[0].get_title()
        'layer 1, head 1'
    """
    specimen = _specimen(network)
    if specimen.network.first_attention() is None:
        kind = type(specimen.given).__name__
        raise InputError(
            f"network {specimen.name} has no attention to draw: it is a {kind}, not a Transformer"
        )
    return draw(figures.attention_figure(specimen))


def plot_program(network: Network | Specimen | Analysis) -> "Figure":
    """Draw what a network computes: each instance's profile g(a - b) with its form, and shares of
    the logits.

    Arguments:
        network: a network, a `Specimen`, or an `Analysis`, whose `plot` method draws the same.

    Returns:
        A Matplotlib figure.

    Raises:
        InputError: the analysis comes from a table, which has no profiles.

    Example:
        >>> from algophase import handmade_pizza, plot_program
        >>> plot_program(handmade_pizza(23, (1, 5))).axes[0].get_ylabel()
        'g(a − b)'
    """
    if isinstance(network, Analysis):
        analysis = network
        title = f"{network.id}: {network.label}"
    else:
        specimen = _specimen(network)
        analysis = specimen.analysis
        title = specimen.title
    if not analysis.verdict.known:
        raise InputError(
            f"the analysis of {analysis.id} comes from an older table, which has no program to draw"
        )
    return draw(program_of(analysis, title))


def plot_phase_diagram(runs: Runs | str | Path) -> "Figure":
    """Draw the metrics of a population against the attention rate, one point per network, colored
    by verdict.

    Arguments:
        runs: a population, a sweep's directory, a Parquet file of runs, or the name of a shipped
            sweep.

    Returns:
        A Matplotlib figure.

    Raises:
        InputError: the runs have no attention rate, or no metrics.

    Example:
        >>> from algophase import plot_phase_diagram
        >>> plot_phase_diagram("fixed-width").axes[0].get_xlabel()
        'attention rate'
    """
    if isinstance(runs, str | Path):
        runs = Runs.read(runs)
    if not isinstance(runs, Runs):
        raise InputError(
            f"runs is {shown(runs)}; give Runs, a sweep's directory or the name of a shipped sweep"
        )
    return runs.plot()


def _specimen(network: object) -> Specimen:
    if isinstance(network, Specimen):
        return network
    if isinstance(network, Network):
        return Specimen(network)
    raise InputError(
        f"network is {shown(network)}; give a network (`wrap` makes one of a module) or a Specimen"
    )
