"""Before anything is trained on a GPU: the gradient check of every engine, precision and shape that
is about to be used.

Most of its time goes into compiling kernels, which Triton keeps on disk. So several shapes are
checked at once. A process is started from this file (`training.checkers`), told what to check on
its standard input, and forks one process per shape: what is imported is imported once, and no
process that uses the GPU is forked.
"""

import contextlib
import json
import logging
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

import torch

from algophase.core.errors import InputError
from algophase.core.settings import RunSettings
from algophase.core.wording import counted
from algophase.training.check import checkers
from algophase.training.check.gradient_check import quick, telling_run
from algophase.training.check.remembered import check_digest, is_remembered, remember
from algophase.training.engines.engine import missing_triton
from algophase.training.engines.flat import Flat
from algophase.training.engines.sizing import run_parameters
from algophase.training.run.optimizer import AdamW
from algophase.training.run.plan import ENGINES, PlannedEnsemble

log = logging.getLogger(__name__)

FEWEST, MOST = 3, 16  # shapes: fewer are checked sooner than processes start; processes


def check_planned(groups: Sequence[PlannedEnsemble], *, again: bool = False) -> None:
    """Raises `InputError` if a gradient is wrong. The yardstick, and anything on a CPU, is not
    checked here. again: also what passed in an earlier command (`remembered`).
    """
    checks: dict[str, tuple[RunSettings, PlannedEnsemble]] = {}
    passed_before = set()
    for group in groups:
        if group.device.type == "cuda" and group.engine != "plain":
            run = _with_exact_loss(telling_run(group.runs))
            digest = check_digest(run, group)
            if not again and is_remembered(digest):
                passed_before.add(digest)
            else:
                checks.setdefault(digest, (run, group))
    if passed_before:
        log.info(
            "gradients of %s were right in an earlier check, by the same code on the same card: "
            "not checked again (--check-again does)",
            counted(len(passed_before), "shape"),
        )
    # the largest first: their kernels take longest
    jobs = [
        {
            "run": run.to_dict(),
            "engine": group.engine,
            "device": str(group.device),
            "precision": group.precision,
        }
        for run, group in sorted(checks.values(), key=lambda check: -run_parameters(check[0]))
    ]
    if len(jobs) < FEWEST or (os.cpu_count() or 1) < FEWEST or not checkers.FORKS:
        checkers.dismiss()
        for job in jobs:
            _check(job)
    else:
        _check_at_once(jobs, groups[0].device)
    remember(checks)


def _with_exact_loss(run: RunSettings) -> RunSettings:
    """PyTorch's cross-entropy loses its digits late in training, by choice: what an engine does
    with it is checked with ours, which has the same derivative.
    """
    if run.training.loss != "torch-cross-entropy":
        return run
    return replace(run, training=replace(run.training, loss="cross-entropy"))


def _check(job: dict[str, Any]) -> None:
    run = RunSettings.from_dict(job["run"])
    quick(run, ENGINES[job["engine"]](run), torch.device(job["device"]), job["precision"])


def _check_at_once(jobs: Sequence[dict[str, Any]], device: torch.device) -> None:
    """In processes of their own. What one says is wrong is raised here; a crash gives its last
    line.
    """
    checker = checkers.take()
    try:
        assert checker.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended, and says why below
            checker.stdin.write(json.dumps(jobs))
            checker.stdin.close()
        checker.stdin = None  # so that `communicate` leaves it alone
        _warm_up(device)
        complaint, errors = checker.communicate()
        if checker.returncode != 0:
            last = (complaint.strip() or errors.strip()).splitlines()[-1:]
            raise InputError(
                last[0] if last else f"checking gradients ended with exit code {checker.returncode}"
            )
    finally:
        checkers.end(checker)


def _warm_up(device: torch.device) -> None:
    """What the first ensemble needs on the GPU, made ready while others check: context, library,
    the optimizer's kernels.
    """
    square = torch.ones(16, 16, device=device)
    torch.mm(square, square)
    if missing_triton() is None:
        weights = Flat(1, {"weights": (32,)}, device, torch.float32)
        optimizer = AdamW(weights, [RunSettings()], fused=True, two_launches=True)
        with torch.cuda.device(device):
            optimizer.epoch(
                weights.like(),
                torch.zeros(1, device=device),
                torch.zeros(1, dtype=torch.int64, device=device),
            )
    torch.cuda.synchronize(device)


def _complaint(job: dict[str, Any]) -> str:
    try:
        _check(job)
    except InputError as error:
        return str(error)
    return ""


def main() -> None:
    missing_triton()  # imported once, too
    text = sys.stdin.read()
    if not text:  # nothing is to be checked
        return
    jobs = json.loads(text)
    processes = min(len(jobs), MOST, os.cpu_count() or 1)
    with ProcessPoolExecutor(processes, get_context("fork")) as pool:
        complaints = list(filter(None, pool.map(_complaint, jobs)))
    if complaints:
        print(complaints[0])
        sys.exit(1)


if __name__ == "__main__":
    main()
