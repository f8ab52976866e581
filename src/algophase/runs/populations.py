"""A sweep at a glance: what a small picture and a few words need of its table, and no other
column is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

from algophase.analysis.catalogue import IRRELEVANCE, SYMMETRICITY
from algophase.core.errors import InputError
from algophase.core.lines import reaches
from algophase.core.palette import in_order
from algophase.core.settings import SECTIONS, TransformerSettings
from algophase.runs.columns import numbers_or_missing
from algophase.runs.overview import (
    NEEDED,
    days,
    name_of_verdicts,
    outcomes,
    varying,
    verdict_column,
)
from algophase.runs.read_runs import read_usable_shards
from algophase.storage.runs_table import KEYS, shard_paths
from algophase.storage.sweep_directory import SweepDirectory

if TYPE_CHECKING:
    import pandas

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


def find_sweeps(folder: Path) -> list[Path]:
    """The sweeps in a folder and in its folders, in the order of the alphabet; hidden folders
    are not searched.
    """
    return sorted(
        path.parent
        for depth in ("[!.]*", "[!.]*/[!.]*")
        for path in folder.glob(f"{depth}/sweep.json")
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
    import pandas

    problems = list[str]()
    frame = pandas.DataFrame()
    space = dict[str, Any]()
    seed = 0
    calls: Sequence[Mapping[str, Any]] = ()
    try:
        description = SweepDirectory(path).description()
        space = description["space"]
        seed = description["seed"]
        frame, calls, _ = read_usable_shards(path, problems, COLUMNS)
    except InputError as error:
        problems.append(str(error))
    if not len(frame) and not problems:
        problems.append("no run is finished yet")
    column = verdict_column(frame)
    verdicts = outcomes(frame, column)
    planned = space.get("runs")
    about = describe_settings(space)
    if seed:
        about += f", seed {seed}"
    accurate = 0
    if "validation_accuracy" in frame:
        accurate = int(reaches(numbers_or_missing(frame["validation_accuracy"]), 1).sum())
    return Population(
        path,
        path.resolve().name,
        about=about,
        planned=planned if isinstance(planned, int) else None,
        runs=len(frame),
        accurate=accurate,
        verdict_name=name_of_verdicts(column),
        counts={verdict: int((verdicts == verdict).sum()) for verdict in in_order(verdicts)},
        points=_points(frame, verdicts),
        origin=_origin(calls),
        problems=tuple(problems),
    )


def _points(
    frame: "pandas.DataFrame", verdicts: "pandas.Series[str]"
) -> dict[str, list[tuple[float, float]]]:
    """By verdict, the two metrics of each run that has both."""
    if SYMMETRICITY not in frame or IRRELEVANCE not in frame:
        return {}
    x = numbers_or_missing(frame[SYMMETRICITY]).to_numpy()
    y = numbers_or_missing(frame[IRRELEVANCE]).to_numpy()
    is_point = numpy.isfinite(x) & numpy.isfinite(y)
    points: dict[str, list[tuple[float, float]]] = {}
    for verdict in verdicts[is_point].unique():
        chosen = is_point & (verdicts == verdict).to_numpy()
        points[verdict] = list(zip(x[chosen].tolist(), y[chosen].tolist(), strict=True))
    return points


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


def _origin(calls: Sequence[object]) -> str:
    """When the runs were made, by which commits, on what."""
    records = [call for call in calls if isinstance(call, Mapping)]
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
