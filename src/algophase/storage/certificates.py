"""The certificate that lies beside a network: what a report and a card say of it in one line."""

import json
from pathlib import Path

from algophase.certificates.certificate import FORMAT, digest_fits, sentence_of
from algophase.certificates.forms import weights_sha256
from algophase.networks import Network

SAYS = "its certificate says"
LARGEST = 64 << 20  # bytes of a certificate that is read


def certificate_note(path: Path, network: Network) -> tuple[str, ...]:
    """What the certificate of a network says, NAME.certificate.json or certificate.json beside it;
    nothing where there is none, or where it is of other weights or was changed.
    """
    for beside in (path.with_suffix(".certificate.json"), path.with_name("certificate.json")):
        if not beside.is_file() or beside.stat().st_size > LARGEST:
            continue
        try:
            text = beside.read_text(encoding="utf-8")
            entries = json.loads(text)
            if entries["format"] != FORMAT or not digest_fits(text, entries["digest"]):
                continue
            if entries["network"]["weights_sha256"] != weights_sha256(network):
                continue
            words = sentence_of(entries["proved_right"], entries["pairs"], entries["compact"])
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue
        return (f"{SAYS}: {words} (certificates/check.py checks it)",)
    return ()
