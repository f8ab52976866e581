"""The guard of the rebuilding: what the commands print today must be what they print tomorrow.

    python tests/guard/guard.py --write    # keep what this commit prints
    python tests/guard/guard.py            # compare with what is kept
    python tests/guard/guard.py --paper    # also `algophase paper all`, about five minutes

Numbers may move by rounding (1e-9 of their size); words, labels and the order of everything may not.
It works through the command line alone, so that it does not care how the source is arranged.
"""

import argparse
import csv
import gzip
import io
import json
import math
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RELEASED = ROOT.parent / "shared" / "paper" / "released"
EXPECTED = Path(__file__).with_name("expected.json.gz")
CLAIMS = ROOT / "docs" / "reproduction" / "claims.csv"
PAGE = ROOT / "docs" / "reproduction.md"

RELATIVE = 1e-9
# Shares and correlations that are zero in theory are a few roundings in practice.
ABSOLUTE = 1e-10
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")


def exhibits() -> dict[str, Path]:
    """The networks of the gallery that stand for the paper's, and the authors' own where they are at hand."""
    gallery = ROOT / "gallery"
    described = tomllib.loads((gallery / "exhibits.toml").read_text())
    networks: dict[str, Path] = {}
    for entry in described.values():
        paths = entry.get("paths", [entry["path"]] if "path" in entry else [])
        for path in paths:
            networks[path] = gallery / path
    for path in sorted(RELEASED.glob("model_*.pt")):
        networks[f"released/{path.name}"] = path
    return networks


def distilled(networks: dict[str, Path]) -> list[str]:
    """Four of them, of different architectures."""
    return [name for name in networks if "epoch" not in name][:4]


def algophase(*arguments: object) -> str:
    """What the command prints."""
    command = [sys.executable, "-m", "algophase", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def measure() -> dict[str, Any]:
    """What the commands print now, by the name of each network."""
    networks = exhibits()
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "rows.csv"
        printed = algophase("analyze", *networks.values(), "--json", "--hidden", "--table", table)
        rows = list(csv.DictReader(io.StringIO(table.read_text())))
    analyses = json.loads(printed)
    for record, row in zip(analyses, rows, strict=True):
        for changing in ("path", "file"):  # where the checkout is
            record.pop(changing, None)
            row.pop(changing, None)
    programs = {name: algophase("distill", networks[name]) for name in distilled(networks)}
    return {
        "analyses": dict(zip(networks, analyses, strict=True)),
        "rows": dict(zip(networks, rows, strict=True)),
        "programs": programs,
    }


def differences(expected: Any, measured: Any, where: str = "") -> Iterator[str]:
    """One line for everything that is not the same."""
    if isinstance(expected, dict) and isinstance(measured, dict):
        if list(expected) != list(measured):
            missing = [name for name in expected if name not in measured]
            added = [name for name in measured if name not in expected]
            yield f"{where}: missing {missing}, added {added}"
        for name in expected:
            if name in measured:
                yield from differences(expected[name], measured[name], f"{where}/{name}")
    elif isinstance(expected, list) and isinstance(measured, list):
        if len(expected) != len(measured):
            yield f"{where}: {len(measured)} entries instead of {len(expected)}"
        for index, (one, other) in enumerate(zip(expected, measured, strict=False)):
            yield from differences(one, other, f"{where}/{index}")
    elif isinstance(expected, str) and isinstance(measured, str):
        if not same_text(expected, measured):
            yield f"{where}: {measured[:200]!r} instead of {expected[:200]!r}"
    elif not same_number(expected, measured):
        yield f"{where}: {measured!r} instead of {expected!r}"


def same_number(expected: Any, measured: Any) -> bool:
    if isinstance(expected, float) and isinstance(measured, float):
        return math.isclose(expected, measured, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return bool(expected == measured)


def same_text(expected: str, measured: str) -> bool:
    """The same words, and numbers in them that are the same up to rounding."""
    if NUMBER.sub("#", expected) != NUMBER.sub("#", measured):
        return False
    pairs = zip(NUMBER.findall(expected), NUMBER.findall(measured), strict=True)
    return all(same_number(float(one), float(other)) for one, other in pairs)


def released_only(name: str) -> bool:
    return name.startswith("released/")


def compare() -> list[str]:
    """What differs from what is kept; the authors' networks are left out where they are not at hand."""
    expected = json.loads(gzip.decompress(EXPECTED.read_bytes()))
    if not RELEASED.is_dir():
        expected = {
            part: {name: value for name, value in entries.items() if not released_only(name)}
            for part, entries in expected.items()
        }
    return list(differences(expected, measure()))


def compare_paper() -> list[str]:
    """`paper all` writes the page and the claims that are committed, byte for byte."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "reproduction"
        page = out / "reproduction.md"
        algophase("paper", "all", "--released", RELEASED, "--out", out, "--page", page)
        found = []
        if (out / "claims.csv").read_bytes() != CLAIMS.read_bytes():
            found.append(f"{CLAIMS} is not what `paper all` writes")
        if page_body(page.read_text()) != page_body(PAGE.read_text()):
            found.append(f"{PAGE} is not what `paper all` writes")
        return found


def page_body(text: str) -> str:
    """Without the line that gives the command, whose paths differ, and with pictures by their names."""
    lines = [line for line in text.splitlines() if not line.startswith("Written by")]
    return re.sub(r"\]\([^)]*/", "](", "\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="keep what this commit prints")
    parser.add_argument("--paper", action="store_true", help="also compare `paper all`")
    options = parser.parse_args()
    if options.write:
        content = json.dumps(measure(), separators=(",", ":")).encode()
        EXPECTED.write_bytes(gzip.compress(content, mtime=0))
        print(f"wrote {EXPECTED}")
        return
    found = compare() + (compare_paper() if options.paper else [])
    for line in found[:50]:
        print(line)
    print(f"{len(found)} differences")
    raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()
