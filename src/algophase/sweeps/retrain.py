"""Any run of a table brought back: its network trained anew from its settings, and compared with its row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from algophase.analysis.analyze import Analysis, analyze
from algophase.errors import InputError
from algophase.runs.rows import make_row, settings_columns
from algophase.runs.selection import read_columns
from algophase.settings import RunSettings
from algophase.storage.runs_table import KEYS, column_names, each_once, read_table, refuse_moments
from algophase.sweeps.work import Options
from algophase.training.loop import Watch
from algophase.training.plan import PRECISIONS, Group, choose_device, plan
from algophase.training.train import train_by_ensemble
from algophase.training.trained import Notice, Progress, TrainedRun, ignore

SHORTEST = 4  # digits of an id that could be an index too


def find_run(path: Path, name: str) -> dict[str, Any]:
    """The row of a run, named by its id, the beginning of its id, or its index."""
    refuse_moments(column_names(path), path)
    keys = read_columns(path, KEYS)
    indices, ids = keys["index"], keys["run_id"]
    if name in ids:
        found = [ids.index(name)]
    elif name.isdecimal() and int(name) in indices:
        found = [indices.index(int(name))]
    else:
        long_enough = len(name) >= SHORTEST or not name.isdecimal()
        found = [place for place, run_id in enumerate(ids) if name and long_enough and str(run_id).startswith(name)]
    if len(found) > 1:
        listed = ", ".join(ids[place] for place in found[:5])
        raise InputError(f"{name!r} is the beginning of {len(found)} run ids in {path}: {listed}; give more of it")
    if not found:
        there = f"index {min(indices)} to {max(indices)}, such as {indices[0]} or {ids[0]}" if ids else "none at all"
        raise InputError(
            f"there is no run {name!r} in {path}, which has {len(ids)}: {there}; give an index, an id or its beginning"
        )
    row: dict[str, Any] = each_once(read_table(path)).slice(found[0], 1).to_pylist()[0]
    return row


def choose(
    run: RunSettings,
    row: Mapping[str, Any],
    engine: str | None,
    device: str | None,
    precision: str | None,
    notice: Notice = ignore,
) -> tuple[Group, str | None]:
    """How to train: as asked, else as the row says where this machine can. Also why the outcome may differ, if it may."""
    told = {name: row.get(name) for name in ("engine", "device", "precision")}
    if device is None:
        device = "cpu" if told["device"] == "cpu" else "auto"
    kind = choose_device(device, notice)[0].type
    if precision is None and told["precision"] in PRECISIONS[kind]:
        precision = told["precision"]
    try:
        (group,) = plan([run], engine or told["engine"] or "auto", device, precision)
    except InputError:
        if engine is not None:
            raise
        (group,) = plan([run], "auto", device, precision)
    here = {"engine": group.engine, "device": group.device.type, "precision": group.precision}
    if told == here:
        return group, None
    described = [" ".join(f"{name} {value or 'unknown'}" for name, value in how.items()) for how in (told, here)]
    return group, (
        f"the table's network was trained with {described[0]}, this one with {described[1]}: "
        "rounding differs, and training amplifies it"
    )


@dataclass(frozen=True)
class Difference:
    """A retrained run and its row. compared: numbers and texts measured in both; differing: names of those that differ."""

    verdict: str | None
    verdict_before: str | None
    compared: int
    differing: dict[str, tuple[Any, Any]]

    @property
    def same(self) -> bool:
        return not self.differing

    def __str__(self) -> str:
        if self.same:
            return f"the same network as in the table: all {self.compared} numbers measured on it are equal to the bit"
        what, before = self.verdict or "no verdict", self.verdict_before or "no verdict"
        if what != before:
            return f"not the network of the table: it is {what} here, {before} there"
        return (
            f"not the network of the table, but the same verdict ({what}): "
            f"{len(self.differing)} of {self.compared} numbers {'differs' if len(self.differing) == 1 else 'differ'}"
        )


def compare(row: Mapping[str, Any], made: Mapping[str, Any], run: RunSettings) -> Difference:
    """What was measured twice. A column that one side lacks is not compared; one that is null on both is equal.

    Null is also what a table has where only newer shards have a column, so in the row of an analysed run it is no number.
    """
    settings = {"space", "index", "run_id", "engine", "device", "precision", *settings_columns(run)}
    analysed = row.get("verdict") is not None
    lacking = {name for name, value in made.items() if analysed and value is not None and row.get(name) is None}
    lacking.discard("diverged_at")  # null in every run that did not
    names = [name for name in row if name in made and name not in settings | lacking]
    differing = {name: (made[name], row[name]) for name in names if made[name] != row[name]}
    return Difference(made.get("verdict"), row.get("verdict"), len(names), differing)


def retrain(
    row: Mapping[str, Any],
    run: RunSettings,
    group: Group,
    progress: Callable[[Progress], None] | None = None,
    notice: Notice = ignore,
) -> tuple[TrainedRun, Analysis | None, Difference]:
    """Train a row's run as `group` says and analyse it as a sweep does. No analysis if it diverged or has none."""
    watch = Watch(history_stride=Options().history_stride)
    ensembles = train_by_ensemble(
        [run], group.engine, str(group.device), group.precision, watch, progress=progress, notice=notice
    )
    ((_, (trained,)),) = ensembles
    analysis = None
    if trained.network is not None and trained.diverged_at is None:
        try:
            analysis = analyze(trained.network, device=group.device)
        except InputError as error:
            notice(str(error))
    made = make_row(str(row.get("space", "")), int(row["index"]), trained, analysis)
    return trained, analysis, compare(row, made, run)
