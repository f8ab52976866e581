"""Write the table of cards in docs/engines.md, and what each kernel needs: every shape compiled for
every card, on a CPU.

python docs/generate/cards.py           # after a change of the fused engine: compiles what changed
python docs/generate/cards.py --again   # compiles everything: 20 minutes
"""

import argparse
import sys
from pathlib import Path

import triton

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/helpers"))

from compiled_for_cards import (  # noqa: E402
    CARDS,
    CASES,
    H200_CASES,
    Needs,
    none_kept,
    read_kept,
    taken_cases,
    write_kept,
)

PAGE = ROOT / "docs/engines.md"
START = "<!-- cards: written by docs/generate/cards.py -->"
END = "<!-- end of cards -->"
HEAD = (
    "| target | cards | shared memory | shapes that fit | largest kernel | most spilled |\n"
    "|---|---|---|---|---|---|"
)


def row(arch: int, needs: Needs) -> str:
    """One target: how many of the shapes `fused` takes there, and what their kernels need."""
    names, card = CARDS[arch]
    cases = [case for case in taken_cases(arch) if case not in H200_CASES]
    cells = [f"sm_{arch}", names, f"{card.shared_memory} KB", f"{len(cases)} of {len(CASES)}"]
    if not cases:
        return f"| {' | '.join(cells)} | | |"
    kernels = [kernel for case in cases for kernel in needs.of_case(case, arch)]
    largest = max(kernels, key=lambda kernel: kernel.need.memory)
    worst = max(kernels, key=lambda kernel: kernel.need.spilled)
    memory, spilled = largest.need.memory, worst.need.spilled
    if memory > card.shared_memory * 1024:
        raise SystemExit(f"{largest.kernel} takes {memory} bytes on sm_{arch}: {largest}")
    cells.append(f"{-(-memory // 1024)} KB, `{largest.kernel}`, {largest.case}")
    cells.append(f"{spilled:,} bytes per thread, `{worst.kernel}`, {worst.case}")
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
    parser.add_argument("--again", action="store_true", help="compile what is kept, too")
    options = parser.parse_args()
    needs = none_kept() if options.again else read_kept()
    for arch in CARDS:
        for case in taken_cases(arch):
            needs.of_case(case, arch)
        print(f"{len(needs.used)} kernels with those of sm_{arch}", flush=True)
    write_kept(needs)
    rows = [row(arch, needs) for arch in CARDS]
    print("\n".join(rows))
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")


if __name__ == "__main__":
    main()
