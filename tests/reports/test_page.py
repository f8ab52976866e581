import base64
import hashlib
import json
import re
from pathlib import Path

import pytest
from report_pages import ATTACK, Parsed, made_runs, parsed

from algophase.analysis.specimen import Specimen
from algophase.core.errors import InputError
from algophase.networks.handmade import handmade_clock
from algophase.pictures.marks import Axis, Panel
from algophase.pictures.to_plotly import draw
from algophase.reports.network_section import add_network
from algophase.reports.page import Page, figure_json
from algophase.runs.runs import Runs


def test_a_page_needs_nothing_from_elsewhere() -> None:
    page = Page("a <title> & more", "a lead")
    page.pictures([Panel(marks=[], caption="caption", alt='alt "text"')])
    found = parsed(page)
    assert found.texts["title"] == ["a <title> & more"]
    for tag, attributes in found.tags:
        for name in ("src", "href"):
            target = attributes.get(name)
            assert target is None or target.startswith(("#", "data:")), (tag, target)
    # The library is there once, and starts only once the text is painted.
    assert [attributes for tag, attributes in found.tags if attributes.get("id") == "plotly"] == [
        {"type": "text/plain", "id": "plotly"}
    ]
    images = [attributes for _, attributes in found.tags if attributes.get("role") == "img"]
    assert [image["aria-label"] for image in images] == ['alt "text"']
    assert list(found.figures) == ["figure-1"]


def test_only_the_pages_own_scripts_may_run() -> None:
    content = Page("page").render().decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', content)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    scripts = re.search("script-src ([^;]*)", policy[1])
    assert scripts is not None
    assert "unsafe-inline" not in scripts[1]
    own = re.findall(r"<script(?: [^>]*)?>(.*?)</script>", content, re.DOTALL)
    digests = {
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in own
    }
    assert {digest for digest in digests if f"'sha256-{digest}'" in scripts[1]} == digests


def test_pictures_cannot_close_their_script() -> None:
    figure = draw(Panel(marks=[], x=Axis(name="x")))
    figure.update_layout(xaxis={"title": {"text": "</script><b>"}}, yaxis={"title": "<!--"})
    encoded = figure_json(figure)
    assert "<" not in encoded
    assert json.loads(encoded)["layout"]["xaxis"]["title"]["text"] == "</script><b>"


def test_the_same_input_gives_the_same_bytes() -> None:
    network = handmade_clock(7, (1,))
    pages = []
    for _ in range(2):
        page = Page("page")
        add_network(page, 1, Specimen(network), Runs.of(made_runs(50), "made"))
        pages.append(page.render())
    assert pages[0] == pages[1]


def test_a_page_is_not_written_over_a_directory(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is a directory.*report\.html"):
        Page("page").write(tmp_path)


def test_the_contents_lead_to_every_heading() -> None:
    page = Page("page")
    page.heading(2, ATTACK)
    page.heading(3, "part")
    page.heading(3, "part")
    page.heading(2, "named", "place")
    found = Parsed(page.render().decode())
    contents = [attributes["href"] for tag, attributes in found.tags if tag == "a"][1:]
    assert contents == ["#section-1", "#section-1-1", "#section-1-2", "#place"]
    ids = [attributes.get("id") for tag, attributes in found.tags if tag in ("h2", "h3")]
    assert [f"#{name}" for name in ids] == contents
    assert found.count("img") == 0
    short = Page("page")
    short.heading(2, "one")
    assert "<nav" not in short.render().decode()
    for number in range(30):  # many networks: their parts would fill screens
        page.heading(2, f"network {number}")
        page.heading(3, "part")
    assert page.contents().count("<a ") == 32


def test_pictures_below_each_other_do_not_touch() -> None:
    assert ".grid { margin: 12px 0; }" in Page("page").render().decode()
