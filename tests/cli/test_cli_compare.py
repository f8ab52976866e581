import json
from pathlib import Path

import numpy
import pandas
import pytest
from commands import call, invoke
from shard_files import write_shard
from typer.testing import Result

from algophase.core.errors import InputError

HEADER = (
    "C,act_fn,attn_coeff,d_model,diff_vocab,eqn_sign,n_layers,"
    "gradient_sim,circularity,distance_irrelevance,validation_accuracy"
)


def run(*arguments: object) -> Result:
    return invoke("compare", *arguments)


def made(seed: int, lower: float = 0.0, count: int = 200) -> pandas.DataFrame:
    generator = numpy.random.default_rng(seed)
    rate = generator.uniform(0, 1, count)
    late = rate + generator.normal(0, 0.05, count) > 0.5
    return pandas.DataFrame(
        {
            "run_id": [f"{seed}-{i}" for i in range(count)],
            "modulus": 59,
            "activation": "relu",
            "attention_rate": rate,
            "width": 128,
            "separate_vocabularies": False,
            "equals_sign": False,
            "layers": 1,
            "gradient_symmetricity": numpy.where(late, 0.6, 0.98)
            - lower
            + 0.01 * generator.uniform(size=count),
            "circularity": numpy.where(generator.uniform(size=count) < 0.5, 0.998, 0.9),
            "distance_irrelevance_wrong_logit": numpy.where(late, 0.8, 0.2)
            + 0.02 * generator.normal(size=count),
            # Against the released column of this name it would be found at once
            "distance_irrelevance": 5.0,
            "validation_accuracy": 1.0,
        }
    )


def sweep(path: Path, table: pandas.DataFrame) -> Path:
    path.mkdir()
    for part in range(2):  # two shards, of which the second has a column more
        rows = table.iloc[part::2].assign(**({"added": 1} if part else {})).to_dict("records")
        write_shard(path / f"shard-{part}.parquet", rows, {})
    return path


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    return sweep(tmp_path / "ours", made(1))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    columns = (
        "modulus activation attention_rate width separate_vocabularies equals_sign layers "
        "gradient_symmetricity circularity"
    )
    runs = made(2)[[*columns.split(), "distance_irrelevance_wrong_logit", "validation_accuracy"]]
    runs = runs.assign(separate_vocabularies=0, equals_sign=0, activation="ReLU")
    other = runs.assign(layers=2)
    path = tmp_path / "released.csv"
    pandas.concat([runs, other]).to_csv(path, header=HEADER.split(","), index=False)
    return path


def test_against_the_released_table(ours: Path, table: Path, tmp_path: Path) -> None:
    result = run(
        ours, "--released", table, "--bootstrap", 100, "--figure", tmp_path / "picture.svg"
    )
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(
        "ours and released are indistinguishable at a family-wise level of 1%"
    )
    assert "200 left out: layers 2: not in ours" in result.stdout
    assert (tmp_path / "picture.svg").exists()


def test_as_data(ours: Path, table: Path) -> None:
    result = run(ours, "--released", table, "--bootstrap", 100, "--level", 0.05, "--json")
    record = json.loads(result.stdout)
    assert record["level"] == 0.05
    assert record["indistinguishable"] is True
    assert [side["used"] for side in record["sides"]] == [200, 200]


def test_two_sweeps_that_differ_exit_with_3(ours: Path, tmp_path: Path) -> None:
    other = sweep(tmp_path / "other", made(3, lower=0.05))
    result = run(ours, other, "--bootstrap", 100)
    assert result.exit_code == 3
    assert result.stdout.startswith("ours and other differ at a family-wise level of 1%")
    assert "gradient symmetricity" in result.stdout.splitlines()[0]


def test_a_wrong_option_does_not_exit_as_if_the_sweeps_differ(ours: Path) -> None:
    result = run(ours, ours, "--levle", 3)
    assert result.exit_code == 2
    assert "--levle" in result.output


def test_mistakes_are_one_line_and_exit_with_1(ours: Path, table: Path, tmp_path: Path) -> None:
    cases: list[tuple[list[object], str]] = [
        ([ours], "give another sweep or --released CSV"),
        ([ours, ours, "--released", table], "both was given"),
        ([ours, "--released", tmp_path / "absent.csv"], "absent.csv is not a file"),
        ([tmp_path / "absent", "--released", table], "does not exist"),
        ([ours, "--released", table, "--level", 2], "level is 2.0"),
        (
            [ours, "--released", table, "--bootstrap", 99],
            "bootstrap is 99; choose at least 100 resamples",
        ),
        ([ours, "--released", table, "--figure", tmp_path / "a.bmp"], "figure format is 'bmp'"),
    ]
    for arguments, message in cases:
        told = call("compare", *arguments)
        assert told.returncode == 1
        assert message in told.stderr
        assert told.stderr.count("\n") == 1
    assert isinstance(run(ours).exception, InputError)


def test_help_says_what_the_exit_code_means() -> None:
    text = " ".join(run("--help").output.split())
    assert "Example:" in text
    assert "3 if they differ" in text


def test_runs_along_training_are_no_population() -> None:
    sweep = Path(__file__).parents[2] / "gallery" / "pizza-training"
    for tables in ((sweep / "moments", sweep), (sweep, sweep / "moments")):
        result = run(*tables)
        assert isinstance(result.exception, InputError)
        assert "moments holds runs along training" in str(result.exception)
