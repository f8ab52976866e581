from pathlib import Path

import pandas
import pytest

from algophase.core.errors import InputError
from algophase.runs.released_table import read_released_table

HEADER = (
    "C,act_fn,attn_coeff,d_model,diff_vocab,eqn_sign,n_layers,"
    "gradient_sim,circularity,distance_irrelevance,validation_accuracy"
)
ROW = "59,ReLU,0.25,128,0,1,2,0.99,0.998,0.3,1"


def test_columns_get_our_names(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"{HEADER},added\n{ROW},7\n59,ReLU,0.5,128,1,0,1,,,,,7\n")
    table = read_released_table(path)
    first = table.iloc[0]
    assert (first["modulus"], first["activation"], first["attention_rate"], first["layers"]) == (
        59,
        "relu",
        0.25,
        2,
    )
    assert table["separate_vocabularies"].tolist() == [False, True]
    assert table["equals_sign"].tolist() == [True, False]
    assert "added" not in table
    assert pandas.isna(table["gradient_symmetricity"].iloc[1])


def test_its_distance_irrelevance_is_the_wrong_logits(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"{HEADER}\n{ROW}\n")
    table = read_released_table(path)
    assert table["distance_irrelevance_wrong_logit"].tolist() == [0.3]
    assert "distance_irrelevance" not in table


def test_its_symmetricity_of_a_network_with_an_equals_sign_was_measured_without_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"{HEADER}\n{ROW}\n59,ReLU,0.5,128,1,0,1,0.8,0.9,0.3,1\n")
    table = read_released_table(path)
    assert table["equals_sign"].tolist() == [True, False]
    assert table["gradient_symmetricity"].isna().tolist() == [True, False]
    assert table["gradient_symmetricity_without_equals_sign"].isna().tolist() == [False, True]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "is not a file"),
        (b"", "is not a readable CSV file"),
        (b"\xff\xfe\x00\x01", "is not a readable CSV file"),
        (b"a,b\n1,2\n", "has no column C, act_fn, attn_coeff"),
        (
            f"{HEADER}\n{ROW.replace('0.99,', 'high,')}\n".encode(),
            "column gradient_sim of .* is not all numbers",
        ),
    ],
)
def test_bad_files_are_named(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "table.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        read_released_table(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_the_released_table_is_read_whole(released: Path) -> None:
    table = read_released_table(released / "1l_fixedwidth.csv")
    assert len(table) == 7843
    plain = table[(table["layers"] == 1) & ~table["separate_vocabularies"] & ~table["equals_sign"]]
    finished = plain[plain["validation_accuracy"].notna()]
    assert len(finished) == 2385
    assert (finished["validation_accuracy"] == 1).mean() == pytest.approx(0.997, abs=5e-4)
