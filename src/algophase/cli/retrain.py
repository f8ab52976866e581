"""`algophase retrain`: train any run of a sweep again from its settings, or compare a sample of
runs with the table.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from algophase.cli.options import DEVICES, ENGINES, PRECISIONS, StrictDevice
from algophase.cli.output import CommandBar, echo
from algophase.core.errors import InputError
from algophase.core.interrupts import Stopped
from algophase.core.wording import counted

if TYPE_CHECKING:
    from algophase.sweeps.difference import Difference
    from algophase.sweeps.retrain import Restored, Sample

EXAMPLE = "algophase retrain sweeps/fixed-width 17"
LONGEST = 5  # runs of a sample that are listed
LISTED = ("validation_accuracy", "circularity", "gradient_symmetricity", "distance_irrelevance")


def retrain(
    path: Annotated[Path, typer.Argument(metavar="DIR", help="The sweep's directory.")],
    name: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="A run's index, its id, or the beginning of its id."),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="In place of RUN: train N runs drawn at random, compare each with its row, "
            "save nothing.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed draws another sample.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Directory to write the network to.",
            show_default="DIR/networks, or DIR/retrained for another network",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Train even if the network is already there.")
    ] = False,
    engine: Annotated[
        str | None, typer.Option(help=ENGINES, show_default="the table's, where it runs")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help=DEVICES, show_default="the table's, where there is one")
    ] = None,
    strict_device: StrictDevice = False,
    precision: Annotated[
        str | None, typer.Option(help=PRECISIONS, show_default="the table's")
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Exit with 1 unless every number is bit-identical.")
    ] = False,
) -> None:
    """Train one run of a sweep again, save its network, and compare it with the one in the table.

    It is the same to the bit (by the digest of its weights in the table), the same up to rounding
    (labels equal, numbers within 1e-4 of their size), or another network. Exits with 1 if it is
    another network. With --sample, train several and count them: algophase retrain
    sweeps/fixed-width --sample 16

    Trained alone, a network of the fused engine is bit-identical to one from an ensemble padded to
    the same width. With the other engines rounding depends on what trains together, and on every
    engine it depends on the machine. Training amplifies rounding. Rows of an engine that is gone
    (fused in tf32) are trained by today's engines, on a GPU in half.
    """
    from algophase.sweeps.retrain import retrain as retrain_run
    from algophase.sweeps.retrain import retrain_sample

    if (name is None) == (sample is None):
        raise InputError(
            "give either a RUN or --sample N"
            + ("" if name is None else f", not both: RUN is {name!r}")
        )
    if sample is not None and (out is not None or force):
        raise InputError(
            "--out and --force need a RUN; a sample is compared with its rows, not saved"
        )
    how: dict[str, Any] = {
        "engine": engine,
        "device": device,
        "precision": precision,
        "strict_device": strict_device,
    }
    with CommandBar() as bar:
        try:
            if sample is not None:
                sampled = retrain_sample(path, sample, seed=seed, **how, progress=bar)
            elif name is not None:
                restored = retrain_run(path, name, out, force=force, **how, progress=bar)
        except Stopped:
            bar.say("interrupted: nothing was saved")
            raise typer.Exit(130) from None
    if sample is not None:
        _count(sampled)
        differences = list(sampled.differences.values())
    else:
        _conclude(restored)
        differences = [] if restored.made is None else [restored.made.difference]
    all_same = all(difference.same for difference in differences)
    all_identical = all(difference.outcome == "identical" for difference in differences)
    if not all_same or (exact and not all_identical):
        raise typer.Exit(1)


def _count(sampled: "Sample") -> None:
    count = len(sampled.differences)
    to_the_bit = f"{sampled.to_the_bit} the same to the bit"
    if sampled.to_the_bit:
        to_the_bit += f" ({sampled.identical} with an identical analysis)"
    up_to_rounding = f"{sampled.same - sampled.to_the_bit} the same up to rounding"
    others = f"{count - sampled.same} another network"
    drawn = f"{counted(count, 'run')} drawn from {sampled.runs:,}"
    echo(f"{drawn}: {to_the_bit}, {up_to_rounding}, {others}")
    differing = {
        index: difference
        for index, difference in sampled.differences.items()
        if difference.outcome != "identical"
    }
    # Other networks come first: rounding explains the rest.
    by_outcome = sorted(differing.items(), key=lambda item: item[1].same)
    for index, difference in by_outcome[:LONGEST]:
        lines = [f"run {index}: {difference}", *_examples(difference)]
        echo("\n".join(lines))
    if len(differing) > LONGEST:
        echo(f"and {len(differing) - LONGEST} more")


def _conclude(restored: "Restored") -> None:
    run = f"run {restored.index}, {restored.run_id}"
    retrained = restored.made
    if retrained is None:
        echo(f"{run}: its network already exists, {restored.path} (--force trains it again)")
        if restored.copy is not None:
            echo(f"a copy is in {restored.copy}")
        return
    if retrained.analysis is None:
        epoch = retrained.trained.diverged_at
        reason = "cannot be analyzed" if epoch is None else f"diverged at epoch {epoch}"
        echo(f"{run}, {reason}")
    else:
        echo(f"{retrained.analysis}\n")
    difference = retrained.difference
    lines = [str(difference), *_examples(difference)]
    echo("\n".join(lines))
    if not difference.to_the_bit and restored.as_before:
        echo(
            "  (in the sweep it was trained in an ensemble, where rounding can differ from a "
            "network alone)"
        )
    echo(
        "there is no network to save"
        if restored.path is None
        else f"the network is in {restored.path}"
    )


def _examples(difference: "Difference") -> list[str]:
    """Some numbers that differ, one per line."""
    names = [name for name in LISTED if name in difference.differing]
    lines = []
    for name in names or list(difference.differing)[:3]:
        retrained, recorded = difference.differing[name]
        lines.append(f"  {name}: {retrained} here, {recorded} in the table")
    return lines
