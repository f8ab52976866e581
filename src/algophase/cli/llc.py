"""`algophase llc`: the local learning coefficient of trained networks."""

import json
from pathlib import Path
from typing import Annotated

import typer

from algophase.cli import completion
from algophase.cli.options import NETWORKS, AsJson, Device, Engine, Precision
from algophase.cli.output import check_writable, echo

EXAMPLE = "algophase llc clock --figure chains.png"


def llc(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...", help=f"Networks: {NETWORKS}.", autocompletion=completion.networks
        ),
    ],
    chains: Annotated[int, typer.Option(help="Chains per network, at least 2.")] = 4,
    burn_in: Annotated[
        int, typer.Option(help="Steps left out at the beginning of each chain.")
    ] = 200,
    draws: Annotated[int, typer.Option(help="Steps kept of each chain.")] = 400,
    step: Annotated[
        float, typer.Option(help="Step size: the variance of the noise per step.")
    ] = 1e-4,
    localization: Annotated[
        float, typer.Option(help="How strongly chains are pulled back to the network.")
    ] = 1000.0,
    inverse_temperature: Annotated[
        float | None,
        typer.Option(
            metavar="BETA",
            help="Inverse temperature: the loss over n pairs has weight n BETA.",
            show_default="1 / log n",
        ),
    ] = None,
    all_pairs: Annotated[
        bool,
        typer.Option(
            "--all-pairs",
            help="Use the loss over all pairs, for a network whose training pairs are unknown.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the chains.")] = 0,
    engine: Engine = "auto",
    device: Device = "auto",
    precision: Precision = None,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Also draw the chains: PATH.png, .svg or .pdf."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate the local learning coefficient of networks: how many directions of the weights
    change the loss.

    Chains of Langevin dynamics start at the trained weights. They are drawn again with half the
    localization, half the inverse temperature and half the step. If one of these changes the
    estimate by more than 5%, or if chains drift, disagree or leave the network, the reason is
    printed in place of a number.
    """
    from algophase.analysis.hidden.learning_coefficient import Sampling, learning_coefficients
    from algophase.storage import load

    pairs = "all" if all_pairs else "training"
    sampling = Sampling(
        chains, burn_in, draws, step, localization, inverse_temperature, pairs, seed
    )
    if figure is not None:
        from algophase.pictures.style import check_format

        check_format(figure.suffix.removeprefix("."))
        check_writable(None, figure)
    coefficients = learning_coefficients(
        [load(path) for path in paths], sampling, engine=engine, device=device, precision=precision
    )
    if as_json:
        records = [coefficient.to_dict() for coefficient in coefficients]
        echo(json.dumps(records, indent=2, allow_nan=False))
    else:
        first = coefficients[0]
        sampling_text = (
            f"step {step:g}, localization {localization:g}, burn-in {burn_in:,}, {draws:,} draws"
        )
        echo(
            f"n = {first.samples:,} pairs, beta = {first.beta:.4f}, {sampling_text}; "
            f"{first.engine} engine on {first.device}"
        )
        for coefficient in coefficients:
            echo(
                f"{coefficient.id}: {coefficient}; loss {coefficient.loss:.2e}, "
                f"R-hat {coefficient.r_hat:.2f}, distance {coefficient.distance:.2f}"
            )
    if figure is not None:
        from algophase.pictures.to_matplotlib import draw
        from algophase.pictures.traces import trace_figure
        from algophase.reports.save_figure import save_figure

        drawn = draw(trace_figure([coefficient.picture() for coefficient in coefficients]))
        echo(f"figure: {save_figure(drawn, figure)}", err=True)
