"""Rival accounts on a population: how many networks pass each, by attention rate.

    python studies/rival_accounts_by_rate.py                     # the table of gallery/rivals.csv
    python studies/rival_accounts_by_rate.py measure SWEEP ...   # measure again: 5 s per network

`measure --processes 16` takes so many networks at once, each on one thread. The networks of
gallery/rivals.csv are made on an H200 by

    algophase sweep fixed-width --seed 41 --runs 256 --keep-weights all --out fresh
"""

import argparse
from pathlib import Path

import pandas

from algophase import load, read_runs, rivals
from algophase.analysis.rivals.account import BY_CHANCE, PASSES, SAYS_NOTHING
from algophase.core.palette import kind_of
from algophase.core.threads import in_processes
from algophase.pages.table import Table
from algophase.runs.statistics import Share
from algophase.storage.sweep_directory import SweepDirectory

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "gallery" / "rivals.csv"
BANDS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the attention rate


def measure(sweeps: list[Path], out: Path, processes: int = 1) -> None:
    """One row per accurate network that was kept: its rate, its verdict, and the outcome of each
    account.
    """
    rows = []
    files: list[Path] = []
    for sweep in sweeps:
        runs = read_runs(sweep)
        kept = SweepDirectory(sweep).kept_files()
        is_taken = runs.run_id.isin(kept) & (runs.accuracy == 1)
        for run in runs[is_taken].itertuples():
            row = {
                "run_id": run.run_id,
                "attention_rate": run.attention_rate,
                "verdict": run.verdict,
            }
            rows.append(row)
            files.append(kept[run.run_id])
    every_outcome = in_processes(outcomes_of, files, processes)
    for row, outcomes in zip(rows, every_outcome, strict=True):
        row.update(outcomes)
        passing = [name for name, word in outcomes.items() if word == PASSES]
        print(f"{row['run_id']}: {', '.join(passing)}", flush=True)
    table = pandas.DataFrame(rows).sort_values("attention_rate")
    table.to_csv(out, index=False, float_format="%.6f", lineterminator="\n")


def outcomes_of(path: Path) -> dict[str, str]:
    """The outcome of each account for a network's file."""
    return {account.name: account.outcome for account in rivals(load(path)).accounts}


def by_rate(table: pandas.DataFrame) -> Table:
    """How many networks of each quarter of the rates pass; and of all for which an account says
    something, with an interval.
    """
    bands = pandas.cut(table.attention_rate, BANDS, include_lowest=True)
    accounts = [name for name in table if name not in ("run_id", "attention_rate", "verdict")]
    groups = [group for _, group in table.groupby(bands, observed=False)]
    heads = [
        f"rate {low:g} to {high:g} ({len(group)})"
        for low, high, group in zip(BANDS, BANDS[1:], groups, strict=False)
    ]
    rows = []
    for name in accounts:
        counts = [_counted(group[name]) for group in groups]
        says = table[name] != SAYS_NOTHING
        passing = Share(int((table[name] == PASSES).sum()), int(says.sum()))
        rows.append([name, *counts, passing if says.any() else "-"])
    return Table(["account", *heads, "passes"], rows)


def agreement(table: pandas.DataFrame) -> Share:
    """How often both accounts say what the verdict says: a Clock passes as a Clock alone, a Pizza
    as a Pizza alone, any other network as neither. On other groups, one that multiplies is a
    Clock and one that adds a Pizza.
    """
    verdict = table.verdict.map(kind_of)
    agree = pandas.Series(True, table.index)
    for name in ("Clock", "Pizza"):
        agree &= (table[name] == PASSES) == (verdict == name)
    return Share(int(agree.sum()), len(table))


def _counted(outcomes: pandas.Series) -> str:
    """How many pass, and how many as chance would: "12", "0 and 3 by chance"."""
    if len(outcomes) and (outcomes == SAYS_NOTHING).all():
        return "-"
    passing = str((outcomes == PASSES).sum())
    by_chance = (outcomes == BY_CHANCE).sum()
    return f"{passing} and {by_chance} by chance" if by_chance else passing


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command")
    measuring = commands.add_parser("measure", help="measure the networks of sweeps")
    measuring.add_argument("sweeps", nargs="+", type=Path)
    measuring.add_argument("--out", type=Path, default=TABLE)
    measuring.add_argument("--processes", type=int, default=1)
    chosen = parser.parse_args()
    if chosen.command == "measure":
        measure(chosen.sweeps, chosen.out, chosen.processes)
    table = pandas.read_csv(getattr(chosen, "out", TABLE))
    print(by_rate(table).markdown("---"))
    print(f"Clock and Pizza agree with the verdict: {agreement(table)}")


if __name__ == "__main__":
    main()
