"""A directory of networks without a sweep: each is analysed, and the page shows them as it shows the runs of a sweep."""

import hashlib
from pathlib import Path
from typing import Any

from algophase.analysis.specimen import Specimen
from algophase.errors import InputError
from algophase.explore.jobs import Job
from algophase.explore.networks import Look, Networks
from algophase.explore.table import RunTable
from algophase.runs.overview import describe_outcomes
from algophase.runs.standing import is_sweep, settings_of
from algophase.storage.analyses import Analysed, analyze_files, names, network_files
from algophase.storage.runs_table import flat_columns
from algophase.wording import counted

NAME = "network"  # the column that says what each is called


def are_networks(path: Path) -> bool:
    """Whether a path is a network's file or a directory of them, and no table of runs."""
    if is_sweep(path):
        return False
    files, problems = network_files([path])
    return not problems and bool(files) and all(file.is_file() for file in files)


def read_networks(path: Path) -> tuple[RunTable, Networks]:
    """The networks as a table, one row each, and themselves."""
    files, _ = network_files([path])
    every = list(analyze_files(files))
    found = [each for each in every if isinstance(each, Analysed)]
    problems = [str(each.problem) for each in every if not isinstance(each, Analysed)]
    if not found:
        raise InputError(f"{path} holds no network that can be read: {problems[0]}")
    called = names([each.analysis.id for each in found], [each.source for each in found])
    rows, specimens = list[dict[str, Any]](), dict[str, Specimen]()
    for each, name in zip(found, called, strict=True):
        key = hashlib.sha256(str(each.source).encode()).hexdigest()[:12]  # as a run has: it stands in the page's address
        record = each.analysis.to_dict()
        circles = [item.circle.frequency for item in each.analysis.circles]
        rows.append({"run_id": key, NAME: name, **settings_of(each.network), "frequencies": circles, **flat_columns(record)})
        specimens[key] = Specimen(each.network, each.analysis, name=name, notes=[f"Network {name}, from {each.source.name}"])
        specimens[key].forget_logits()
    columns = {column: [row.get(column) for row in rows] for column in dict.fromkeys(column for row in rows for column in row)}
    about = [f"{counted(len(rows), 'network')} of {path}", *describe_outcomes(columns)]
    table = RunTable(columns, path.resolve().name, problems, about)
    return table, OwnNetworks(table, path, specimens)


class OwnNetworks(Networks):
    """Networks that are all there. None is trained again."""

    def __init__(self, table: RunTable, path: Path, specimens: dict[str, Specimen]) -> None:
        super().__init__(table, path, path)
        self.specimens = specimens

    def look(self, run_id: str) -> Look:
        specimen = self.specimens.get(run_id)
        if specimen is None:
            return Look(problems=(f"there is no network {run_id[:40]!r} in {self.table.name}",))
        if not specimen.has_code:
            told = f"network {specimen.name} was saved without its code: its circles cannot be switched off here"
            return Look(problems=(f"{told}; a report shows it",))
        return Look(specimen)

    def train(self, run_id: str) -> Job:
        raise InputError(f"{self.table.name} is a directory of networks: they are not trained again here")
