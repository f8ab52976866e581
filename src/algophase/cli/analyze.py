"""`algophase analyze`: which algorithm networks learned, with the evidence."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from algophase.cli.options import NETWORKS, Activation, AsJson, FigureFormat, Figures, Format, ImageFormat, MinAccuracy
from algophase.cli.output import AnalysisBar, Drawer, complain, echo
from algophase.errors import InputError

EXAMPLE = "algophase analyze networks/ --figures pictures/"


def analyze(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help=f"Networks: {NETWORKS}, or directories of them.",
        ),
    ],
    as_json: AsJson = False,
    figures: Figures = None,
    figure_format: FigureFormat = ImageFormat.png,
    min_accuracy: MinAccuracy = 1.0,
    format: Format = None,
    activation: Activation = None,
    hidden: Annotated[
        bool,
        typer.Option(
            "--hidden",
            help="Also look inside the first hidden layer: shapes, phases, progress, and the network without products.",
        ),
    ] = False,
    betti: Annotated[
        bool,
        typer.Option(
            "--betti",
            help="With --hidden, also Betti numbers of the shapes; some seconds per network. Needs algophase\\[topology].",
        ),
    ] = False,
) -> None:
    """Say which algorithm networks learned, with the evidence. With --json, one object per network.

    An unusable file prints a one-line error and the other files are still analysed; the exit code is then 1.
    After Ctrl-C the list of --json holds what is finished; the exit code is then 130.
    """
    from algophase.analysis.hidden_summary import look_inside
    from algophase.analysis.summary import summary
    from algophase.analysis.thresholds import Thresholds
    from algophase.analysis.topology import import_ripser
    from algophase.storage import id_of
    from algophase.storage.analyses import Unusable, analyze_files, names, network_files

    if betti and not hidden:
        raise InputError("--betti goes with --hidden, whose shapes it counts the holes of")
    if betti:
        import_ripser()  # say what is missing before anything is computed
    files, problems = network_files(paths)
    for problem in problems:
        complain(problem)
    failed, records, draw = len(problems), list[dict[str, Any]](), Drawer(figures, figure_format)
    called = dict(zip(files, names([id_of(file) for file in files], files), strict=True))
    try:
        with AnalysisBar() as bar:
            for found in analyze_files(files, Thresholds(accuracy=min_accuracy), bar, format, activation):
                if isinstance(found, Unusable):
                    bar.complain(found.problem)
                    failed += 1
                    continue
                inside = look_inside(found.network, betti=betti) if hidden else None
                records.append({"id": found.analysis.id, "path": str(found.source), **found.analysis.to_dict()})
                if inside is not None:
                    records[-1]["hidden_layer"] = inside.to_dict()
                if not as_json:
                    bar.console.file.flush()
                    lines = [summary(found.analysis, called[found.source]), *([] if inside is None else inside.lines())]
                    echo("\n".join(lines) + "\n")
                try:
                    draw(found.network, found.analysis)
                except InputError as error:
                    bar.complain(error)
                    failed += 1
    finally:  # what is finished, after Ctrl-C too
        if as_json:
            echo(json.dumps(records, indent=2))
    if failed:
        raise typer.Exit(1)
