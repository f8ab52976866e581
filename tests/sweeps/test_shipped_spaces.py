"""The spaces beyond the paper's: what they hold, that runs of one shape train together, and that
even moduli go all the way.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from commands import invoke
from shard_files import read_table

from algophase.analysis.hidden.look_inside import look_inside
from algophase.core.settings import TransformerSettings
from algophase.storage import load
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps.distributions import Fixed
from algophase.sweeps.options import Options
from algophase.sweeps.shipped_spaces import OUR_SPACES, PAPER_SPACES, find_space
from algophase.sweeps.spaces import Space
from algophase.sweeps.sweep import Request, sweep_here
from algophase.training.run.plan import plan

# Tables are made of these runs: an id that changes here is a table that no longer says what its
# runs are.
GOLDEN = {
    "moduli": ["c71e3ba37dcb", "a99deda49249"],
    "large-moduli": ["d93ec476a369", "54c2d05252d4"],
    "largest-modulus": ["a3a71b8e6376", "9ec23f228eea"],
    "cosets": ["aba00df2998f", "2d8916dafbdd"],
    "data": ["ad5fe0c7e977", "f961f5a5b977"],
    "decay": ["eca5091c6de1", "90b70cffdc20"],
    "groups": ["a09cd8f3f5df", "2a04744b19e2"],
    "groups-arms": ["6e063cf1301c", "7c43333e77c9"],
    "heads": ["1a673006fbd1", "7e076d10129a"],
    "emergence": ["b7d9a6eb6dcf", "bac6b9b98c14"],
    "hidden-layer": ["8d0b2164d1b0", "baf649a28b7f"],
    "trios": ["53caa82cdcc3", "94de725b8db4"],
    "norm-arms": ["a0e2f57a7d41", "93780736476b"],
    "learnable-norm-arms": ["583557fdb989", "03fad55bb9a8"],
    "muon-arms": ["7705d326005d", "307bed8ed2b6"],
    "stablemax-arms": ["8255495bee12", "ca8bc4c5d897"],
    "float64-arms": ["b12b84bcb9d5", "5bd76e26885d"],
    "decay-arms": ["dccb28aba60e", "a2f183eba14d"],
}


@pytest.mark.parametrize("name", OUR_SPACES)
def test_first_runs_never_change(name: str) -> None:
    space = OUR_SPACES[name]
    assert [run.run_id for run in space.sample(range(2))] == GOLDEN[name]
    assert Space.from_dict(space.to_dict()).sample(range(3)) == space.sample(range(3))
    assert find_space(name) is space


def test_names_are_not_the_papers() -> None:
    assert not OUR_SPACES.keys() & PAPER_SPACES.keys()
    assert not any(space.figures or space.paper_runs for space in OUR_SPACES.values())


def test_every_cell_has_its_hundred_runs() -> None:
    moduli, data, decay, heads = (OUR_SPACES[name] for name in ("moduli", "data", "decay", "heads"))
    assert [space.runs for space in (moduli, data, decay, heads)] == [3900, 700, 700, 400]
    runs = moduli.sample(range(moduli.runs))
    cells = Counter((run.task.modulus, run.network.attention_rate) for run in runs)  # type: ignore[attr-defined]
    assert set(cells.values()) == {100}
    assert {rate for _, rate in cells} == {0.0, 0.5, 1.0}
    primes = {modulus for modulus, _ in cells if all(modulus % n for n in range(2, modulus))}
    assert {modulus for modulus, _ in cells} - primes == {60, 64, 100}
    assert (min(primes), max(primes), len(primes)) == (17, 127, 10)
    assert Counter(run.task.training_fraction for run in data.sample(range(700)))[0.3] == 100
    assert Counter(run.training.weight_decay for run in decay.sample(range(700)))[0.0] == 100
    sizes = {(run.network.heads, run.network.head_size) for run in heads.sample(range(8))}  # type: ignore[attr-defined]
    assert sizes == {(1, 128), (2, 64), (4, 32), (8, 16)}


@pytest.mark.parametrize(
    ("name", "ensembles"),
    [("moduli", 13), ("data", 7), ("decay", 1), ("heads", 4), ("emergence", 1)],
)
def test_runs_of_one_shape_train_together(name: str, ensembles: int) -> None:
    space = OUR_SPACES[name]
    groups = plan(space.sample(range(2 * space.cells)), device="cpu", ensemble_size=2 * space.cells)
    assert len(groups) == ensembles


def test_even_and_composite_moduli_get_a_row(tmp_path: Path) -> None:
    space = OUR_SPACES["moduli"]
    small = {"task.modulus": Fixed(8), "network.width": Fixed(8), "training.epochs": Fixed(3)}
    space = replace(space, settings={**space.settings, **small})
    sweep_here(Request(space, 3, options=Options(device="cpu")), SweepDirectory(tmp_path))
    rows = read_table(tmp_path).to_pylist()
    assert [(row["modulus"], row["attention_rate"]) for row in rows] == [
        (8, 0.0),
        (8, 0.5),
        (8, 1.0),
    ]
    assert all(row["verdict"] for row in rows)
    assert isinstance(space.run(0).network, TransformerSettings)


def test_the_first_epochs_are_looked_at_to_the_end(tmp_path: Path) -> None:
    space = OUR_SPACES["emergence"]
    assert {run.training.epochs for run in space.sample(range(3))} == {600}
    assert max(space.snapshots) < 600
    small = {"task.modulus": Fixed(7), "network.width": Fixed(8), "training.epochs": Fixed(25)}
    followed = replace(space, settings={**space.settings, **small}, snapshots=(10,))
    sweep_here(
        Request(followed, 3, options=Options(device="cpu", snapshot_epochs=(10,))),
        SweepDirectory(tmp_path),
    )
    moments = SweepDirectory(tmp_path).moments()
    assert moments is not None
    assert moments["epoch"].to_pylist() == [10, 25] * 3
    assert all(value is not None for value in moments["program.answer_accuracy"].to_pylist())


def test_a_sweep_looks_inside_hidden_layers_as_analyze_does(tmp_path: Path) -> None:
    settings = [
        "[task]",
        "modulus = 7",
        "[network]",
        "width = 8",
        "attention_rate = 0.9",
        "[training]",
        "epochs = 20",
    ]
    (tmp_path / "small.toml").write_text("\n".join(["runs = 2", *settings]))
    done = invoke(
        "sweep",
        tmp_path / "small.toml",
        "--hidden",
        "--out",
        tmp_path / "out",
        "--keep-weights",
        "all",
    )
    assert done.exit_code == 0, done.output
    files = SweepDirectory(tmp_path / "out").kept_files()
    for row in read_table(tmp_path / "out").to_pylist():
        inside = look_inside(load(files[row["run_id"]])).to_dict()
        assert row["hidden.interaction_share"] == pytest.approx(
            inside["geometry"]["interaction_share"]
        )
        assert row["hidden.clusters.units"] == [
            each["units"] for each in inside["geometry"]["clusters"]
        ]
        assert row["hidden.quadrature.error"] == pytest.approx(
            [each["error"] for each in inside["neurons"]["quadrature"]]
        )
        without = inside["without_interactions"]
        assert row["hidden.without_interactions.accuracy"] == without["accuracy"]
        assert row["hidden.without_interactions.gradient_symmetricity"] == pytest.approx(
            without["gradient_symmetricity"]
        )
    plain = invoke("sweep", tmp_path / "small.toml", "--runs", "3", "--out", tmp_path / "out")
    # its rows would lack the columns
    assert (
        "was begun with a look inside hidden layers: say --hidden, or choose another directory"
        in str(plain.exception)
    )


def test_the_space_says_whether_to_look_inside() -> None:
    """A table that says so without the columns would be a trap."""
    assert Request(OUR_SPACES["hidden-layer"], 1).options.hidden
    assert not Request(OUR_SPACES["heads"], 1, options=Options(hidden=True)).options.hidden


def test_the_list_says_whose_they_are() -> None:
    listed = invoke("sweep", "--list").output
    assert "moduli" in listed
    assert "spaces without figures are ours, not the paper's" in listed
