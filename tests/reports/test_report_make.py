"""A report from Python; tests/cli/test_cli_report.py has the command's."""

from pathlib import Path

import pytest

from algophase.core.errors import InputError
from algophase.networks.handmade import handmade_clock
from algophase.reports.make import report
from algophase.storage import save


def test_what_cannot_be_read_is_logged_and_the_rest_is_written(
    tmp_path: Path, said: list[str]
) -> None:
    save(handmade_clock(7, (1,)), tmp_path / "networks" / "clock")
    (tmp_path / "networks" / "torn.safetensors").write_bytes(b"torn")
    made = report([tmp_path / "networks"], tmp_path / "page.html", title="A page")
    assert (made.networks, made.sweeps, made.contents) == (1, 0, "1 network")
    assert made.path.stat().st_size == made.size
    assert said == [str(problem) for problem in made.problems]
    assert len(said) == 1
    assert "torn" in said[0]
    with pytest.raises(InputError, match="nothing to report on"):
        report([tmp_path / "absent"], tmp_path / "other.html")
    assert not (tmp_path / "other.html").exists()
