"""Sweeps on Ray whose driver, worker or head is killed: finished by the same command, they give
a local sweep's table.
"""

import contextlib
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import kill_sweep

SPACE = (
    "runs = 8\n[task]\nmodulus = 7\n[network]\nwidth = 8\nattention_rate = { uniform = [0, "
    "1] }\n[training]\nepochs = 1500\n"
)
KINDS = ("driver", "worker", "head")
PATIENCE = 180.0
WORKER = b"ray::make_shard"  # how Ray names a process in the middle of our task
MARK = "ALGOPHASE_CAMPAIGN"


class RayPrey:
    def __init__(self, scratch: Path) -> None:
        self.scratch, self.mark = scratch, secrets.token_hex(8)
        self.space, self.reference = scratch / "ray.toml", scratch / "ray-undisturbed"
        self.space.write_text(SPACE)
        (scratch / "token").write_text(secrets.token_hex(32))
        ended = self.start(self.reference, "local")
        text, _ = ended.communicate()
        assert ended.returncode == 0, text.decode()

    def start(self, out: Path, executor: str) -> subprocess.Popen[bytes]:
        words = [
            "sweep",
            self.space,
            "--out",
            out,
            "--device",
            "cpu",
            "--ensemble-size",
            "2",
            "--keep-weights",
            "all",
        ]
        words += ["--executor", executor, *(["--shard", "2"] if executor == "ray" else [])]
        token = {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(self.scratch / "token"),
            MARK: self.mark,
        }
        return subprocess.Popen(
            [sys.executable, "-m", "algophase", *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "OMP_NUM_THREADS": "1", **token},
            start_new_session=True,
        )

    def processes(self, name: bytes = b"") -> list[int]:
        """Those of our own clusters, by the mark in their environment; name: how their command
        begins, or ends.
        """
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if (
                    entry.name.isdecimal()
                    and f"{MARK}={self.mark}".encode() in (entry / "environ").read_bytes()
                ):
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                    if words[0].startswith(name) or words[0].endswith(name):
                        found.append(int(entry.name))
        return [pid for pid in found if pid != os.getpid()]

    def clear(self) -> None:
        for pid in self.processes():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def attack(self, draw: random.Random, number: int) -> tuple[str, str | None]:
        """Gives what was killed, and the problem if there is one."""
        kind, out = KINDS[number % len(KINDS)], self.scratch / "ray-killed"
        shutil.rmtree(out, ignore_errors=True)
        process = self.start(out, "ray")
        begun, victim = time.monotonic(), list[int]()
        try:
            while not victim and process.poll() is None and time.monotonic() < begun + PATIENCE:
                if self.processes(WORKER):
                    time.sleep(draw.uniform(0, 1.5))
                    found = self.processes(b"gcs_server" if kind == "head" else WORKER)
                    victim = [process.pid] if kind == "driver" else found[:1]
                time.sleep(0.02)
            for pid in victim:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if kind == "head":  # Ray itself gives up after a minute, and takes the driver along
                time.sleep(draw.uniform(0, 2))
                process.send_signal(signal.SIGINT)
            try:
                said, _ = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                return kind, "it hung"
            if kind == "worker" and process.returncode != 0:
                return kind, f"the sweep did not get over it: {said.decode()[-800:]}"
        finally:
            self.clear()
        done = self.start(out, "local")
        said, _ = done.communicate(timeout=PATIENCE)
        if done.returncode != 0:
            return kind, f"it could not be finished: {said.decode()[-800:]}"
        return (kind if victim else "none, it had ended"), kill_sweep.difference(
            self.reference, out
        )
