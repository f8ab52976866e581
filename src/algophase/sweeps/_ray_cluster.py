"""A Ray cluster as a sweep needs it: connecting with clear errors, what it can run, and a board
for the progress of tasks.
"""

import contextlib
import importlib
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from algophase.core.errors import InputError, import_extra

log = logging.getLogger(__name__)

CHOICES = (
    "give HOST:PORT of the cluster's head, auto on a machine of the cluster, or none to "
    "start one here"
)
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 60.0  # two on a quiet machine; Ray itself tries a dead address for minutes
POST_SECONDS = 1.0
LOOPBACK = "127.0.0.1"
NO_CLUSTER = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"

SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # How Ray will do it; it warns of the change otherwise
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_IGNORE_UNHANDLED_ERRORS": "1",  # of tasks that were given up
}


def import_ray() -> Any:
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    return import_extra("ray", "executor ray needs Ray", "ray")


def check_address(address: str | None) -> None:
    """That a Ray cluster answers there, in seconds."""
    if address is None or import_ray().is_initialized():
        return
    address_option = ["--address", address] if address != "auto" else []
    if address_option:
        _reach(address)
    command = [sys.executable, "-m", "ray.scripts.scripts", "health-check", *address_option]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_SECONDS)
    except subprocess.TimeoutExpired:
        raise InputError(
            f"no Ray cluster answers at address {address!r} within {ANSWER_SECONDS:g} s; {CHOICES}"
        ) from None
    if answer.returncode != 0:
        reason = (answer.stderr.strip() or "no reason given").splitlines()[-1]
        raise InputError(f"cannot use the Ray cluster at address {address!r} ({reason}); {CHOICES}")


def _reach(address: str) -> None:
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise InputError(f"address is {address!r}; {CHOICES}")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except OSError as error:
        raise InputError(
            f"nothing answers at address {address!r} ({error.strerror or error}); {CHOICES}"
        ) from None


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Ray, connected; disconnected after, and shut down if it was started here. A connection
    that there is already stays.
    """
    ray = import_ray()
    if ray.is_initialized():
        if address is not None:
            raise InputError(
                f"address is {address!r}, and this process is connected to Ray already: leave "
                "the address out"
            )
        yield ray
        return
    local_options: dict[str, Any] = {}
    if address is None:
        local_options = {
            "include_dashboard": False,
            "num_cpus": len(os.sched_getaffinity(0)),
            "_node_ip_address": LOOPBACK,
        }
    try:
        with contextlib.nullcontext() if local_options == {} else _on_loopback():
            ray.init(
                # "local", not None: that would join a cluster that happens to run here.
                address or "local",
                log_to_driver=False,
                logging_level=logging.ERROR,
                **local_options,
            )
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        where = (
            "cannot start Ray here"
            if address is None
            else f"cannot use the Ray cluster at address {address!r}"
        )
        raise InputError(f"{where} ({reason})") from None
    if address is None and ray.util.get_node_ip_address() != LOOPBACK:
        log.warning(
            "this version of Ray listens on every network interface: other machines can reach "
            "it while the sweep runs"
        )
    try:
        yield ray
    finally:
        ray.shutdown()


@contextmanager
def _on_loopback() -> Iterator[None]:
    """A cluster that is started meanwhile listens on this machine alone.

    Ray has no option for that. It does so on systems where it knows no clusters; this makes it take
    ours for one.
    """
    constants: Any = importlib.import_module("ray._private.ray_constants")
    old_constant = getattr(constants, "ENABLE_RAY_CLUSTER", True)
    old_variable = os.environ.get(NO_CLUSTER)
    constants.ENABLE_RAY_CLUSTER = False  # in this process
    os.environ[NO_CLUSTER] = "0"  # in the processes it starts
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = old_constant
        del os.environ[NO_CLUSTER]
        if old_variable is not None:
            os.environ[NO_CLUSTER] = old_variable


def alive(ray: Any, resource: str) -> dict[str, int]:
    """The nodes that can run tasks of one CPU, or of one CPU and one GPU, and how many at a
    time.
    """
    tasks_by_node = {}
    for node in ray.nodes():
        resources = node["Resources"] if node["Alive"] else {}
        count = int(min(resources.get("CPU", 0), resources.get(resource, 0)))
        if count:
            tasks_by_node[node["NodeID"]] = count
    return tasks_by_node


class Board:
    """Where tasks post how far they are: by shard, the node and the fraction done. Only for
    show: nothing depends on it.
    """

    def __init__(self, ray: Any) -> None:
        # Local, so that Ray sends the class itself and its process imports nothing of ours
        class Posts:
            def __init__(self) -> None:
                self.posts: dict[int, tuple[str, float]] = {}

            def post(self, number: int, node: str, fraction: float) -> None:
                self.posts[number] = node, fraction

            def read(self) -> dict[int, tuple[str, float]]:
                return self.posts

        strategies = importlib.import_module("ray.util.scheduling_strategies")
        strategy = strategies.NodeAffinitySchedulingStrategy
        on_this_node = strategy(ray.get_runtime_context().get_node_id(), soft=True)
        remote = ray.remote(num_cpus=0, max_restarts=-1, scheduling_strategy=on_this_node)
        actor = remote(Posts).remote()
        self.ray = ray
        self.actor = actor
        self.known: dict[int, tuple[str, float]] = {}
        self.asked = self.actor.read.remote()

    @staticmethod
    def poster(actor: Any, number: int) -> Callable[[float], None]:
        """For a task: posts a fraction, not too often."""
        node = import_ray().get_runtime_context().get_node_id()
        posted = -POST_SECONDS

        def post(fraction: float) -> None:
            nonlocal posted
            if time.monotonic() - posted >= POST_SECONDS:
                posted = time.monotonic()
                actor.post.remote(number, node, fraction)

        return post

    def read(self) -> dict[int, tuple[str, float]]:
        """The latest answer that is there. Never waits."""
        ready, _ = self.ray.wait([self.asked], timeout=0)
        if ready:
            try:
                self.known = self.ray.get(self.asked)
            except self.ray.exceptions.RayError:
                self.known = {}
            self.asked = self.actor.read.remote()
        return self.known

    def close(self) -> None:
        self.ray.kill(self.actor)
