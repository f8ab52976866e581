"""Options that several commands take, declared once."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from algophase.cli import completion

DEVICES = "auto, cpu, cuda or cuda:N."
ENGINES = "auto, plain, stacked, grid or fused."
NETWORKS = (
    "NAME.safetensors (ours), model_<id>.pt (the authors'), other groups' .pt, .pth and "
    ".safetensors, or a shipped one: clock or pizza"
)
PRECISIONS = "float32, float64; on a GPU also tf32 and half."


class ImageFormat(StrEnum):
    png = "png"
    svg = "svg"
    pdf = "pdf"


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Activation = Annotated[
    str | None,
    typer.Option(help="Activation of a network whose file does not say: relu, gelu, square, ..."),
]
AttentionRate = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        help="Attention rate of a transformer whose file does not say.",
        show_default="1",
    ),
]
FileModulus = Annotated[
    int | None,
    typer.Option(
        "--modulus",
        help="Modulus of a network whose file does not say.",
        show_default="from its tensors",
    ),
]
FileGroup = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="GROUP",
        help="Finite group that the networks are on: S5, D59, Z2xZ30; generators '(1 2 3); (1 2)'; "
        "a file with a Cayley table (.csv, .npy, .json), or another network on it.",
        show_default="what their answers form",
    ),
]
State = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Which state to read from a file with several, by its name in the file.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Format of the files (docs/elsewhere.md).",
        show_default="detected per file",
    ),
]
Device = Annotated[
    str, typer.Option(help=f"Where to compute: {DEVICES}", autocompletion=completion.devices)
]
Engine = Annotated[
    str, typer.Option(help=f"What trains: {ENGINES}", autocompletion=completion.engines)
]
CheckAgain = Annotated[
    bool,
    typer.Option(
        "--check-again",
        help="On a GPU, check gradients also where an earlier command found them right, by the "
        "same code on the same card.",
    ),
]
EnsembleSize = Annotated[
    int | None,
    typer.Option(help="Most networks that train together.", show_default="as many as fit"),
]
FigureFormat = Annotated[ImageFormat, typer.Option(help="Format of the pictures.")]
Figures = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Also draw each network's pictures into DIR/<id>/."),
]
MinAccuracy = Annotated[
    float,
    typer.Option(
        min=0.0,
        max=1.0,
        help="A network with a lower accuracy counts as not learned; the paper requires an "
        "accuracy of 1.",
    ),
]
Modulus = Annotated[int, typer.Option("--modulus", "-p", help="Add modulo this number.")]
OneNetwork = Annotated[
    Path,
    typer.Argument(
        metavar="NETWORK", help=f"A network: {NETWORKS}.", autocompletion=completion.networks
    ),
]
Operation = Annotated[
    str | None,
    typer.Option(
        help="What the networks compute: add, subtract, multiply; auto takes what their answers "
        "follow.",
        show_default="what the file says, or add",
        autocompletion=completion.operations,
    ),
]
Precision = Annotated[
    str | None,
    typer.Option(
        help=PRECISIONS,
        show_default="half or tf32 on a GPU, else float32",
        autocompletion=completion.precisions,
    ),
]
Released = Annotated[
    Path | None,
    typer.Option(metavar="CSV", help="Compare with the authors' released table of runs."),
]
StrictDevice = Annotated[
    bool,
    typer.Option(
        "--strict-device",
        help="Stop with an error if --device is missing; otherwise the CPU takes over.",
    ),
]
