"""A sweep on Ray: the table of a local sweep, also when workers and nodes die; stopping and
going on; clear errors.
"""

import fcntl
import os
import secrets
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import kill_sweep
import pytest

from algophase.core import threads
from algophase.core.errors import InputError
from algophase.core.progress import Progress
from algophase.storage.runs_table import Row
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps import _ray_cluster as ray_cluster
from algophase.sweeps import _ray_executor as ray_executor
from algophase.sweeps import _ray_task as ray_task
from algophase.sweeps._ray_executor import sweep_on_ray
from algophase.sweeps._ray_task import TaskRuns
from algophase.sweeps.backlog import Finished
from algophase.sweeps.options import Options
from algophase.sweeps.spaces import Space
from algophase.sweeps.sweep import Request, sweep_here

if find_spec("ray") is None:  # not imported yet: it reads its settings when it is
    pytest.skip("Ray, which the extra `ray` brings, is not installed", allow_module_level=True)

CPU = Options(device="cpu", ensemble_size=2, snapshot_epochs=(3,))  # so that moments come over too
REAL_SHARDS = ray_executor._shards


def tiny(epochs: int) -> Space:
    return Space.from_dict(
        {
            "name": "tiny",
            "task": {"modulus": 7},
            "network": {"width": {"choice": [8, 12, 16]}, "attention_rate": {"uniform": [0, 1]}},
            "training": {"epochs": epochs},
        }
    )


@pytest.fixture(scope="session", autouse=True)
def token(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A token for these clusters alone. Without one, Ray would put one into the home directory.

    One for the whole session: Ray reads it once in a process, so that a second one, made after
    tests of another module had their turn, would be known to the new cluster's server and not to
    us.
    """
    path = tmp_path_factory.mktemp("ray") / "token"
    path.write_text(secrets.token_hex(32))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN_PATH", str(path))
        yield


@pytest.fixture
def one_cluster() -> Iterator[None]:
    """Tests in other processes wait: two clusters would ask for the same ports."""
    with (Path(tempfile.gettempdir()) / "algophase-test-ray.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture
def one_thread(one_cluster: None) -> Iterator[None]:
    """As a task has: how many threads share a sum decides how it is rounded."""
    with threads.one_thread():
        yield


@pytest.fixture
def two_nodes(one_cluster: None) -> Iterator[Any]:
    """A cluster of two nodes with one CPU each."""
    ray_cluster.import_ray()
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    cluster.add_node(num_cpus=1)
    yield cluster
    cluster.shutdown()


def at_work(node: Any) -> list[int]:
    """Processes of a node that are in the middle of a task: Ray names them after it."""
    [raylet], found = node.all_processes["raylet"], []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and (entry / "cmdline").read_bytes().startswith(
                b"ray::make_shard"
            ):
                parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
                found += [int(entry.name)] * (int(parent) == raylet.process.pid)
        except OSError:
            continue
    return found


def reached(pid: int, number: signal.Signals) -> bool:
    """Send a signal; False where the process is gone."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def listening() -> list[str]:
    """Addresses on which Ray's processes below this one wait for others, as the kernel writes
    them.
    """
    parents, sockets = dict[int, int](), dict[int, set[str]]()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal():
                parents[int(entry.name)] = int(
                    (entry / "stat").read_text().rpartition(")")[2].split()[1]
                )
                sockets[int(entry.name)] = {os.readlink(link) for link in (entry / "fd").iterdir()}
        except OSError:
            continue

    def ours(pid: int) -> bool:
        return pid == os.getpid() or (pid in parents and ours(parents[pid]))

    held = set[str]().union(*(names for pid, names in sockets.items() if ours(pid)))
    lines = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    return [
        fields[1].partition(":")[0]
        for fields in lines
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in held
    ]


@pytest.mark.slow
def test_the_table_is_that_of_a_local_sweep(
    one_thread: None, tmp_path: Path, said: list[str]
) -> None:
    request = Request(tiny(50), 12, options=CPU, keep_weights="all")
    sweep_here(request, SweepDirectory(tmp_path / "local"))
    heard = list[list[str]]()

    def listen(progress: Progress) -> None:
        if "running" in progress.doing:
            heard.append(listening())

    outcome = sweep_on_ray(request, SweepDirectory(tmp_path / "ray"), None, 4, listen)
    loopback = {"0100007F", "0000000000000000FFFF00000100007F"}
    assert heard
    assert all(
        {*addresses} <= loopback and len(addresses) > 3 for addresses in heard
    )  # no other machine can reach them
    assert not any("listens on every network interface" in line for line in said)
    assert (outcome.ended, outcome.done, outcome.new) == ("complete", 12, 12)
    assert any(line.startswith("12 runs in ") for line in said)
    assert kill_sweep.difference(tmp_path / "local", tmp_path / "ray") is None
    [about, *_] = SweepDirectory(tmp_path / "ray").calls()
    assert about["device"] == "CPU, 1 thread"
    again = sweep_on_ray(request, SweepDirectory(tmp_path / "ray"))
    assert (again.ended, again.new) == ("complete", 0)


@pytest.mark.slow
def test_a_killed_worker_and_a_killed_node_leave_no_trace(
    one_thread: None, two_nodes: Any, tmp_path: Path
) -> None:
    request = Request(tiny(800), 12, options=CPU)
    sweep_here(request, SweepDirectory(tmp_path / "undisturbed"))
    first, second = two_nodes.head_node, two_nodes.worker_nodes.copy().pop()
    killed: list[int] = []

    def disturb(_: Progress) -> None:
        """Once both nodes are at work, end the worker of one, and the other as a whole. A worker is
        stopped until then: on a busy machine one node may be done before the other has begun.
        """
        if killed:
            return
        workers = [*at_work(first), *at_work(second)]
        stopped = [pid for pid in workers if reached(pid, signal.SIGSTOP)]
        if len(stopped) == 2:
            reached(stopped[0], signal.SIGKILL)
            two_nodes.remove_node(second, allow_graceful=False)
            reached(stopped[1], signal.SIGKILL)  # stopped, it cannot see that its node is gone
            killed.extend(stopped)

    outcome = sweep_on_ray(
        request, SweepDirectory(tmp_path / "ray"), two_nodes.address, 2, report=disturb
    )
    assert len(killed) == 2
    assert not any(Path(f"/proc/{pid}").exists() for pid in killed)
    assert (outcome.ended, outcome.new) == ("complete", 12)
    assert kill_sweep.difference(tmp_path / "undisturbed", tmp_path / "ray") is None
    others = {path.name for path in (tmp_path / "ray").iterdir() if not path.match("runs-*")}
    assert others == {"sweep.json"}


@pytest.mark.slow
def test_it_stops_and_goes_on(
    one_thread: None,
    dawdle: Callable[[Progress], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    said: list[str],
) -> None:
    """Out of time, Ctrl-C, a wrong version, shards that fail: what is there stays, and the same
    request finishes.
    """
    request = Request(tiny(100), 12, options=CPU)
    sweep_here(request, SweepDirectory(tmp_path / "local"))
    there = SweepDirectory(tmp_path / "ray")

    def press(progress: Progress) -> None:
        if "running" in progress.doing:
            signal.raise_signal(signal.SIGINT)

    with ray_cluster.connected(None):
        with pytest.raises(InputError, match="address is 'auto'"):
            sweep_on_ray(request, there, "auto", 2)

        early = SweepDirectory(tmp_path / "early")
        hurried = sweep_on_ray(replace(request, minutes=60), early, None, 2, report=dawdle)
        assert hurried.ended == "out of time"
        assert hurried.done < 12
        assert "shards in flight given up, to be done next time" in said[-1]

        pressed = SweepDirectory(
            tmp_path / "pressed"
        )  # afresh, so that more is left than can end before the key is pressed
        stopped = sweep_on_ray(request, pressed, None, 2, report=press)
        assert stopped.ended == "interrupted"
        assert stopped.done < 12
        for some in (early, pressed):
            assert sweep_on_ray(request, some, None, 2).ended == "complete"
            assert kill_sweep.difference(tmp_path / "local", some.path) is None

        with monkeypatch.context() as patch:
            patch.setattr(ray_executor, "software", lambda: {"algophase": "0.0.1", "torch": "2.0"})
            with pytest.raises(
                InputError,
                match=r"node \S+ .*driver has algophase 0\.0\.1 and torch 2\.0",
            ):
                sweep_on_ray(request, there, None, 2)

        with monkeypatch.context() as patch:
            patch.setattr(ray_executor, "_shards", failing(12))
            with pytest.raises(
                InputError,
                match=r"3 shards failed and 0 did not: .* precision is 'tf32'; on cpu choose",
            ):
                sweep_on_ray(request, there, None, 2)
            patch.setattr(ray_executor, "_shards", failing(1))
            with pytest.raises(
                InputError,
                match=r"1 of \d shards failed, the last one: run \d+ and 1 more: precision is "
                r"'tf32'",
            ):
                sweep_on_ray(request, there, None, 2)
        assert len(there.finished()) == 10
        finished = sweep_on_ray(request, there, None, 2)
    assert (finished.ended, finished.done, finished.new) == ("complete", 12, 2)
    assert kill_sweep.difference(tmp_path / "local", there.path) is None


def failing(count: int) -> Callable[..., list[TaskRuns]]:
    """Shards of which so many ask for what a CPU does not have."""

    def shards(*arguments: Any) -> list[TaskRuns]:
        made = REAL_SHARDS(*arguments)
        broken = [
            replace(shard, options=replace(shard.options, precision="tf32"))
            for shard in made[:count]
        ]
        return broken + made[count:]

    return shards


def test_without_ray_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        InputError, match=r'executor ray needs Ray.* pip install "algophase\[ray\]"'
    ):
        sweep_on_ray(Request(tiny(10), 1), SweepDirectory(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_an_address_without_a_cluster_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_cluster, "ANSWER_SECONDS", 2.0)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(
            InputError,
            match=f"address '127.0.0.1:{port}' .*HOST:PORT",
        ):
            sweep_on_ray(
                Request(tiny(10), 1), SweepDirectory(tmp_path / "out"), f"127.0.0.1:{port}"
            )
    with pytest.raises(InputError, match=f"address '127.0.0.1:{port}' .*HOST:PORT"):
        sweep_on_ray(Request(tiny(10), 1), SweepDirectory(tmp_path / "out"), f"127.0.0.1:{port}")
    for address in ("head", "ray://head:10001", "head:port", "head:99999", ""):
        with pytest.raises(InputError, match=f"address is '{address}'; give HOST:PORT"):
            sweep_on_ray(Request(tiny(10), 1), SweepDirectory(tmp_path / "out"), address)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "shard", "message"),
    [
        (
            Options(device="cuda:1"),
            None,
            "device is 'cuda:1'; on Ray, which hands out the GPUs, choose auto, cpu or cuda",
        ),
        (Options(), 0, "shard is 0; it must be an integer of at least 1"),
    ],
)
def test_what_ray_does_not_take_is_named(
    options: Options, shard: int | None, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        sweep_on_ray(
            Request(tiny(10), 1, options=options), SweepDirectory(tmp_path / "out"), None, shard
        )
    assert not (tmp_path / "out").exists()


def test_shards_for_gpus_hold_networks_that_are_padded_alike(said: list[str]) -> None:
    space = Space.from_dict(
        {
            "name": "wide",
            "network": {"width": {"grid": [100, 128, 200, 120]}},
            "training": {"epochs": 30},
        }
    )
    request = Request(space, 20, options=Options(precision="tf32"))
    runs = request.members()
    shards = ray_executor._shards(request, runs, {}, "GPU", 3)
    assert sorted(index for shard in shards for index in shard.indices) == list(range(20))
    assert all(len(shard.indices) <= 3 and len(shard.ensembles) == 1 for shard in shards)
    assert all(shard.options.device == "cuda" for shard in shards)
    widths = [{run.network.width for run in shard.ensembles[0]} for shard in shards]  # type: ignore[attr-defined]
    assert {frozenset(found) for found in widths} == {
        frozenset(found) for found in ({200}, {128, 120}, {120}, {100})
    }
    assert widths[0] == {200}
    # What is finished is missing and changes nothing else.
    left = ray_executor._shards(request, runs, {0: "Pizza", 2: None}, "GPU", 3)
    assert {frozenset(shard.indices) for shard in left} == {
        frozenset(shard.indices) - {0, 2} for shard in shards
    }
    assert said == []
    with pytest.raises(InputError, match="precision is 'quarter'"):
        ray_executor._shards(
            replace(request, options=Options(precision="quarter")), runs, {}, "GPU", 3
        )
    with pytest.raises(InputError, match="engine is 'fast'"):
        ray_executor._shards(replace(request, options=Options(engine="fast")), runs, {}, "GPU", 3)


def test_only_networks_that_may_be_kept_travel() -> None:
    rows: list[Row] = [
        {"run_id": name, "verdict": verdict}
        for name, verdict in [("a", "Pizza"), ("b", None), ("c", "Pizza"), ("d", "Clock")]
    ]
    network: Any = object()
    made = [
        Finished(rows[:2], {"a": network, "b": network}, 1.0, 2.0),
        Finished(rows[2:], {"c": network, "d": network}, 3.0, 4.0),
    ]
    for keep, expected in [("none", ""), ("all", "abcd"), (1, "abd"), (2, "abcd")]:
        joined = ray_task._joined(made, keep)  # type: ignore[arg-type]
        assert "".join(joined.networks) == expected
        assert (joined.rows, joined.training_seconds, joined.analysis_seconds) == (rows, 4.0, 6.0)
