"""`algophase export`: networks for other tools, as activations with their known features."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from algophase.cli import completion
from algophase.cli.options import (
    NETWORKS,
    Activation,
    AttentionRate,
    FileGroup,
    FileModulus,
    Format,
    MinAccuracy,
    State,
)
from algophase.cli.output import CommandBar, check_writable, echo
from algophase.core.errors import InputError
from algophase.core.wording import counted

if TYPE_CHECKING:
    from algophase.interop.ground_truth import KnownFeatures
    from algophase.storage.analyses import Analyzed, Unusable

EXAMPLE = "algophase export clock pizza --for sae --out features/"


class Purpose(StrEnum):
    sae = "sae"


class Where(StrEnum):
    stream = "stream"
    reads = "reads"
    hidden = "hidden"
    embedding = "embedding"


def export(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help=f"Networks: {NETWORKS}, or directories of them.",
            autocompletion=completion.networks,
        ),
    ],
    purpose: Annotated[
        Purpose,
        typer.Option(
            "--for", help="sae: activations with their known features, for sparse autoencoders."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="DIR", help="New directory for safetensors and features.json."
        ),
    ] = Path("features"),
    at: Annotated[
        Where,
        typer.Option(
            help="Activations to write: the residual stream that the MLP reads, what hidden units "
            "read, what they give, or the embedding."
        ),
    ] = Where.stream,
    min_accuracy: MinAccuracy = 1.0,
    format: Format = None,
    activation: Activation = None,
    attention_rate: AttentionRate = None,
    modulus: FileModulus = None,
    state: State = None,
    group: FileGroup = None,
) -> None:
    """Write networks' activations on all pairs, with the features that are known to be in them.

    Known features are the planes of the circles (on other groups, of the irreducible
    representations) that the network computes with. dictionary_score rates any dictionary by them;
    see docs/ground-truth.md. A network without a known algorithm (not learned, lookup, other) is
    left out and named. An unusable file prints a one-line error; the exit code is then 1.
    """
    from algophase.analysis.verdict.thresholds import Thresholds
    from algophase.interop.feature_files import export_features
    from algophase.storage.analyses import analyze_files, network_files
    from algophase.storage.formats.contents import Reading

    if out.exists():
        raise InputError(f"{out} exists already; choose a new directory with --out")
    check_writable(out)
    files, problems = network_files(paths)
    reading = Reading(format, activation, attention_rate, modulus, state, group)
    thresholds = Thresholds(accuracy=min_accuracy)
    tally = _Tally()
    with CommandBar() as bar:
        for problem in problems:
            bar.complain(problem)
        analyzed = analyze_files(files, thresholds, bar, reading)
        export_features(_features_of(analyzed, at.value, bar, tally), out)
    features = f"{tally.features:,} known features of {counted(tally.networks, 'network')}"
    echo(f"wrote {features} to {out}")
    if tally.left_out:
        echo(f"{counted(tally.left_out, 'network')} without a known algorithm left out", err=True)
    if problems or tally.unusable:
        raise typer.Exit(1)


class _Tally:
    """What became of the networks."""

    def __init__(self) -> None:
        self.networks = self.features = self.left_out = self.unusable = 0


def _features_of(
    analyzed: "Iterable[Analyzed[Path] | Unusable[Path]]", at: str, bar: CommandBar, tally: _Tally
) -> "Iterator[KnownFeatures]":
    """Of each network with a known algorithm; why there are none of the others is said."""
    from algophase.interop.ground_truth import has_known_algorithm, known_features
    from algophase.storage.analyses import Unusable

    for outcome in analyzed:
        if isinstance(outcome, Unusable):
            bar.complain(outcome.problem)
            tally.unusable += 1
            continue
        if not has_known_algorithm(outcome.analysis):
            bar.say(f"{outcome.name}: left out: {outcome.analysis.headline}")
            tally.left_out += 1
            continue
        try:
            truth = known_features(outcome.network, at, analysis=outcome.analysis)
        except InputError as error:
            bar.complain(f"{outcome.source}: {error}")
            tally.unusable += 1
            continue
        tally.networks += 1
        tally.features += len(truth.features)
        yield truth
