"""`sweep`: train and analyze many runs of a space, into a table."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from algophase.core.errors import InputError
from algophase.core.progress import Bar, Progress
from algophase.runs.overview import unfair_sample
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps._ray_executor import sweep_on_ray
from algophase.sweeps.options import Options
from algophase.sweeps.shipped_spaces import find_space
from algophase.sweeps.spaces import Space
from algophase.sweeps.sweep import Outcome, Request, outcomes_by_id, sweep_here

log = logging.getLogger(__name__)

EXECUTORS = ("local", "ray")
MANY = 50_000  # runs whose settings take seconds to draw


def sweep(
    space: Space | str | Path,
    out: str | Path | None = None,
    *,
    runs: int | None = None,
    seed: int = 0,
    minutes: float | None = None,
    part: tuple[int, int] = (1, 1),
    keep_weights: str | int = "none",
    snapshot_epochs: Sequence[int] = (),
    hidden: bool = False,
    engine: str = "auto",
    device: str = "auto",
    strict_device: bool = False,
    precision: str | None = None,
    ensemble_size: int | None = None,
    check_again: bool = False,
    checkpoint_seconds: float = 300.0,
    executor: str = "local",
    address: str | None = None,
    shard: int | None = None,
    mix_versions: bool = False,
    command: str = "",
    progress: Callable[[Progress], None] | bool | None = None,
) -> Outcome:
    """Train many runs of a space, analyze each, and add them to the table in a directory.

    Run i of a space and a seed is always the same run. Call it again to continue: nothing is lost
    and nothing is done twice. Ctrl-C stops cleanly, as `minutes` does. `Runs.read(out)` reads the
    table.

    Arguments:
        space: a `Space`, the name of one (`algophase sweep --list`), or a TOML file of your own.
        out: the table's directory; by default sweeps/NAME.
        runs: how many runs the table shall have; by default the space's own number.
        seed: another seed gives other runs of the same space.
        minutes: stop cleanly after this time.
        part: (I, K) for every K-th run from the I-th on: one part for each of K machines.
        keep_weights: "none", "all", or how many networks per verdict.
        snapshot_epochs: epochs at which networks are analyzed during training; by default the
            space's own.
        hidden: also analyze the hidden layers, into columns `hidden.*`.
        engine, device, strict_device, precision, ensemble_size: as for `train`.
        check_again: on a GPU, check gradients again that were right in an earlier command.
        checkpoint_seconds: time between two saves of a running ensemble, and the most that a crash
            loses.
        executor: "local" for this machine, "ray" for a Ray cluster.
        address: the Ray cluster's address.
        shard: runs per task on the Ray cluster.
        mix_versions: continue a table that another version of the code began.
        command: what the user typed; kept with the results.
        progress: called with a `Progress`. By default a terminal or a notebook shows a bar
            after two seconds; False shows none.

    Returns:
        An `Outcome`: `ended` is "complete", "out of time" or "interrupted"; `done` and `new` count
        runs, `counts` verdicts.

    Raises:
        InputError: a setting is out of range, or the directory has another sweep.

    Example:
        >>> from algophase import Runs, Space, sweep
        >>> settings = {"task": {"modulus": 7}, "network": {"width": 8}, "training": {"epochs": 5}}
        >>> space = Space.from_dict({"name": "tiny", **settings})
        >>> outcome = sweep(space, directory / "tiny", runs=3, device="cpu")
        >>> outcome.ended, outcome.new, len(Runs.read(directory / "tiny"))
        ('complete', 3, 3)
    """
    _check_executor(executor, address, shard)
    chosen = space if isinstance(space, Space) else find_space(str(space))
    chosen = replace(chosen, hidden=hidden or chosen.hidden)
    options = Options(
        engine=engine,
        device=device,
        precision=precision,
        ensemble_size=ensemble_size,
        checkpoint_seconds=checkpoint_seconds,
        snapshot_epochs=tuple(snapshot_epochs or chosen.snapshots),
        strict_device=strict_device,
        check_again=check_again,
    )
    request = Request(
        chosen,
        runs=chosen.runs if runs is None else runs,
        seed=seed,
        part=part,
        keep_weights=keep_weights,
        minutes=minutes,
        options=options,
        command=command,
        mix_versions=mix_versions,
    )
    directory = SweepDirectory(out or Path("sweeps") / chosen.name)
    count = len(request.indices)
    if count > MANY:
        log.info("drawing the settings of %s runs before the first is trained", f"{count:,}")
    with Bar(progress if progress is False else None) as bar:
        report = progress if callable(progress) else bar
        if executor == "ray":
            outcome = sweep_on_ray(request, directory, address, shard, report)
        else:
            outcome = sweep_here(request, directory, report)
    if not outcome.done:
        return outcome
    lacking = _without_weights(request, directory) if keep_weights == "all" else 0
    indices = list(directory.finished())
    unfair = unfair_sample(directory.description()["space"], indices, directory.calls())
    return replace(outcome, without_weights=lacking, unfair=unfair)


def _check_executor(executor: str, address: str | None, shard: int | None) -> None:
    if executor not in EXECUTORS:
        raise InputError(f"executor is {executor!r}; choose {' or '.join(EXECUTORS)}")
    if executor != "ray" and (address is not None or shard is not None):
        value = f"address is {address!r}" if address is not None else f"shard is {shard}"
        raise InputError(
            f"{value}, but executor is {executor}; --address and --shard go with --executor ray"
        )


def _without_weights(request: Request, directory: SweepDirectory) -> int:
    """How many of the runs asked for did not diverge and have no network in the directory."""
    outcomes = outcomes_by_id(directory)
    kept = directory.kept()
    lacking = 0
    for index, (run_id, _) in directory.finished().items():
        if index in request.indices and outcomes[run_id] != "diverged" and run_id not in kept:
            lacking += 1
    return lacking
