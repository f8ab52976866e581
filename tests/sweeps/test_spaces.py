from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from algophase.core.errors import InputError
from algophase.core.settings import LINEAR_MODELS, LinearSettings, RunSettings, TransformerSettings
from algophase.sweeps.distributions import Choice, Fixed, Grid, Uniform
from algophase.sweeps.shipped_spaces import PAPER_SPACES, find_space
from algophase.sweeps.spaces import LARGEST_SEED, Space, load_space

FILE = """
title = "a few shapes"
runs = 40
[task]
modulus = {choice = [7, 11]}
[network]
kind = "transformer"
width = {log_uniform = [8, 32], integer = true}
layers = {grid = [1, 2]}
activation = {grid = ["relu", "gelu"]}
attention_rate = {uniform = [0, 1]}
[training]
epochs = 50
"""

# Published tables are made of these runs: an id that changes here is a table that no longer says
# what its runs are.
GOLDEN = {
    "fixed-width": ["da98a6312948", "5ed1f0b86c80", "591c17f4a6b9", "e8242a771978"],
    "varying-width": ["d4bf93677a37", "1437ee1ba6da", "e9571bc7317f", "d7629ac9a5bf"],
}


def transformer(run: RunSettings) -> TransformerSettings:
    assert isinstance(run.network, TransformerSettings)
    return run.network


@pytest.fixture
def own(tmp_path: Path) -> Space:
    path = tmp_path / "shapes.toml"
    path.write_text(FILE)
    return load_space(path)


@pytest.mark.parametrize("name", GOLDEN)
def test_the_first_runs_of_the_paper_spaces_never_change(name: str) -> None:
    assert [run.run_id for run in PAPER_SPACES[name].sample(range(4))] == GOLDEN[name]


def test_a_run_is_its_settings() -> None:
    run = PAPER_SPACES["varying-width"].run(3)
    assert run == RunSettings(
        network=TransformerSettings(width=291, attention_rate=0.6858860931470281),
        seed=21454301104774,
    )


def test_a_run_depends_on_its_index_seed_and_space_alone(own: Space) -> None:
    alone = own.run(7, seed=3)
    assert own.sample(range(20), seed=3)[7] == alone
    assert own.sample([9, 7, 8], seed=3)[1] == alone
    assert own.run(7, seed=4) != alone
    assert own.run(8, seed=3).seed != alone.seed
    renamed = Space("another", own.settings)
    assert renamed.run(7, seed=3).seed != alone.seed
    recounted = Space(own.name, own.settings, runs=3, title="another title")
    assert recounted.run(7, seed=3) == alone


def test_another_setting_leaves_the_others_as_they_were() -> None:
    few = PAPER_SPACES["fixed-width"]
    more = Space(
        few.name,
        {"training.weight_decay": Uniform(1, 2), **few.settings, "task.modulus": Choice((59, 61))},
    )
    for index in range(5):
        before, after = few.run(index), more.run(index)
        assert transformer(before).attention_rate == transformer(after).attention_rate
        assert before.seed == after.seed
        assert before.training.weight_decay != after.training.weight_decay


def test_arms_of_a_draw_differ_in_the_arm_alone() -> None:
    drawn = {"name": "paired", "network": {"attention_rate": {"uniform": [0, 1]}}}
    arms = [{"training": {"optimizer": "adamw"}}, {"training": {"optimizer": "muon"}}]
    space = Space.from_dict({**drawn, "arms": arms})
    assert Space.from_dict(space.to_dict()).sample(range(4)) == space.sample(range(4))
    first, second, third, fourth = space.sample(range(4))
    plain = Space.from_dict(drawn)
    assert (first, third) == (plain.run(0), plain.run(1))  # an arm's own setting draws nothing
    for before, after in ((first, second), (third, fourth)):
        assert after.training.optimizer == "muon"
        assert replace(after, training=before.training) == before
    with pytest.raises(InputError, match="optimizer is 'lion'; choose one of adamw, muon, sgd"):
        Space.from_dict({**drawn, "arms": [{"training": {"optimizer": "lion"}}]})
    with pytest.raises(InputError, match="two are the same"):
        Space.from_dict({**drawn, "arms": [arms[0], arms[0]]})


def test_seeds_of_runs_are_all_different_and_exact_in_a_table_of_floats() -> None:
    seeds = [run.seed for run in PAPER_SPACES["fixed-width"].sample(range(300))]
    assert len(set(seeds)) == 300
    assert all(0 <= seed < LARGEST_SEED <= 2**53 for seed in seeds)


def test_varying_width_is_log_uniform_and_its_rate_uniform() -> None:
    runs = [transformer(run) for run in PAPER_SPACES["varying-width"].sample(range(800))]
    widths = np.array([run.width for run in runs])
    assert widths.min() >= 32
    assert widths.max() <= 512
    inside = np.random.default_rng(0).uniform(
        -0.5, 0.5, len(widths)
    )  # a width stands for all that round to it
    spread = np.log(np.clip(widths + inside, 32, 512) / 32) / np.log(16)
    assert scipy.stats.kstest(spread, "uniform").pvalue > 0.01
    assert scipy.stats.kstest([run.attention_rate for run in runs], "uniform").pvalue > 0.01
    assert abs(scipy.stats.spearmanr(widths, [run.attention_rate for run in runs]).statistic) < 0.1


def test_the_paper_spaces_have_the_counts_and_shapes_that_were_promised() -> None:
    counts = {space.name: space.runs for space in PAPER_SPACES.values()}
    linear = {f"linear-{model}": 300 for model in LINEAR_MODELS}
    assert counts == {
        "fixed-width": 4000,
        "varying-width": 2000,
        "layers-2": 300,
        "layers-3": 300,
        "layers-4": 300,
        "gelu": 500,
        "separate-vocabularies": 500,
        "equals-sign": 500,
        **linear,
        "wide": 48,
        "clock-training": 256,
        "pizza-training": 256,
    }
    for space in PAPER_SPACES.values():
        first = space.run(0)
        assert first.task.modulus == 59
        assert first.training.epochs == 20_000
        assert space.title
        assert space.figures
    assert {transformer(run).layers for run in PAPER_SPACES["layers-3"].sample(range(5))} == {3}
    assert transformer(PAPER_SPACES["gelu"].run(0)).activation == "gelu"
    assert PAPER_SPACES["separate-vocabularies"].run(0).task.separate_vocabularies
    assert PAPER_SPACES["equals-sign"].run(0).task.equals_sign
    assert transformer(PAPER_SPACES["wide"].run(0)) == TransformerSettings(
        width=1024, attention_rate=1.0
    )
    for name, rate in (("clock-training", 1.0), ("pizza-training", 0.0)):
        assert transformer(PAPER_SPACES[name].run(0)) == TransformerSettings(attention_rate=rate)
        assert {600, 2000} < set(PAPER_SPACES[name].snapshots)
        assert max(PAPER_SPACES[name].snapshots) < 20_000
    alpha = PAPER_SPACES["linear-alpha"].run(0)
    assert alpha.network == LinearSettings("alpha")
    assert (alpha.training.beta2, alpha.training.warmup_steps) == (0.999, 0)


def test_grids_are_gone_through_cell_by_cell_the_last_fastest(own: Space) -> None:
    assert own.cells == 4
    cells = [(transformer(run).layers, transformer(run).activation) for run in own.sample(range(6))]
    assert cells == [(1, "relu"), (1, "gelu"), (2, "relu"), (2, "gelu"), (1, "relu"), (1, "gelu")]
    assert own.run(0).seed != own.run(4).seed


def test_the_order_of_sections_does_not_move_the_cells() -> None:
    """A sweep's own file has the sections in a fixed order, whatever order they were given in."""
    grids = {"network.layers": Grid((1, 2)), "task.modulus": Grid((5, 7))}
    first, second = Space("s", grids), Space("s", dict(reversed(grids.items())))
    assert (
        first.sample(range(4))
        == second.sample(range(4))
        == Space.from_dict(first.to_dict()).sample(range(4))
    )
    assert [run.task.modulus for run in first.sample(range(4))] == [5, 5, 7, 7]


def test_a_space_without_a_grid_has_one_cell() -> None:
    assert PAPER_SPACES["fixed-width"].cells == 1


def test_a_file_is_read_and_written_and_read_again(own: Space) -> None:
    assert (own.name, own.title, own.runs, own.kind) == (
        "shapes",
        "a few shapes",
        40,
        "transformer",
    )
    assert own.settings["network.width"] == Uniform(8, 32, integer=True, logarithmic=True)
    assert own.settings["training.epochs"] == Fixed(50)
    again = Space.from_dict(own.to_dict())
    assert again == own
    assert again.sample(range(9)) == own.sample(range(9))


@pytest.mark.parametrize("name", PAPER_SPACES)
def test_paper_spaces_survive_their_own_file(name: str) -> None:
    space = PAPER_SPACES[name]
    assert Space.from_dict(space.to_dict()).sample(range(3)) == space.sample(range(3))


def test_a_name_inside_the_file_is_the_name(tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    path.write_text('name = "mine"\n[network]\nattention_rate = 0.5\n')
    assert load_space(path).name == "mine"
    assert find_space(str(path)).runs == 100
    assert find_space("gelu") is PAPER_SPACES["gelu"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "color = 1",
            "a space has no entry color; choose from name, title, runs, snapshots, hidden, "
            "paired, history_stride, arms, task, network, training",
        ),
        ("network = 3", "network is 3; it must be a table of settings"),
        ("title = 3", "title of a space is 3; it must be text"),
        ("name = 3", "name of a space is 3; it must be text"),
        ('name = ""', "the name of a space is ''; use 1 to 60 letters"),
        ('name = "a/b"', "the name of a space is 'a/b'"),
        ('name = ".."', "the name of a space is '..'; .* no dot at the beginning"),
        (f'name = "{"x" * 61}"', "use 1 to 60 letters"),
        ("snapshots = 3", "snapshots of a space is 3; it must be a list of epochs"),
        ("hidden = 1", "hidden of a space is 1; it must be true or false"),
        ("snapshots = [2, -1]", "a snapshot of space file is -1; it must be an epoch"),
        ("runs = 0", "runs of space file is 0; it must be an integer from 1 to 1,000,000"),
        (
            "runs = 1000001",
            "runs of space file is 1000001; it must be an integer from 1 to 1,000,000",
        ),
        (f"runs = {10**400}", r"runs of space file is 10{76}\.\.\.; it must be"),
        ("runs = 1.5", "runs of space file is 1.5"),
        ("runs = true", "runs of space file is True"),
        (
            '[network]\nkind = "clock"',
            "network.kind of space file is 'clock'; choose one of transformer, linear",
        ),
        ("[network]\nkind = {choice = [1]}", "network.kind of space file is {'choice'"),
        (
            "[network]\nhidden = 3",
            "network of space file has no setting 'hidden'; choose from width, layers, heads",
        ),
        (
            '[network]\nkind = "linear"\nlayers = 1',
            "has no setting 'layers'; choose from model, width, hidden",
        ),
        (
            "[network]\nwidth = {uniform = [8, 16]}",
            "width is 8.0; it must be an integer of at least 4",
        ),
        (
            "[network]\nwidth = {grid = [8, 2]}",
            "space file: width is 2; it must be an integer of at least 4",
        ),
        (
            "[network]\nattention_rate = {uniform = [0, 2]}",
            r"attention_rate is 2.0; it must be a number in \[0, 1\]",
        ),
        (
            '[network]\nactivation = {choice = ["relu", "tanh"]}',
            "activation is 'tanh'; choose one of relu, gelu",
        ),
        (
            '[network]\nkind = "linear"\n[task]\nequals_sign = true',
            "a linear network reads the tokens a b",
        ),
        ("[network]\nwidth = {grid = []}", r"grid of network.width is \[\]"),
        ("[network", "is not a TOML file"),
        (
            f"[network]\nwidth = {'[' * 5000}{']' * 5000}",
            "is nested too deeply: a setting is a value, or a table of one list",
        ),
        (f"[network]\nwidth = 1{'0' * 5000}", "holds an integer of more than 4,300 digits"),
        (
            "",
            r"file.toml defines no space; give it one of the tables \[task\], \[network\], "
            r"\[training\]",
        ),
    ],
)
def test_what_is_wrong_with_a_space_is_named_before_anything_runs(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "file.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        load_space(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_space_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        InputError,
        match=r"space is 'fixed'; choose one of fixed-width, varying-width, .*\.toml",
    ):
        find_space("fixed")
    with pytest.raises(InputError, match=r"cannot read .*gone.toml: No such file"):
        find_space(str(tmp_path / "gone.toml"))
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not a TOML file"):
        find_space(str(tmp_path / "binary.toml"))
    with pytest.raises(
        InputError, match="space s has no section 'optimizer'; choose from task, network, training"
    ):
        Space("s", {"optimizer.rate": Fixed(1)})


def test_a_run_that_cannot_be_is_named_with_its_index() -> None:
    space = Space(
        "s",
        {"network.model": Choice(("alpha", "delta")), "network.width": Choice((8, 9))},
        kind="linear",
    )
    with pytest.raises(InputError, match=r"run \d+ of space s: width is 9; model delta"):
        space.sample(range(50))


def test_a_space_is_put_on_other_groups() -> None:
    space = Space.from_dict({"name": "own", "task": {"modulus": 7}, "network": {"width": 8}})
    one = space.on_groups(["S5"])
    assert (one.name, one.run(3).task.group, one.run(3).task.modulus) == ("own-S5", "S5", 120)
    several = space.on_groups(["S3", "Z7", "(1 2 3); (1 2)"])
    assert [run.task.modulus for run in several.sample(range(4))] == [6, 7, 6, 6]
    assert several.name.startswith("own-groups-")
    assert Space.from_dict(several.to_dict()).sample(range(3)) == several.sample(range(3))
    with pytest.raises(InputError, match="group is 'E8'; give a name such as Z59"):
        space.on_groups(["E8"])
    with pytest.raises(InputError, match="modulus is 59; group S5 has 120 elements"):
        Space.from_dict({"name": "own", "task": {"modulus": 59, "group": "S5"}})
