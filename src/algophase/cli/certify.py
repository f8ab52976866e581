"""`algophase certify`: what can be proved of a network, as a file that another program checks."""

from pathlib import Path
from typing import Annotated

import typer

from algophase.cli.options import (
    Activation,
    AttentionRate,
    FileGroup,
    FileModulus,
    Format,
    OneNetwork,
    State,
)
from algophase.cli.output import check_writable, echo

EXAMPLE = "algophase certify pizza -o certificate.json"


def certify(
    path: OneNetwork,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="JSON file to write.",
            show_default="standard output",
        ),
    ] = None,
    format: Format = None,
    activation: Activation = None,
    attention_rate: AttentionRate = None,
    modulus: FileModulus = None,
    state: State = None,
    group: FileGroup = None,
) -> None:
    """Prove on which pairs a network is right, and how far it is from its program.

    Every rounding is bounded. The certificate is a JSON file; certificates/check.py, which does not
    use algophase, computes it again and says whether it is proved. Transformers of one layer,
    linear models and MLPs can be certified, on any group.
    """
    from algophase.certificates.certify import certify as certify_network
    from algophase.core.errors import InputError
    from algophase.storage import load
    from algophase.storage.files import write_atomically

    if out is not None and (out.is_dir() or (out.exists() and not _is_certificate(out))):
        raise InputError(f"{out} exists already and is not a certificate; choose another name")
    check_writable(None, out)
    network = load(
        path,
        format,
        activation,
        attention_rate=attention_rate,
        modulus=modulus,
        state=state,
        group=group,
    )
    certificate = certify_network(network)
    echo(f"{network.id}: {certificate.sentence}", err=True)
    if certificate.undecided or certificate.proved_wrong:
        counts = f"{certificate.proved_wrong:,} proved wrong, {certificate.undecided:,} undecided"
        echo(counts, err=True)
    if certificate.largest_difference and certificate.share_explained:
        largest = certificate.largest_difference[1]
        share = certificate.share_explained[0]
        echo(
            f"its program explains at least {share:.2%} of its logits; no logit differs by more "
            f"than {largest:.4g}",
            err=True,
        )
    if out is None:
        typer.echo(certificate.text, nl=False)
    else:
        write_atomically(out, certificate.text.encode())
        echo(f"wrote {out}", err=True)


def _is_certificate(path: Path) -> bool:
    """Whether a file may be overwritten: it begins as a certificate does."""
    from algophase.certificates.certificate import FORMAT

    with path.open("rb") as file:
        return FORMAT.encode() in file.read(100)
