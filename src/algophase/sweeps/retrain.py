"""Runs of a table brought back: networks trained again from their settings, and compared with their
rows (`difference.py` says when two networks are the same).
"""

import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy
import torch

from algophase.analysis.analyze import analyze_each
from algophase.analysis.result import Analysis
from algophase.core.devices import choose_device
from algophase.core.errors import InputError
from algophase.core.progress import Progress
from algophase.core.settings import RunSettings
from algophase.runs.read_runs import read_frame
from algophase.runs.rows import make_row, run_from_row
from algophase.storage.files import check_directory
from algophase.storage.formats.ours import load_network
from algophase.storage.network_files import save
from algophase.storage.runs_table import KEYS, OpenTable, refuse_moments, rows_of
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps.difference import Difference, compare
from algophase.sweeps.options import Options
from algophase.training.run.loop import Watch
from algophase.training.run.plan import PRECISIONS, PlannedEnsemble, choose_precision, plan
from algophase.training.run.train import announce, train_groups
from algophase.training.run.trained import TrainedRun

log = logging.getLogger(__name__)

SHORTEST = 4  # digits of an id that could be an index too
ASIDE = "retrained"  # below a sweep's directory: networks that are not the table's


@dataclass(frozen=True)
class Retrained:
    """A run that was trained again. analysis: None if it diverged or cannot be analyzed, and
    then `problem` says why.
    """

    trained: TrainedRun
    analysis: Analysis | None
    difference: Difference
    problem: str | None = None


@dataclass(frozen=True)
class Restored:
    """A run's network in a directory.

    Attributes:
        index: the run's index.
        run_id: its id.
        path: the network's file; None if training ended in weights that are not finite.
        copy: a copy of it, if it was already there and `out` is another directory.
        made: how it compares with its row; None if the network was already there.
        as_before: whether it was trained with the table's engine, device and precision.
    """

    index: int
    run_id: str
    path: Path | None
    copy: Path | None = None
    made: Retrained | None = None
    as_before: bool = True


def retrain(
    sweep: str | Path,
    run: str | int,
    out: str | Path | None = None,
    *,
    force: bool = False,
    engine: str | None = None,
    device: str | None = None,
    precision: str | None = None,
    strict_device: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Restored:
    """Train one run of a sweep again, compare it with its row, and save its network.

    Arguments:
        sweep: the sweep's directory.
        run: the run's index, its id, or the start of its id.
        out: where to save; by default the sweep's own networks. A network that differs from the row
            or from the kept one, or was trained in another way, is saved next to them.
        force: train even if the network is there.
        engine, device, precision: by default the table's, if this machine has them.
        strict_device: a missing device is an error; otherwise the CPU takes over and a warning is
            logged.
        progress: called with a `Progress`.

    Returns:
        A `Restored`: `path` is the network's file, for `load`; `made.difference` says whether it is
        identical to the table's, the same up to rounding, or another network.

    Raises:
        InputError: the sweep has no such run.

    Example:
        >>> from algophase import Space, load, retrain, sweep
        >>> settings = {"task": {"modulus": 7}, "network": {"width": 8}, "training": {"epochs": 5}}
        >>> space = Space.from_dict({"name": "tiny", **settings})
        >>> _ = sweep(space, directory, runs=3, device="cpu")
        >>> restored = retrain(directory, 1)
        >>> restored.made.difference.same, load(restored.path).id == restored.run_id
        (True, True)
    """
    directory = SweepDirectory(sweep)
    row = find_run(directory.path, str(run))
    settings = run_from_row(row)
    run_id = settings.run_id
    name = f"{run_id}.safetensors"
    own_file = directory.kept_files().get(run_id, directory.networks / name)
    target = own_file.parent if out is None else Path(out)
    aside = directory.path / ASIDE
    for file in (target / name, own_file, aside / name):
        is_there = file.exists() and file.with_suffix(".json").exists()
        if is_there and not force:
            is_elsewhere = out is not None and file.parent != target
            copy = save(load_network(file), target / run_id) if is_elsewhere else None
            return Restored(row["index"], run_id, file, copy=copy)
    if out is not None:
        check_directory(target)
    group, note = choose(settings, row, engine, device, precision, strict_device=strict_device)
    is_own = target.resolve() in (own_file.parent.resolve(), directory.networks.resolve())
    with directory.hold(f"retraining run {run_id}") if is_own else contextlib.nullcontext():
        if note is not None:
            log.warning(note)
        announce([group])
        kept = _kept_weights(own_file)
        (retrained,) = train_again([row], [group], progress)
        network = retrained.trained.network
        if kept is not None and network is not None:
            identical = _same_bits(kept, network.state_dict())
            difference = replace(retrained.difference, same_weights=identical)
            retrained = replace(retrained, difference=difference)
        if retrained.problem is not None and retrained.trained.diverged_at is None:
            log.warning(retrained.problem)
        if is_own and not _belongs(retrained.difference, as_before=note is None):
            target = aside
        path = None if network is None else save(network, target / run_id, overwrite=True)
    return Restored(row["index"], run_id, path, made=retrained, as_before=note is None)


def _belongs(difference: Difference, *, as_before: bool) -> bool:
    """Whether a network may stand for the table's. Rounding alone does not make it another, if it
    was trained as the table says and there is no kept network whose bits it would replace.
    """
    if difference.to_the_bit:
        return True
    only_rounding = difference.outcome == "rounding" and as_before
    return only_rounding and difference.same_weights is not False


def _kept_weights(file: Path) -> dict[str, torch.Tensor] | None:
    """The weights that the sweep has kept of a run; None where there are none that can be read."""
    try:
        return dict(load_network(file).state_dict())
    except InputError:
        return None


def _same_bits(first: Mapping[str, torch.Tensor], second: Mapping[str, torch.Tensor]) -> bool:
    """Whether two networks have the same tensors to the bit."""
    if first.keys() != second.keys():
        return False
    return all(torch.equal(tensor.cpu(), second[name].cpu()) for name, tensor in first.items())


@dataclass(frozen=True)
class Sample:
    """Runs drawn from a table, trained again and compared with their rows.

    Attributes:
        runs: runs in the table.
        differences: how each run compares, by its index.
        notes: why outcomes may differ, if they were not trained as the table says.
    """

    runs: int
    differences: dict[int, Difference]
    notes: tuple[str, ...] = ()

    @property
    def same(self) -> int:
        """How many are the table's networks, to the bit or up to rounding."""
        return sum(difference.same for difference in self.differences.values())

    @property
    def to_the_bit(self) -> int:
        """How many are the table's networks to the bit, whatever became of the analysis since."""
        return sum(difference.to_the_bit for difference in self.differences.values())

    @property
    def identical(self) -> int:
        """How many are so to the last number of their analysis."""
        return sum(difference.outcome == "identical" for difference in self.differences.values())


def retrain_sample(
    sweep: str | Path,
    count: int,
    *,
    seed: int = 0,
    engine: str | None = None,
    device: str | None = None,
    precision: str | None = None,
    strict_device: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Sample:
    """Train some runs of a sweep again, and compare each with its row. Nothing is saved.

    Arguments:
        sweep: the sweep's directory.
        count: how many runs, drawn at random.
        seed: another seed draws other runs.
        engine, device, precision, strict_device, progress: as for `retrain`.

    Returns:
        A `Sample`: `to_the_bit` counts the networks that are the table's to the bit, `identical`
        those with the same analysis to the last number, `same` also those that agree up to
        rounding; `differences` has each run's.

    Raises:
        InputError: the directory is not a sweep, or `count` is out of range.

    Example:
        >>> from algophase import Space, retrain_sample, sweep
        >>> settings = {"task": {"modulus": 7}, "network": {"width": 8}, "training": {"epochs": 5}}
        >>> space = Space.from_dict({"name": "tiny", **settings})
        >>> _ = sweep(space, directory, runs=3, device="cpu")
        >>> sample = retrain_sample(directory, 2)
        >>> len(sample.differences), sample.to_the_bit
        (2, 2)
    """
    directory = SweepDirectory(sweep)
    table_file = OpenTable(directory.path)
    refuse_moments(table_file.column_names, directory.path)
    table = table_file.read()
    if not 1 <= count <= len(table):
        raise InputError(
            f"sample is {count}; {directory.path} has {len(table)} runs to draw from, so choose "
            f"1 to {len(table)}"
        )
    generator = numpy.random.default_rng(seed)
    drawn = numpy.sort(generator.choice(len(table), count, replace=False))
    rows = rows_of(table.take(drawn), directory.path)
    runs = [run_from_row(row) for row in rows]
    choices = [
        choose(run, row, engine, device, precision, strict_device=strict_device)
        for run, row in zip(runs, rows, strict=True)
    ]
    notes = list(dict.fromkeys(note for _, note in choices if note is not None))
    groups = _together([group for group, _ in choices])
    for note in notes:
        log.warning(note)
    announce(groups)
    outcomes = train_again(rows, groups, progress)
    differences = {
        row["index"]: retrained.difference for row, retrained in zip(rows, outcomes, strict=True)
    }
    return Sample(len(table), differences, tuple(notes))


def _together(alone: Sequence[PlannedEnsemble]) -> list[PlannedEnsemble]:
    """Runs that were planned one by one, in ensembles of those that train in the same way. The
    indices of an ensemble are positions in this list.
    """
    rows_by_way: dict[tuple[str, torch.device, str], list[int]] = {}
    for position, group in enumerate(alone):
        way = (group.engine, group.device, group.precision)
        rows_by_way.setdefault(way, []).append(position)
    groups = []
    for way, positions in rows_by_way.items():
        runs = [alone[position].runs[0] for position in positions]
        for group in plan(runs, *way):
            of_rows = tuple(positions[index] for index in group.indices)
            groups.append(PlannedEnsemble(of_rows, group.runs, *way))
    return groups


def find_run(path: Path, name: str) -> dict[str, Any]:
    """The row of a run, named by its id, the beginning of its id, or its index."""
    table_file = OpenTable(path)
    refuse_moments(table_file.column_names, path)
    keys = read_frame(table_file, KEYS)
    indices = keys["index"].tolist()
    ids = keys["run_id"].tolist()
    matches = _matches(name, indices, ids)
    if len(matches) > 1:
        listed = ", ".join(ids[position] for position in matches[:5])
        raise InputError(
            f"{name!r} is the beginning of {len(matches)} run ids in {path}: {listed}; give more "
            "of it"
        )
    if not matches:
        choices = "none at all"
        if ids:
            span = f"index {min(indices)} to {max(indices)}"
            choices = f"{span}, such as {indices[0]} or {ids[0]}"
        raise InputError(
            f"there is no run {name!r} in {path}, which has {len(ids)}: {choices}; give an index, "
            "an id or its beginning"
        )
    its_row = table_file.read().slice(matches[0], 1)
    (row,) = rows_of(its_row, path)
    return row


def _matches(name: str, indices: Sequence[int], ids: Sequence[str]) -> list[int]:
    """Places of the runs that a name may mean: an id, else an index, else the beginning of ids."""
    if name in ids:
        return [ids.index(name)]
    if name.isdecimal() and int(name) in indices:
        return [indices.index(int(name))]
    if not name or (name.isdecimal() and len(name) < SHORTEST):
        return []
    return [position for position, run_id in enumerate(ids) if str(run_id).startswith(name)]


def choose(
    run: RunSettings,
    row: Mapping[str, Any],
    engine: str | None,
    device: str | None,
    precision: str | None,
    *,
    strict_device: bool = False,
) -> tuple[PlannedEnsemble, str | None]:
    """How to train: as asked, else as the row says if this machine can. Also a note if the
    outcome may differ.
    """
    recorded = {name: row.get(name) for name in ("engine", "device", "precision")}
    asked = device or ("cpu" if recorded["device"] == "cpu" else "auto")
    chosen = choose_device(asked, strict=strict_device)
    precision = choose_precision(precision, chosen, instead_of=asked)
    of_table = recorded["precision"] if recorded["precision"] in PRECISIONS[chosen.type] else None
    try:
        wanted_engine = engine or recorded["engine"] or "auto"
        (group,) = plan([run], wanted_engine, chosen, precision or of_table)
    except InputError:
        if engine is not None:
            raise
        # another card may lack what the table's engine and its precision need
        (group,) = plan([run], "auto", chosen, precision)
    used = {"engine": group.engine, "device": group.device.type, "precision": group.precision}
    notes = []
    if recorded != used:
        notes.append(
            f"the table's network was trained with {_way(recorded)}, this one with {_way(used)}: "
            "rounding differs, and training amplifies it"
        )
    epochs = run.training.epochs
    if row.get("early_stop.points") is not None and row["epochs_trained"] < epochs:
        notes.append(
            f"the table's network stopped early, after {row['epochs_trained']:,} epochs: this one "
            f"is trained for all {epochs:,}"
        )
    return group, "; ".join(notes) or None


def _way(settings: Mapping[str, Any]) -> str:
    """How a network was trained, in words: "engine fused device cuda precision tf32"."""
    return " ".join(f"{name} {value or 'unknown'}" for name, value in settings.items())


def train_again(
    rows: Sequence[Mapping[str, Any]],
    groups: Sequence[PlannedEnsemble],
    progress: Callable[[Progress], None] | None = None,
) -> list[Retrained]:
    """Train the runs of these rows as planned and analyze them as a sweep does. indices of a
    group: places of its rows.
    """
    retrained: dict[int, Retrained] = {}
    watch = Watch(history_stride=Options().history_stride)
    for group, outcomes in train_groups(groups, watch, progress=progress):
        networks = [
            trained.network
            for trained in outcomes
            if trained.network is not None and trained.diverged_at is None
        ]
        ids = [network.id for network in networks]
        analyses = dict(zip(ids, analyze_each(networks, device=group.device), strict=True))
        for position, run, trained in zip(group.indices, group.runs, outcomes, strict=True):
            row = rows[position]
            outcome = analyses.get(trained.id)
            problem = None
            if trained.diverged_at is not None:
                problem = (
                    f"training diverged at epoch {trained.diverged_at}: there is no network to show"
                )
            elif isinstance(outcome, InputError):
                problem = str(outcome)
            analysis = None if isinstance(outcome, InputError) else outcome
            space = str(row.get("space", ""))
            new_row = make_row(space, int(row["index"]), trained, analysis)
            difference = compare(row, new_row, run)
            retrained[position] = Retrained(trained, analysis, difference, problem)
    return [retrained[position] for position in range(len(rows))]
