"""The table of metrics in docs/method.md is what the catalogue says."""

import runpy

from fenced import ROOT

from algophase.analysis.catalogue import catalogue_entries


def test_the_table_is_as_the_catalogue_has_it() -> None:
    page = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
    script = runpy.run_path(str(ROOT / "docs" / "generate" / "metrics.py"))
    assert script["written"](page) == page, "run python docs/generate/metrics.py"
    rows = script["table"]().splitlines()
    assert len(rows) == 2 + len(catalogue_entries()["metrics"])
