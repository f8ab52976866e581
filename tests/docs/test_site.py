"""The site builds without a warning, asks no other host for anything, and has every public name
and command.
"""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import PATIENCE
from fenced import ROOT

import algophase

MISSING = [
    name
    for name in ("mkdocs", "material", "mkdocstrings_handlers")
    if importlib.util.find_spec(name) is None
]
pytestmark = pytest.mark.skipif(
    bool(MISSING), reason="the site's generator is not installed (extra `docs`)"
)

LOADED = re.compile(
    r"""<(?:script|link|img|iframe)[^>]*?(?:src|href)=["']?(https?:)?//|@import|url\(["']?(?:https?:)?//"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("site")
    # Not --quiet: with it, --strict counts no warnings, and a dead link passes.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(directory)]
    environment = {**os.environ, "ALGOPHASE_REPORTS": "linear-alpha"}
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return directory


def test_every_table_is_listed_and_has_its_report(site: Path) -> None:
    text = (site / "populations.html").read_text(encoding="utf-8")
    tables = sorted(path.parent.name for path in (ROOT / "gallery").glob("*/sweep.json"))
    linked = re.findall(r'href="reports/([^"]+)\.html"', text)
    assert list(dict.fromkeys(linked)) == tables  # a picture and a name lead to each
    assert [page.stem for page in (site / "reports").iterdir()] == [
        "linear-alpha"
    ]  # `make docs` makes all of them


def test_every_page_is_there(site: Path) -> None:
    docs = ROOT / "docs"
    pages = {
        page.relative_to(docs).with_suffix("")
        for page in [*docs.glob("*.md"), *docs.glob("notes/*.md")]
    }
    assert pages | {Path("cli")} <= {
        page.relative_to(site).with_suffix("") for page in site.rglob("*.html")
    }


def test_it_opens_with_the_picture(site: Path) -> None:
    assert 'src="images/cover.png"' in (site / "index.html").read_text(encoding="utf-8")
    assert (site / "images" / "cover.png").stat().st_size < 300_000


def test_nothing_comes_from_another_host(site: Path) -> None:
    for file in [*site.rglob("*.html"), *site.rglob("*.css")]:
        found = LOADED.search(file.read_text(encoding="utf-8"))
        assert found is None, f"{file.relative_to(site)} loads {found and found[0]}"


def test_the_reference_has_every_public_name(site: Path) -> None:
    text = (site / "reference.html").read_text(encoding="utf-8")
    public = {
        getattr(algophase, name).__name__: name  # an earlier name of the same thing counts once
        for name in algophase.__all__
        if not name.startswith("_")
    }
    assert len(public) > 30
    assert [name for name in public if f'id="algophase.{name}"' not in text] == []


def test_parameters_are_a_list(site: Path) -> None:
    text = (site / "reference.html").read_text(encoding="utf-8")
    assert re.search(r'<li>\s*(?:<p>)?<code>engine</code>: "auto"', text)


def test_examples_are_code(site: Path) -> None:
    text = (site / "reference.html").read_text(encoding="utf-8")
    assert text.count('class="language-pycon highlight"') > 20
    assert "&gt;&gt;&gt;" not in re.sub(r"<pre>.*?</pre>", "", text, flags=re.DOTALL)


def test_the_command_line_page_has_every_option(site: Path) -> None:
    text = (site / "cli.html").read_text(encoding="utf-8")
    for expected in (
        "algophase analyze",
        "algophase check-gradients",
        "--attention-rate",
        "--keep-weights",
        "none|all|N",
    ):
        assert expected in text


def test_pages_named_in_the_text_are_links(site: Path) -> None:
    assert '<a href="cluster.html"><code>docs/cluster.md</code></a>' in (
        site / "sweeps.html"
    ).read_text(encoding="utf-8")
