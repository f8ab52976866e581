"""A sweep at a glance: what a small picture and a few words need of its table, and no other
column is read.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from algophase.analysis.catalogue import IRRELEVANCE, SYMMETRICITY
from algophase.analysis.verdict.decide import in_order
from algophase.core.errors import InputError
from algophase.core.lines import reaches
from algophase.core.settings import SECTIONS, TransformerSettings
from algophase.runs.overview import NEEDED, days, outcomes, varying, verdict_column
from algophase.storage.runs_table import (
    KEYS,
    join_tables,
    origin,
    python_columns,
    read_shards,
    shard_paths,
)
from algophase.storage.sweep_directory import SweepDirectory, sittings_of

COLUMNS = (*KEYS, *NEEDED, SYMMETRICITY, IRRELEVANCE)
MOST_NAMED = 3  # commits or devices


@dataclass(frozen=True)
class Population:
    """about: its space in words; planned: the runs its space asks for, None if it does not say;
    origin: when, by what, on what.

    counts: runs by verdict, or by the paper's label in older tables (verdict_name). points: by the
        same, gradient symmetricity
    and distance irrelevance of each run that has both. problems: what could not be read.
    """

    path: Path
    name: str
    about: str = ""
    planned: int | None = None
    runs: int = 0
    accurate: int = 0
    verdict_name: str = "verdict"
    counts: Mapping[str, int] = field(default_factory=dict)
    points: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    origin: str = ""
    problems: tuple[str, ...] = ()


def find_sweeps(place: Path) -> list[Path]:
    """The sweeps in a folder and in its folders, in the order of the alphabet; hidden folders
    are not searched.
    """
    return sorted(
        path.parent
        for depth in ("[!.]*", "[!.]*/[!.]*")
        for path in place.glob(f"{depth}/sweep.json")
    )


def stamp(path: Path) -> tuple[tuple[str, int, int], ...]:
    """Changes when a sweep's files do."""
    try:
        file_stats = [
            (str(file), file.stat()) for file in (path / "sweep.json", *shard_paths(path))
        ]
    except (OSError, InputError):
        return ()
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in file_stats)


def read_population(path: Path) -> Population:
    """What a sweep's directory holds. What is wrong with it is among its problems."""
    name = path.resolve().name
    problems = list[str]()
    columns = dict[str, list[Any]]()
    space = dict[str, Any]()
    seed = 0
    sittings = list[dict[str, Any]]()
    try:
        description = SweepDirectory(path).description()
        space = description["space"]
        seed = description["seed"]
        tables = read_shards(shard_paths(path), path, COLUMNS, problems)
        columns = python_columns(join_tables(tables, path), path) if tables else {}
        sittings = [
            sitting
            for shard, table in tables.items()
            for sitting in sittings_of(shard, origin(table.schema))
        ]
    except InputError as error:
        problems.append(str(error))
    count = len(next(iter(columns.values()), []))
    if not count and not problems:
        problems.append("no run is finished yet")
    by = verdict_column(columns)
    nothing = [None] * count
    verdicts = outcomes(columns.get(by, nothing), columns)
    accuracies = columns.get("validation_accuracy", nothing)
    points: dict[str, list[tuple[float, float]]] = {}
    for verdict, x, y in zip(
        verdicts, columns.get(SYMMETRICITY, nothing), columns.get(IRRELEVANCE, nothing), strict=True
    ):
        if (
            isinstance(x, int | float)
            and isinstance(y, int | float)
            and math.isfinite(x)
            and math.isfinite(y)
        ):
            points.setdefault(verdict, []).append((x, y))
    planned = space.get("runs")
    about = describe_settings(space)
    if seed:
        about += f", seed {seed}"
    accurate = 0
    for accuracy in accuracies:
        accurate += isinstance(accuracy, int | float) and bool(reaches(accuracy, 1))
    return Population(
        path,
        name,
        about=about,
        planned=planned if isinstance(planned, int) else None,
        runs=count,
        accurate=accurate,
        verdict_name="verdict" if by == "verdict" else "paper's label",
        counts={verdict: verdicts.count(verdict) for verdict in in_order(verdicts)},
        points=points,
        origin=_origin(sittings),
        problems=tuple(problems),
    )


def describe_settings(space: Mapping[str, Any]) -> str:
    """A space's title, or else the settings it names and those that vary."""
    if space.get("title"):
        return str(space["title"])
    changing = varying(space)
    sections = [space.get(section) for section in SECTIONS]
    named = {
        name: rule
        for section in sections
        if isinstance(section, dict)
        for name, rule in section.items()
    }
    kind = named.pop("kind", TransformerSettings.kind)
    fixed = [
        f"{name.replace('_', ' ')} {rule}"[:80]
        for name, rule in named.items()
        if name not in changing
    ]
    varied = f"varying {', '.join(name.replace('_', ' ') for name in changing)}" if changing else ""
    return ", ".join(filter(None, [str(kind), *fixed, varied]))


def _origin(sittings: Sequence[object]) -> str:
    """When the runs were made, by which commits, on what."""
    records = [sitting for sitting in sittings if isinstance(sitting, Mapping)]
    commits = list(
        dict.fromkeys(str(record["commit"]) for record in records if record.get("commit"))
    )
    devices = list(
        dict.fromkeys(str(record["device"]) for record in records if record.get("device"))
    )
    code = ""
    if commits:
        noun = "commit" if len(commits) == 1 else "commits"
        code = f"{noun} {_few(commits)}"
    return ", ".join(filter(None, [days(records), code, _few(devices)]))


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(name[:60] for name in names[:MOST_NAMED]) + more
