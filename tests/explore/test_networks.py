import json
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from commands import PATIENCE

from algophase.core.errors import InputError
from algophase.explore import networks as module
from algophase.explore.jobs import MOST_REMEMBERED, MOST_WAITING, Job
from algophase.explore.networks import Look, Networks, frequencies, switched_off
from algophase.explore.view import REST
from algophase.explore.visible_runs import open_sweep
from algophase.runs.rows import analysis_of_row
from algophase.storage.formats.ours import load_network
from algophase.storage.network_files import save
from algophase.storage.sweep_directory import SweepDirectory


def opened(sweep: Path, cache: Path) -> Networks:
    return Networks(open_sweep(sweep), sweep, cache)


def settled(networks: Networks, run_id: str) -> Look:
    """What there is of a run once nothing is under way."""
    until = time.monotonic() + PATIENCE
    while (look := networks.look(run_id)).job is not None:
        assert time.monotonic() < until
        time.sleep(0.02)
    return look


@pytest.fixture
def copy(tiny: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny, tmp_path / "sweep"))


def run_ids(networks: Networks) -> list[str]:
    return list(networks.data.runs.columns.rows_by_id)


def test_kept_weights_are_shown_at_once_with_what_the_table_says(
    tiny: Path, tmp_path: Path
) -> None:
    networks = opened(tiny, tmp_path)
    look = networks.look(run_ids(networks)[0])
    assert look.specimen is not None
    assert not look.specimen.notes
    row = networks.data.row(0)
    analysis = look.specimen.analysis
    assert (analysis.verdict.label, list(analysis.verdict.reasons)) == (
        row["verdict"],
        row["reasons"],
    )
    assert networks.look(run_ids(networks)[0]).specimen is look.specimen


def test_weights_that_were_not_kept_are_trained_on_request_and_found_again(
    tiny: Path, tmp_path: Path
) -> None:
    networks = opened(tiny, tmp_path / "cache")
    before = sorted(path.name for path in tiny.rglob("*"))
    run_id = run_ids(networks)[1]
    assert networks.look(run_id) == Look(can_train=True)
    job = networks.train(run_id)
    look = settled(networks, run_id)
    assert (job.state, job.epochs, job.epoch) == ("done", 30, 30)
    assert networks.version == 1
    assert not networks.busy
    assert look.specimen is not None
    assert look.specimen.notes[-1].startswith("identical: ")
    assert (tmp_path / "cache" / f"{run_id}.safetensors").exists()
    assert sorted(path.name for path in tiny.rglob("*")) == before  # looking changes nothing
    again = opened(tiny, tmp_path / "cache").look(run_id)
    assert again.specimen is not None
    assert again.specimen.analysis.verdict.reasons == look.specimen.analysis.verdict.reasons


def test_a_cache_in_the_sweep_is_written_as_its_only_writer(copy: Path) -> None:
    networks = opened(copy, copy / "networks")
    run_id = run_ids(networks)[1]
    with SweepDirectory(copy).hold("a sweep"):
        networks.train(run_id)
        look = settled(networks, run_id)
    assert look.specimen is not None
    assert "it could not be saved" in look.specimen.notes[-1]
    assert "in use by process" in look.specimen.notes[-1]
    other = run_ids(networks)[2]
    networks.train(other)
    settled(networks, other)
    assert SweepDirectory(copy).kept() == {run_ids(networks)[0], other}


def test_training_can_be_stopped(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    networks = opened(tiny, tmp_path)
    run_id = run_ids(networks)[1]

    def slow(rows: object, groups: object, follow: Any) -> None:
        from algophase.core.progress import Progress

        while True:
            follow(Progress(seconds_left=125.0, epoch=3, epochs=1000))
            time.sleep(0.005)

    monkeypatch.setattr(module, "train_again", slow)
    job = networks.train(run_id)
    assert networks.train(run_id) is job  # once is enough
    while not job.status.startswith("training: epoch"):
        assert job.state == "active", job.status
        time.sleep(0.005)
    assert job.status == "training: epoch 3 of 1,000, 2:05 left"
    assert networks.look(run_id).job is job
    networks.stop(run_id)
    look = settled(networks, run_id)
    assert job.state == "stopped"
    assert look == Look(problems=("training was stopped; nothing was saved",), can_train=True)
    networks.train(run_id)
    networks.close()
    assert not networks.busy


def test_requests_wait_in_one_queue_that_has_an_end(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    networks = opened(tiny, tmp_path)
    first = run_ids(networks)[1]
    row, run = networks._run(first)
    monkeypatch.setattr(networks, "_run", lambda run_id: (row, run))
    begun, go_on = threading.Event(), threading.Event()

    def slow(job: Job) -> None:
        begun.set()
        go_on.wait()
        raise InputError("not today")

    monkeypatch.setattr(networks, "_train", slow)
    before = threading.active_count()
    running = networks.train(first)
    begun.wait()  # it waits no more
    asked, refused = list[Job](), list[str]()
    for number in range(1000):
        try:
            asked.append(networks.train(f"{number:012x}"))
        except InputError as error:
            refused.append(str(error))
    assert threading.active_count() == before + 1
    assert len(asked) == MOST_WAITING
    assert len(refused) == 1000 - len(asked)
    assert set(refused) == {
        f"{MOST_WAITING} networks wait for training already: try again when they are done"
    }
    assert networks.train(first) is running
    assert networks.train(asked[3].run_id) is asked[3]
    networks.stop(asked[3].run_id)  # one that waits is out at once
    assert asked[3].state == "stopped"
    assert networks.train("another").active
    go_on.set()
    while networks.busy:
        time.sleep(0.005)
    assert {job.state for job in asked} == {"failed", "stopped"}
    for number in range(MOST_REMEMBERED + 50):
        networks.train(f"{number:x}")
        while networks.busy:
            time.sleep(0.0005)
    assert len(networks.jobs._jobs) <= MOST_REMEMBERED + 1
    networks.close()


def test_other_weights_than_the_tables_are_analyzed_anew(copy: Path, tmp_path: Path) -> None:
    networks = opened(copy, tmp_path)
    run_id = run_ids(networks)[0]
    path = copy / "networks" / f"{run_id}.safetensors"
    network = load_network(path)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(1.3)
    save(network, path, overwrite=True)
    job = networks.look(run_id).job
    assert job is None or job.kind == "analyzing"
    specimen = settled(networks, run_id).specimen
    assert specimen is not None
    assert specimen.notes[0].startswith("not the ")
    assert specimen.analysis.distance_irrelevance != networks.data.row(0)["distance_irrelevance"]


def test_weights_of_a_run_that_diverged_are_shown_as_such(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    networks = opened(copy, tmp_path)
    run_id = run_ids(networks)[0]
    row = networks.data.row(0) | {"diverged_at": 7, "verdict": None, "paper_label": None}
    changed = replace(networks.data, read_row=lambda _number: row)
    monkeypatch.setattr(networks, "_data", changed)
    specimen = settled(networks, run_id).specimen
    assert specimen is not None
    assert specimen.notes == (
        "training diverged at epoch 7: these are the weights it was stopped with",
    )


def damage(copy: Path, run_id: str, how: str) -> None:
    tensors, description = (
        copy / "networks" / f"{run_id}{suffix}" for suffix in (".safetensors", ".json")
    )
    if how == "cut short":
        tensors.write_bytes(tensors.read_bytes()[:100])
    elif how == "other bytes":
        tensors.write_bytes(tensors.read_bytes()[:-4] + b"\0\0\1\0")
    elif how == "no description":
        description.unlink()
    elif how == "a link":
        shutil.move(tensors, copy / "elsewhere")
        tensors.symlink_to(copy / "elsewhere")
    elif how == "a directory":
        tensors.unlink()
        tensors.mkdir()
    elif how == "other settings":
        network = load_network(tensors)
        data = json.loads(description.read_text())
        for described in (data, data["run"]):
            described["network"]["attention_rate"] = 0.125
        description.write_text(json.dumps({**data, "description_sha256": ""}))
        assert network is not None


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ("cut short", "is not a readable safetensors file"),
        ("other bytes", "does not match the checksum"),
        ("no description", "is not a regular file"),
        ("a link", "is not a regular file: it is not read"),
        ("a directory", "is not a regular file"),
        ("other settings", "holds a network of other settings"),
    ],
)
def test_damaged_weights_are_told_and_can_be_trained_again(
    copy: Path, tmp_path: Path, how: str, problem: str
) -> None:
    networks = opened(copy, tmp_path / "cache")
    run_id = run_ids(networks)[0]
    damage(copy, run_id, how)
    look = networks.look(run_id)
    assert look.specimen is None
    assert look.can_train
    assert problem in look.problems[0]
    networks.train(run_id)
    assert settled(networks, run_id).specimen is not None
    assert opened(copy, tmp_path / "cache").look(run_id).specimen is not None  # the cache stands in


@pytest.mark.parametrize("run_id", ["../../secret", "", "x" * 12, "000000000000", "<script>"])
def test_only_ids_of_the_table_are_looked_for(tiny: Path, tmp_path: Path, run_id: str) -> None:
    look = opened(tiny, tmp_path).look(run_id)
    assert look.specimen is None
    assert not look.can_train
    assert "there is no run" in look.problems[0]


def test_an_id_that_climbs_is_refused_though_the_table_has_it(tiny: Path, tmp_path: Path) -> None:
    table = open_sweep(tiny)
    table.runs.columns.rows_by_id["../../secret"] = 0
    networks = Networks(table, tiny, tmp_path)
    assert (
        "an id has letters, digits, dots, dashes and" in networks.look("../../secret").problems[0]
    )


def test_a_row_whose_settings_are_not_its_ids_is_refused(tiny: Path, tmp_path: Path) -> None:
    table = open_sweep(tiny)
    row = table.row(0)
    run_id = next(iter(table.runs.columns.rows_by_id))
    wider = replace(table, read_row=lambda _number: row | {"width": 16})
    look = Networks(wider, tiny, tmp_path).look(run_id)
    assert "its row was changed" in look.problems[0]
    assert not look.can_train
    huge = row | {"modulus": 100_003, "run_id": None}
    huge_table = replace(table, read_row=lambda _number: huge)
    assert "too many to show" in Networks(huge_table, tiny, tmp_path).look(run_id).problems[0]


def test_a_row_that_says_anything_is_no_analysis(tiny: Path, tmp_path: Path) -> None:
    networks = opened(tiny, tmp_path)
    specimen = networks.look(run_ids(networks)[0]).specimen
    assert specimen is not None
    row = networks.data.row(0)
    assert analysis_of_row(row, specimen.circles) is not None
    for name, value in (
        ("verdict", "<script>"),
        ("reasons", None),
        ("accuracy", "high"),
        ("frequencies", [99]),
        ("shape", "a dog"),
        ("circularity", True),
    ):
        assert analysis_of_row({**row, name: value}, specimen.circles) is None, name
    assert analysis_of_row({}, []) is None


def test_circles_are_switched_off_one_by_one(gallery: Path, tmp_path: Path) -> None:
    networks = opened(gallery, tmp_path)
    specimen = settled(networks, "da98a6312948").specimen
    assert specimen is not None
    known = frequencies(specimen)
    assert switched_off(specimen, []).accuracy == 1.0
    assert switched_off(specimen, [9999]) is switched_off(specimen, [])
    one = switched_off(specimen, known[:1])
    assert one.accuracy < 1
    assert one.correct.shape == (59, 59)
    assert switched_off(specimen, known[:1]) is one
    assert switched_off(specimen, [*known, REST]).accuracy < 0.05
    kept = switched_off(specimen, [REST])  # only circles
    assert kept.accuracy > 0.9
    assert not torch.equal(kept.correct, specimen.whole.correct)
    assert "logits" not in vars(
        specimen
    )  # all logits of a network that is kept would take much memory
