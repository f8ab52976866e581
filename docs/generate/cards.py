"""Write the table of cards in docs/engines.md: every shape compiled for every card, on a CPU.

python docs/generate/cards.py             # after a change of the fused engine: 20 minutes
python docs/generate/cards.py --only 89   # print the row of one target, write nothing
"""

import argparse
import sys
from pathlib import Path

import triton

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/helpers"))

from compiled_for_cards import CARDS, CASES, Need, needs, refusal  # noqa: E402

PAGE = ROOT / "docs/engines.md"
START = "<!-- cards: written by docs/generate/cards.py -->"
END = "<!-- end of cards -->"
HEAD = (
    "| target | cards | shared memory | shapes that fit | largest kernel | most spilled |\n"
    "|---|---|---|---|---|---|"
)


def row(arch: int) -> str:
    """One target: how many of the shapes `fused` takes there, and what their kernels need."""
    names, card = CARDS[arch]
    of_all: list[Need] = []
    taken = 0
    for case in CASES:
        if refusal(arch, case) is not None:
            continue
        taken += 1
        of_all += needs(arch, case)
    cells = [f"sm_{arch}", names, f"{card.shared_memory} KB", f"{taken} of {len(CASES)}"]
    if not of_all:
        return f"| {' | '.join([*cells, '', ''])} |".replace("|  |", "| |")
    largest = max(of_all, key=lambda need: need.memory)
    worst = max(of_all, key=lambda need: need.spilled)
    if largest.memory > card.shared_memory * 1024:
        raise SystemExit(f"{largest.kernel} takes {largest.memory} bytes on sm_{arch}: {largest}")
    cells.append(f"{-(-largest.memory // 1024)} KB, `{largest.kernel}`, {largest.case}")
    cells.append(f"{worst.spilled:,} bytes per thread, `{worst.kernel}`, {worst.case}")
    return f"| {' | '.join(cells)} |"


def written(page: str, rows: list[str]) -> str:
    """The page with the table in its place."""
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise SystemExit(f"{PAGE} has no lines {START} and {END}")
    table = "\n".join([HEAD, *rows])
    how = f"Compiled with Triton {triton.__version__}, not run. sm_80 and sm_86 are assembled from"
    version = f"{how} the PTX of sm_89:\nTriton made the same for all three where we compared it."
    return f"{before}{START}\n\n{table}\n\n{version}\n\n{END}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", type=int, choices=CARDS, help="one target, printed")
    options = parser.parse_args()
    rows = []
    for arch in CARDS if options.only is None else [options.only]:
        rows.append(row(arch))
        print(rows[-1], flush=True)
    if options.only is None:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")


if __name__ == "__main__":
    main()
