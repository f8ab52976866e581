"""Every analysis of the gallery comes back: from its plain values, and from the row of a table."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from same_values import assert_same_value
from shard_files import read_table, write_shard

from algophase.analysis.analyze import analyze
from algophase.analysis.result import Analysis
from algophase.record.codec import decode_value, encode_value
from algophase.runs.rows import analysis_columns, analysis_of_row
from algophase.storage import load

GALLERY = Path(__file__).resolve().parents[2] / "gallery"
NETWORKS = sorted(path.relative_to(GALLERY).as_posix() for path in GALLERY.rglob("*.safetensors"))
FAST = ("fixed-width/networks/da98", "linear-beta", "separate-vocabularies")  # one of each kind
TABLES = sorted(path.parent.name for path in GALLERY.glob("*/sweep.json"))
ROUNDING = 1e-12  # of numbers that are derived from others again
SAMPLED = 12  # rows of each table
WORDS = ("sentence", "reasons")  # the tables are of an older version, with words of its own


def marked(name: str) -> Any:
    return name if name.startswith(FAST) else pytest.param(name, marks=pytest.mark.slow)


@pytest.fixture(scope="module", params=map(marked, NETWORKS))
def analysis(request: pytest.FixtureRequest) -> Analysis:
    return analyze(load(GALLERY / request.param))


def test_an_analysis_comes_back_from_json(analysis: Analysis) -> None:
    text = json.dumps(encode_value(analysis), allow_nan=False)
    assert_same_value(decode_value(Analysis, json.loads(text)), analysis)


def test_an_analysis_comes_back_from_its_row(analysis: Analysis, tmp_path: Path) -> None:
    """All but functions, which a row does not keep, and the anatomy."""
    modulus = analysis.program.modulus
    row = {"run_id": analysis.id, "modulus": modulus, **analysis_columns(analysis)}
    write_shard(tmp_path / "runs.parquet", [row], {})
    (written,) = read_table(tmp_path).to_pylist()
    again = analysis_of_row(written)
    assert again is not None
    assert_same_value(again.verdict, analysis.verdict)
    assert_same_value(again.paper, analysis.paper)
    # A row has the partner of a circle only where the circle accompanies it.
    circles = tuple(replace(item, partner=None) for item in analysis.circles)
    assert_same_value(again.circles, circles)
    assert_same_value(again.metrics, analysis.metrics)
    # A row has the shape of an embedding only where the paper's label names it.
    measured = replace(analysis.measured, shape=again.measured.shape)
    assert_same_value(again.measured, measured)
    expected = replace(analysis, anatomy=None).to_dict()
    del expected["program"]["profiles"]
    record = again.to_dict()
    del record["program"]["profiles"]
    assert_same_value(record, expected)


@pytest.mark.parametrize("table", TABLES)
def test_a_row_is_the_same_after_it_was_read(table: str) -> None:
    arrow = read_table(GALLERY / table)
    places = np.unique(np.linspace(0, len(arrow) - 1, SAMPLED).astype(int))
    for row in arrow.take(places).to_pylist():
        analysis = analysis_of_row(row)
        if row["accuracy"] is None:  # it diverged
            continue
        assert analysis is not None
        for name, value in analysis_columns(analysis).items():
            # Rows of an older commit than others of their table have null in newer columns.
            is_newer = row.get(name) is None and _is_empty(value)
            if name in row and name not in WORDS and not is_newer:
                assert_same_value(value, row[name], ROUNDING, name)


def _is_empty(value: object) -> bool:
    """None, or a list of nothing else."""
    return value is None or (isinstance(value, list) and all(map(_is_empty, value)))
