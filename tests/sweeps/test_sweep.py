"""A sweep on this machine: what it writes, going on, stopping, being killed, a full disk, a
second writer.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import kill_sweep
import pytest

from algophase.core.errors import InputError
from algophase.core.interrupts import Stopped
from algophase.core.progress import Progress, ignore
from algophase.networks import Network, initialize
from algophase.runs.overview import outcomes
from algophase.runs.read_runs import read_frame
from algophase.storage import load
from algophase.storage._checkpoints import DirectoryCheckpoints
from algophase.storage.runs_table import OpenTable, Row, shard_paths
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps._budget import Trial
from algophase.sweeps._ray_task import _joined
from algophase.sweeps.backlog import Finished
from algophase.sweeps.options import Options
from algophase.sweeps.spaces import Space
from algophase.sweeps.sweep import Outcome, Request, begin, sweep_here

TINY = Space.from_dict(
    {
        "name": "tiny",
        "task": {"modulus": 7},
        "network": {"width": {"choice": [8, 12]}, "attention_rate": {"uniform": [0, 1]}},
        "training": {"epochs": 40},
    }
)
CPU = Options(device="cpu")
Watch = Callable[[Progress], None]


def run(path: Path, runs: int = 6, **options: object) -> Outcome:
    return sweep_here(Request(TINY, runs, **{"options": CPU, **options}), SweepDirectory(path))  # type: ignore[arg-type]


def test_a_row_has_every_setting_and_what_analyze_prints(tmp_path: Path) -> None:
    from algophase import analyze, train

    outcome = run(tmp_path, keep_weights="all")
    assert (outcome.ended, outcome.done, outcome.new) == ("complete", 6, 6)
    runs = SweepDirectory(tmp_path).runs()
    assert runs["index"].tolist() == list(range(6))
    for index, row in enumerate(runs.to_dict("records")):
        settings = TINY.run(index)
        assert row["run_id"] == settings.run_id
        assert row["attention_rate"] == settings.network.attention_rate  # type: ignore[attr-defined]
        assert row["seed"] == settings.seed
        network = load(SweepDirectory(tmp_path).kept_files()[settings.run_id])
        record = analyze(network).to_dict()
        for name in (
            "accuracy",
            "gradient_symmetricity",
            "distance_irrelevance",
            "circularity",
            "verdict",
        ):
            assert row[name] == record[name]
        assert list(row["frequencies"]) == [circle["frequency"] for circle in record["circles"]]
        alone = train([settings], device="cpu")[0]
        assert row["parameter_norm"] == pytest.approx(alone.history.parameter_norm[-1], rel=1e-6)


def test_the_same_command_goes_on_and_more_runs_extend_it(tmp_path: Path) -> None:
    run(tmp_path, 4)
    before = {path: path.read_bytes() for path in shard_paths(tmp_path)}
    assert before
    again = run(tmp_path, 4)
    assert (again.ended, again.new, again.done) == ("complete", 0, 4)
    assert run(tmp_path, 6).new == 2
    assert all(path.read_bytes() == content for path, content in before.items())
    assert SweepDirectory(tmp_path).runs()["index"].tolist() == list(range(6))


def test_parts_make_the_whole(tmp_path: Path) -> None:
    run(tmp_path / "first", part=(1, 2))
    run(tmp_path / "second", part=(2, 2))
    run(tmp_path / "whole")
    first, second, whole = (
        SweepDirectory(tmp_path / name).runs() for name in ("first", "second", "whole")
    )
    assert first["index"].tolist() == [0, 2, 4]
    assert second["index"].tolist() == [1, 3, 5]
    assert {*first["run_id"], *second["run_id"]} == set(whole["run_id"])


def test_a_finished_part_leaves_no_checkpoint_of_finished_runs(
    dawdle: Watch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = SweepDirectory(tmp_path)
    often = Options(device="cpu", checkpoint_seconds=1e-6)
    with monkeypatch.context() as patch:
        patch.setattr(
            DirectoryCheckpoints, "remove", lambda *_: None
        )  # killed after the row, before this
        patch.setattr(SweepDirectory, "complete", lambda _: None)
        run(tmp_path, part=(1, 2), options=often)
    left = directory.checkpoints().pending()
    assert {one.run_id for held in left for one in held.runs} <= {
        run_id for run_id, _ in directory.finished().values()
    }
    assert left
    sweep_here(Request(TINY, 6, part=(2, 2), minutes=60, options=CPU), directory, dawdle)
    unfinished = [held for held in directory.checkpoints().pending() if held not in left]
    assert unfinished
    assert run(tmp_path, part=(1, 2)).ended == "complete"
    assert directory.checkpoints().pending() == unfinished  # the other part goes on from it
    run(tmp_path, part=(2, 2))
    assert not (tmp_path / ".checkpoints").exists()


def test_fewer_runs_lose_no_checkpoint_of_others(dawdle: Watch, tmp_path: Path) -> None:
    directory = SweepDirectory(tmp_path)
    run(tmp_path, 2)
    sweep_here(Request(TINY, 6, minutes=60, options=CPU), directory, dawdle)
    waiting = directory.checkpoints().pending()
    assert waiting
    assert run(tmp_path, 2).ended == "complete"
    assert directory.checkpoints().pending() == waiting
    assert run(tmp_path, 6).ended == "complete"
    assert not (tmp_path / ".checkpoints").exists()


def test_a_request_that_cannot_be_met_does_not_bind_the_directory(tmp_path: Path) -> None:
    for options in (Options(device="cpu", engine="foo"), Options(device="cpu", precision="tf32")):
        with pytest.raises(InputError):
            run(tmp_path, options=options)
        assert not list(tmp_path.iterdir())
    directory = SweepDirectory(tmp_path)
    directory.describe(TINY.to_dict(), 7)  # as a sweep does that is killed before its first run
    assert run(tmp_path, 2, seed=8).ended == "complete"
    assert directory.description()["seed"] == 8
    with pytest.raises(InputError, match="space tiny with seed 8"):
        run(tmp_path, 2, seed=7)


def test_ctrl_c_during_the_analysis_loses_nothing(tmp_path: Path, said: list[str]) -> None:
    def press(progress: Progress) -> None:
        if progress.doing.startswith("analyzing network 1 "):
            os.kill(os.getpid(), signal.SIGINT)

    options = Options(device="cpu", ensemble_size=2)
    outcome = sweep_here(Request(TINY, 6, options=options), SweepDirectory(tmp_path), press)
    assert (outcome.ended, outcome.new) == ("interrupted", 2)
    assert any("analyzed and saved first" in line for line in said)
    assert len(SweepDirectory(tmp_path).runs()) == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert sweep_here(Request(TINY, 6, options=options), SweepDirectory(tmp_path)).new == 4


def test_ctrl_c_twice_during_the_analysis_ends_at_once(tmp_path: Path) -> None:
    def press(progress: Progress) -> None:
        if progress.doing.startswith("analyzing"):
            os.kill(os.getpid(), signal.SIGINT)

    outcome = sweep_here(
        Request(TINY, 6, options=Options(device="cpu", ensemble_size=3)),
        SweepDirectory(tmp_path),
        press,
    )
    assert (outcome.ended, outcome.new) == ("interrupted", 0)


def test_a_time_budget_stops_it_and_nothing_is_lost(dawdle: Watch, tmp_path: Path) -> None:
    first = run(tmp_path / "budget", minutes=1e-6)
    assert (first.ended, first.new) == ("out of time", 0)
    slow = sweep_here(
        Request(TINY, 6, minutes=60, options=CPU), SweepDirectory(tmp_path / "budget"), dawdle
    )
    assert (slow.ended, slow.new) == ("out of time", 0)
    assert list((tmp_path / "budget" / ".checkpoints").iterdir())
    last = run(tmp_path / "budget")
    assert (last.ended, last.done) == ("complete", 6)
    run(tmp_path / "whole")
    assert kill_sweep.difference(tmp_path / "whole", tmp_path / "budget") is None


def test_an_ensemble_too_long_for_the_budget_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    same = Space.from_dict(
        {
            "name": "same",
            "task": {"modulus": 7},
            "network": {"width": 8},
            "training": {"epochs": 40},
        }
    )

    class Impatient(Trial):
        def __call__(self, progress: Progress) -> None:
            if len(self.part.runs) > 3:
                self.fewer = self.part.only(range(3))
                raise Stopped("too slow")

    monkeypatch.setattr("algophase.sweeps.sweep.Trial", Impatient)
    monkeypatch.setattr("algophase.sweeps.sweep.can_be_cut", lambda part: True)
    outcome = sweep_here(Request(same, 6, minutes=5, options=CPU), SweepDirectory(tmp_path))
    assert (outcome.ended, outcome.new) == ("complete", 6)  # there is time for the others as well
    assert [line for line in said if "in time" in line] == [
        "6 networks would not end in time: training 3 of them"
    ]
    assert sum(line.startswith("training ") for line in said) == 1  # one plan, announced once
    assert sorted(record["runs"] for record in SweepDirectory(tmp_path).calls()) == [3, 3]


def test_an_ensemble_is_cut_twice_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    same = Space.from_dict(
        {
            "name": "same",
            "task": {"modulus": 7},
            "network": {"width": 8},
            "training": {"epochs": 40},
        }
    )

    class Never(Trial):
        def __call__(self, progress: Progress) -> None:
            self.fewer = self.part.only(range(len(self.part.runs) - 1))
            raise Stopped("too slow")

    with monkeypatch.context() as patch:
        patch.setattr("algophase.sweeps.sweep.Trial", Never)
        patch.setattr("algophase.sweeps.sweep.can_be_cut", lambda part: True)
        patch.setattr(
            "algophase.sweeps.sweep.fitting",
            lambda group, speed, _: None if speed else group,
        )
        outcome = sweep_here(Request(same, 6, minutes=5, options=CPU), SweepDirectory(tmp_path))
    assert (outcome.ended, outcome.new) == ("out of time", 4)
    assert SweepDirectory(tmp_path).runs()["index"].tolist() == [0, 1, 2, 3]
    last = sweep_here(Request(same, 6, options=CPU), SweepDirectory(tmp_path))
    assert (last.ended, last.new) == ("complete", 2)


@pytest.fixture
def side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to three ensembles at once, as on a GPU, and an epoch a turn."""
    for module in ("sweeps.sweep", "training.run.train"):
        monkeypatch.setattr(f"algophase.{module}.together", lambda groups: min(3, len(groups)))
    monkeypatch.setattr("algophase.training.run.loop.CHUNK_SECONDS", 0.0)


def test_ensembles_side_by_side_make_the_same_table(
    dawdle: Watch, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    options = Options(device="cpu", ensemble_size=1)
    run(tmp_path / "whole", keep_weights="all", options=options)
    request.getfixturevalue("side_by_side")
    run(tmp_path / "beside", keep_weights="all", options=options)
    assert kill_sweep.difference(tmp_path / "whole", tmp_path / "beside") is None
    late = SweepDirectory(tmp_path / "late")
    slow = sweep_here(
        Request(TINY, 6, minutes=60, keep_weights="all", options=options), late, dawdle
    )
    assert (slow.ended, slow.new) == ("out of time", 0)
    assert len(late.checkpoints().pending()) == 3  # all that trained
    run(tmp_path / "late", keep_weights="all", options=options)
    assert kill_sweep.difference(tmp_path / "whole", tmp_path / "late") is None


@pytest.mark.usefixtures("side_by_side")
def test_ctrl_c_during_the_analysis_saves_those_that_train_beside(tmp_path: Path) -> None:
    def press(progress: Progress) -> None:
        if progress.doing.startswith("analyzing network 1 "):
            os.kill(os.getpid(), signal.SIGINT)

    request = Request(TINY, 6, options=Options(device="cpu", ensemble_size=1))
    assert sweep_here(request, SweepDirectory(tmp_path), press).new == 1
    assert [held.epoch for held in SweepDirectory(tmp_path).checkpoints().pending()] == [40, 40]
    assert sweep_here(request, SweepDirectory(tmp_path)).new == 5


@pytest.mark.usefixtures("side_by_side")
def test_what_is_in_training_counts_once(tmp_path: Path) -> None:
    seen: list[float] = []

    def report(progress: Progress) -> None:
        seen.append(progress.share)

    sweep_here(
        Request(TINY, 6, options=Options(device="cpu", ensemble_size=1)),
        SweepDirectory(tmp_path),
        report,
    )
    assert seen == pytest.approx(sorted(seen))  # no step back when one of three is recorded
    assert seen[0] == 0
    assert seen[-1] == pytest.approx(1)
    assert max(later - one for one, later in pairwise(seen)) < 0.05


def test_it_says_where_it_stands(tmp_path: Path) -> None:
    seen: list[tuple[int, int, int]] = []

    def report(progress: Progress) -> None:
        seen.append((progress.done, progress.total, sum(progress.counts.values())))

    sweep_here(
        Request(TINY, 6, options=Options(device="cpu", ensemble_size=2)),
        SweepDirectory(tmp_path),
        report,
    )
    assert seen[0] == (0, 6, 0)
    assert seen[-1] == (6, 6, 6)
    assert {done for done, _, _ in seen} >= {0, 2, 4, 6}


def test_the_time_left_is_told_when_the_speed_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before that, building the first ensemble is nearly all of the time that has passed."""
    request = Request(TINY, 6, options=CPU)
    directory = SweepDirectory(tmp_path)
    seen: list[Progress] = []
    now = 1000.0
    monkeypatch.setattr("algophase.sweeps.sweep.time.monotonic", lambda: now)
    with directory.hold("this test"):
        _, call = begin(request, request.members(), directory, seen.append)
    call.started = now
    call.show()
    now += 3
    call.under_way = call.work_left / 20_000  # an epoch
    call.show()
    now += 30
    call.show()
    call.under_way = call.work_left / 4
    call.show()
    call.work = call.work_left
    call.work_left = call.under_way = 0.0
    call.show()
    left = [progress.time_left for progress in seen]
    assert left[:2] == ["", ""]
    assert left[2] != ""
    assert left[3:] == ["1:39 left", "0:00 left"]


def test_weights_are_kept_for_each_verdict(tmp_path: Path) -> None:
    run(tmp_path, 5, keep_weights=2)
    table = SweepDirectory(tmp_path)
    kept = table.runs().set_index("run_id").loc[sorted(table.kept())]
    assert kept["verdict"].value_counts().max() == 2
    run(tmp_path, 6, keep_weights=2)
    assert table.kept() == set(kept.index) | (table.kept() - set(kept.index))
    assert (
        table.runs().set_index("run_id").loc[sorted(table.kept())]["verdict"].value_counts().max()
        == 2
    )


def test_killed_between_a_network_and_its_row_no_more_are_kept_than_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    options = Options(device="cpu", ensemble_size=1)
    with monkeypatch.context() as patch:
        patch.setattr(SweepDirectory, "add", die)
        with pytest.raises(Killed):
            run(tmp_path / "killed", part=(2, 2), keep_weights=1, options=options)
    run(tmp_path / "killed", keep_weights=1, options=options)  # run 0 comes first now
    run(tmp_path / "whole", keep_weights=1, options=options)
    assert kill_sweep.difference(tmp_path / "whole", tmp_path / "killed") is None


def test_every_shard_says_where_it_comes_from(tmp_path: Path) -> None:
    run(tmp_path, command="algophase sweep tiny")
    calls = SweepDirectory(tmp_path).calls()
    assert sum(about["runs"] for about in calls) == 6
    about = calls[0]
    assert about["command"] == "algophase sweep tiny"
    assert about["device"].startswith("CPU")
    assert set(about) >= {"version", "commit", "date", "training_seconds", "analysis_seconds"}


def test_a_table_that_other_code_began_is_continued_only_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run(tmp_path, 2)
    monkeypatch.setattr("algophase.sweeps.provenance.version", lambda: "99.0")
    assert run(tmp_path, 2).ended == "complete"  # nothing is added
    with pytest.raises(InputError, match=r"version 99\.0, .*--mix-versions"):
        run(tmp_path, 3)
    assert len(SweepDirectory(tmp_path).finished()) == 2
    assert "both" not in caplog.text
    assert run(tmp_path, 3, mix_versions=True).new == 1
    assert "the table will have runs of both" in caplog.text
    assert run(tmp_path / "fresh", 1).new == 1


def test_an_ensemble_that_other_code_began_is_continued_only_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dawdle: Watch
) -> None:
    request = Request(TINY, 2, minutes=1, options=CPU)
    assert (
        sweep_here(request, SweepDirectory(tmp_path), dawdle).done == 0
    )  # out of time: saved as it is
    monkeypatch.setattr("algophase.sweeps.provenance.version", lambda: "99.0")
    with pytest.raises(InputError, match=r"--mix-versions"):
        run(tmp_path, 2)
    assert run(tmp_path, 2, mix_versions=True).new == 2


def test_a_directory_takes_only_its_own_space_and_seed(tmp_path: Path) -> None:
    run(tmp_path, 1)
    with pytest.raises(
        InputError,
        match=r"space tiny with seed 0; .*space tiny with seed 1",
    ):
        run(tmp_path, 1, seed=1)
    other = Space.from_dict({**TINY.to_dict(), "training": {"epochs": 41}})
    with pytest.raises(InputError, match="another space of that name"):
        sweep_here(Request(other, 1, options=CPU), SweepDirectory(tmp_path))
    (tmp_path / "foreign").mkdir()
    shutil.copytree(shard_paths(tmp_path)[0].parent, tmp_path / "foreign" / "runs-000000-1-x")
    with pytest.raises(InputError, match=r"no sweep\.json"):
        run(tmp_path / "foreign", 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"runs": 0}, "runs is 0"),
        ({"part": (3, 2)}, "part is 3/2"),
        (
            {"runs": 3, "part": (5, 5)},
            "part is 5/5, which has none of the 3 runs; choose I/5 with I from 1 to 3",
        ),
        ({"keep_weights": "some"}, "keep-weights is 'some'; choose none, all"),
        ({"keep_weights": 0}, "keep-weights is 0"),
        ({"minutes": 0.0}, "minutes is 0.0"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_a_wrong_request_is_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Request(TINY, **{"runs": 1, **options})  # type: ignore[arg-type]


def test_a_network_that_diverges_has_a_row_without_metrics(tmp_path: Path) -> None:
    wild = Space.from_dict(
        {
            "name": "wild",
            "task": {"modulus": 7},
            "network": {"width": 8},
            "training": {"epochs": 30, "warmup_steps": 0, "learning_rate": {"grid": [1e-3, 1e38]}},
        }
    )
    outcome = sweep_here(Request(wild, 2, options=CPU), SweepDirectory(tmp_path))
    calm, lost = SweepDirectory(tmp_path).runs().to_dict("records")
    assert calm["verdict"] is not None
    assert lost["diverged_at"] >= 0
    assert not isinstance(lost["verdict"], str)
    assert outcome.counts["diverged"] == 1


def test_a_network_that_cannot_be_analyzed_is_counted_as_such_now_and_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(networks: Sequence[Network], **_: object) -> list[InputError]:
        return [InputError(f"{network.id} is too large") for network in networks]

    monkeypatch.setattr("algophase.sweeps.backlog.analyze_each", refuse)
    assert run(tmp_path, 3).counts == {"not analyzed": 3}
    assert run(tmp_path, 3).counts == {"not analyzed": 3}
    assert outcomes(read_frame(OpenTable(tmp_path))).tolist() == ["not analyzed"] * 3


def test_of_each_outcome_so_many_networks_are_kept_and_a_diverged_one_is_not_one_that_was_not_analyzed(
    tmp_path: Path,
) -> None:
    runs = {index: TINY.run(index) for index in range(4)}
    networks = {one.run_id: initialize(one) for one in runs.values()}
    epochs = {0: 3, 1: None, 2: 5, 3: None}  # where they diverged
    rows: list[Row] = [
        {
            "index": index,
            "run_id": runs[index].run_id,
            "verdict": None,
            "diverged_at": epochs[index],
        }
        for index in runs
    ]
    request, directory = Request(TINY, 4, keep_weights=1, options=CPU), SweepDirectory(tmp_path)
    with directory.hold("a test"):
        _, call = begin(request, runs, directory, ignore)
        call.add(Finished(rows[:2], networks, 0.0, 0.0), "cpu")
        assert directory.kept() == {runs[0].run_id, runs[1].run_id}
        done, again = begin(request, runs, directory, ignore)
        assert done == {0: "diverged", 1: "not analyzed"}
        again.add(Finished(rows[2:], networks, 0.0, 0.0), "cpu")
        assert again.counts == {"diverged": 2, "not analyzed": 2}
        assert directory.kept() == {runs[0].run_id, runs[1].run_id}
    assert _joined([Finished(rows, networks, 0.0, 0.0)], 1).networks.keys() == {
        runs[0].run_id,
        runs[1].run_id,
    }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    directory = tmp_path_factory.mktemp("killing")
    space = directory / "tiny.toml"
    space.write_text(kill_sweep.SPACE)
    kill_sweep.finish(space, directory / "undisturbed")
    return space, directory / "undisturbed"


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "seconds",
    [
        pytest.param(0.0, marks=SLOW),
        pytest.param(0.15, marks=SLOW),
        0.4,
        pytest.param(0.8, marks=SLOW),
    ],
)
def test_killed_and_finished_it_gives_the_same_table(
    undisturbed: tuple[Path, Path], tmp_path: Path, seconds: float
) -> None:
    space, reference = undisturbed
    kill_sweep.kill_at(space, tmp_path / "out", seconds)
    kill_sweep.finish(space, tmp_path / "out")
    assert kill_sweep.difference(reference, tmp_path / "out") is None


def test_a_second_process_is_told_who_holds_the_directory(
    undisturbed: tuple[Path, Path], tmp_path: Path
) -> None:
    space, reference = undisturbed
    out = tmp_path / "out"
    first = kill_sweep.start(space, out)
    while not (out / ".lock").exists() or not (out / ".lock").read_text():
        assert first.poll() is None
        time.sleep(0.002)
    first.send_signal(signal.SIGSTOP)  # so that it cannot end first
    with pytest.raises(
        InputError, match=rf"in use by process {first.pid} on \S+ since \S+ \(.*sweep.*tiny\.toml"
    ):
        sweep_here(Request(TINY, 1, options=CPU), SweepDirectory(out))
    first.send_signal(signal.SIGCONT)
    first.communicate()
    assert first.returncode == 0
    assert kill_sweep.difference(reference, out) is None


def test_a_full_disk_stops_it_with_a_clear_line_and_it_goes_on_after(
    undisturbed: tuple[Path, Path], tmp_path: Path
) -> None:
    """In a mount namespace of its own: a small tmpfs fills up, grows, and the same command
    finishes.
    """
    space, reference = undisturbed
    disk = tmp_path / "disk"
    disk.mkdir()
    sweep_there = f"{sys.executable} -m algophase sweep {space} --out {disk}/out"
    sweep_there += " " + " ".join(kill_sweep.COMMAND)
    script = f"""
        set -e
        mount -t tmpfs -o size=100k tmpfs {disk} || exit 77
        export OMP_NUM_THREADS=1
        if {sweep_there}; then exit 78; fi
        mount -o remount,size=20m {disk}
        {sweep_there}
        cp -r {disk}/out {tmp_path}/out
    """
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("no unshare command to make a small file system with")
    done = subprocess.run(
        [unshare, "--user", "--map-root-user", "--mount", "sh", "-c", script],
        capture_output=True,
        text=True,
    )
    if (
        done.returncode == 77
        or "unshare failed" in done.stderr
        or "Operation not permitted" in done.stderr
    ):
        pytest.skip(f"this machine lets us mount nothing: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert kill_sweep.difference(reference, tmp_path / "out") is None


def test_the_description_of_a_sweep_is_checked(tmp_path: Path) -> None:
    run(tmp_path, 1)
    (tmp_path / "sweep.json").write_text(json.dumps({"format": "algophase-sweep", "version": 99}))
    with pytest.raises(InputError, match="format is 'algophase-sweep' 99"):
        run(tmp_path, 1)
    (tmp_path / "sweep.json").write_text("{")
    with pytest.raises(InputError, match="not valid JSON"):
        run(tmp_path, 1)
