"""Before anything is trained on a GPU: the gradient check of every engine, precision and shape that is about to be used.

Most of its time goes into compiling kernels, which Triton keeps on disk. So many shapes are checked by several processes at
once, each started from this file and told what to check on its standard input.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import torch

from algophase.errors import InputError
from algophase.networks.stacking import stack_key
from algophase.settings import RunSettings
from algophase.training.gradient_check import quick, telling_run
from algophase.training.plan import ENGINES, Group

FEWEST, MOST = 3, 16  # processes: fewer shapes are checked sooner than processes start


def check_planned(groups: Sequence[Group]) -> None:
    """Raises `InputError` if a gradient is wrong. The yardstick, and anything on a CPU, is not checked here."""
    checks: dict[object, dict[str, Any]] = {}
    for group in groups:
        if group.device.type == "cuda" and group.engine != "plain":
            run = telling_run(group.runs)
            key = (group.engine, group.precision, stack_key(run), group.engine_class.padded(group.runs, group.device))
            job = {"run": run.to_dict(), "engine": group.engine, "device": str(group.device), "precision": group.precision}
            checks.setdefault(key, job)
    jobs = list(checks.values())
    workers = min(len(jobs), MOST, os.cpu_count() or 1)
    if workers < FEWEST:
        _check(jobs)
    else:
        _check_at_once([jobs[start::workers] for start in range(workers)])


def _check(jobs: Sequence[dict[str, Any]]) -> None:
    for job in jobs:
        run = RunSettings.from_dict(job["run"])
        quick(run, ENGINES[job["engine"]](run), torch.device(job["device"]), job["precision"])


def _check_at_once(parts: Sequence[Sequence[dict[str, Any]]]) -> None:
    """One process a part. What a process says is wrong is raised here; a crash gives its last line."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "algophase.training.check_planned"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    checkers = [subprocess.Popen(command, env=environment, text=True, **pipes) for _ in parts]  # type: ignore[call-overload]
    try:
        for checker, jobs in zip(checkers, parts, strict=True):
            checker.stdin.write(json.dumps(jobs))
            checker.stdin.close()
            checker.stdin = None  # so that `communicate` leaves it alone
        for checker in checkers:
            found, errors = checker.communicate()
            if checker.returncode != 0:
                last = (found.strip() or errors.strip()).splitlines()[-1:]
                raise InputError(last[0] if last else f"checking gradients ended with exit code {checker.returncode}")
    finally:
        for checker in checkers:
            checker.kill()
            checker.wait()


def main() -> None:
    try:
        _check(json.load(sys.stdin))
    except InputError as error:
        print(error)
        sys.exit(1)


if __name__ == "__main__":
    main()
