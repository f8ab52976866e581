"""The explorer in a real browser: map, filters, regions, networks, circles, comparison,
training; nothing asks elsewhere.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from opened_pages import Opened, new_page

from algophase.runs.rows import settings_columns
from algophase.storage.runs_table import read_runs
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps.spaces import Space

GALLERY = Path(__file__).resolve().parents[2] / "gallery" / "fixed-width"
CLOCK, HYBRID = "da98a6312948", "72e3fdf5cb71"
INSIDE = "a373bd915ff7"  # symmetricity 0.65, distance irrelevance 0.53
ATTACK = "<img src=x onerror=\"document.title='attacked'\">"
# Dash has asked the server for all that the page shows, and has the answers.
IDLE = """() => Object.entries(window.store.getState().callbacks).every(([name, list]) =>
  ['stored', 'completed'].includes(name) || list.length === 0)"""
TINY = {
    "name": "tiny",
    "task": {"modulus": 7},
    "network": {"width": 8},
    "training": {"epochs": 200},
}


@cache
def gallery_runs(verdict: str = "") -> str:
    """How many runs the gallery's table has, or how many with a verdict, as the page writes it."""
    verdicts = read_runs(GALLERY).verdict
    return f"{(verdicts == verdict).sum() if verdict else len(verdicts):,}"


def served(sweep: Path, cache: Path) -> Iterator[str]:
    """The command itself, on a free port."""
    command = [
        sys.executable,
        "-m",
        "algophase",
        "explore",
        str(sweep),
        "--no-browser",
        "--cache",
        str(cache),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        yield found[0]
        process.terminate()


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from served(GALLERY, tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def crafted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Two honest runs without weights, then rows that try to be more than text, and a broken
    shard.
    """
    path = tmp_path_factory.mktemp("crafted") / "sweep"
    space, directory, rows = Space.from_dict(TINY), SweepDirectory(path), []
    directory.describe({**space.to_dict(), "title": ATTACK}, 0)
    for index in range(6):
        run = space.run(index, 0)
        row = {
            "space": "tiny",
            "index": index,
            "run_id": run.run_id,
            **settings_columns(run),
            "verdict": "Clock",
        }
        row |= {
            "engine": "grid",
            "device": "cpu",
            "precision": "float32",
            "circularity": index / 6,
            "reasons": [ATTACK],
        }
        row["attention_rate"] = (
            row["attention_rate"] if index < 2 else index / 7
        )  # no longer what their ids say
        if index > 3:
            row |= {"run_id": ATTACK if index == 4 else "../../../etc/passwd", "verdict": ATTACK}
        rows.append(row)
    directory.add(rows, {})
    (path / "broken.parquet").write_bytes(b"PAR1")
    yield from served(path, tmp_path_factory.mktemp("cache"))


def opened(browser: Any, address: str, width: int = 1280, height: int = 900) -> Opened:
    page = new_page(browser, viewport={"width": width, "height": height})
    found = Opened(page, "http://127.0.0.1:", ("error", "warning"))
    page.goto(address)
    page.wait_for_selector("#map .legend .traces")
    page.wait_for_selector("#runs td")
    return found


def wait_text(page: Any, selector: str, pattern: str) -> str:
    """The text of an element, once it matches."""
    page.wait_for_function(
        "([selector, pattern]) => new "
        "RegExp(pattern).test(document.querySelector(selector)?.textContent ?? '')",
        arg=[selector, pattern],
    )
    return str(page.text_content(selector))


def point(page: Any, x: float, y: float) -> tuple[float, float]:
    """Where data coordinates of the map lie on the screen."""
    place = page.evaluate(
        """([x, y]) => {
          const map = document.querySelector('#map .js-plotly-plot'), layout = map._fullLayout;
          const box = map.getBoundingClientRect();
          return [box.left + layout._size.l + layout.xaxis.d2p(x), box.top + layout._size.t + layout.yaxis.d2p(y)];
        }""",
        [x, y],
    )
    return place[0], place[1]


def at(page: Any, run: str) -> tuple[float, float]:
    """A run's coordinates on the map."""
    place = page.evaluate(
        """(run) => document.querySelector('#map .js-plotly-plot')._fullData.map((trace) => {
          const place = (trace.customdata || []).indexOf(run);
          return place < 0 ? null : [trace.x[place], trace.y[place]];
        }).find((found) => found)""",
        run,
    )
    return place[0], place[1]


@pytest.mark.slow
def test_a_click_on_the_map_shows_a_network_and_circles_can_be_switched_off(
    browser: Any, gallery: str
) -> None:
    found = opened(
        browser, gallery + f"?where=run_id%3D{CLOCK}"
    )  # alone on the map, so that the click cannot miss
    page = found.page
    assert wait_text(page, "#status", f"1 of {gallery_runs()} runs")
    page.mouse.move(*point(page, *at(page, CLOCK)))
    page.wait_for_selector("#map .hoverlayer .hovertext")
    page.mouse.click(*point(page, *at(page, CLOCK)))
    wait_text(page, "#run-title", f"{CLOCK}: two Clocks")
    wait_text(page, "#run-accuracy", "^Accuracy 100.00%, whole network")
    page.wait_for_selector("#run-logits .heatmaplayer image")
    page.wait_for_selector("#run-pictures .js-plotly-plot text")  # tokens carry their numbers
    page.locator("#run-circles input").first.click()
    after = wait_text(page, "#run-accuracy", "without k = ")
    assert not after.startswith("Accuracy 100.00%")
    page.wait_for_url("**off=*")
    page.reload()
    assert wait_text(page, "#run-accuracy", "without k = ") == after
    assert not page.locator("#run-circles input").first.is_checked()
    page.locator("#run-keep").focus()
    page.keyboard.press("End")
    wait_text(page, "#run-accuracy", "^Accuracy 100.00%, whole network")
    page.keyboard.press("Home")
    wait_text(page, "#run-keep-label", "Keep the first 0 of")
    page.wait_for_function(
        "document.querySelectorAll('#run-circles input:checked').length == 1"
    )  # the rest of the embedding
    page.keyboard.press("End")
    wait_text(page, "#run-accuracy", "^Accuracy 100.00%, whole network")
    page.go_back()
    wait_text(page, "#run-keep-label", "Keep the first 0 of")
    page.wait_for_function("document.querySelectorAll('#run-circles input:checked').length == 1")
    found.check()


@pytest.mark.slow
def test_filters_are_added_refused_and_removed(browser: Any, gallery: str) -> None:
    found = opened(browser, gallery)
    page = found.page
    page.click("#filter-column")
    page.get_by_role("option", name="verdict", exact=True).click()
    page.get_by_role("option", name="verdict", exact=True).wait_for(
        state="hidden"
    )  # a list that closes takes the keyboard with it
    page.fill("#filter-value", "Pizza")
    page.press("#filter-value", "Enter")
    wait_text(page, "#status", f"{gallery_runs('Pizza')} of {gallery_runs()} runs")
    assert page.input_value("#filter-value") == ""
    page.click("#filter-operator")
    page.get_by_role("option", name="<", exact=True).click()
    page.fill("#filter-value", "Pizza")
    page.click("#add-filter")
    wait_text(page, "#filter-problem", "use = or !=")
    assert page.locator("#filters button").count() == 1
    page.reload()
    wait_text(page, "#status", f"{gallery_runs('Pizza')} of {gallery_runs()} runs")
    page.get_by_role("button", name="Remove the filter verdict=Pizza").click()
    wait_text(page, "#status", f"{gallery_runs()} of {gallery_runs()} runs")
    assert "where" not in page.url
    found.check()


@pytest.mark.slow
def test_a_brushed_region_has_statistics_and_survives_a_reload(browser: Any, gallery: str) -> None:
    found = opened(browser, gallery)
    page = found.page
    page.mouse.move(*point(page, 0.6, 0.9))
    page.mouse.down()
    page.mouse.move(*point(page, 0.65, 0.5), steps=5)
    page.mouse.move(*point(page, 0.75, 0.3), steps=5)
    page.mouse.up()
    status = wait_text(page, "#status", r"[0-9]+ in the region")
    wait_text(page, "#statistics", "Verdicts of the [0-9,]+ runs in the region")
    before = page.text_content("#statistics")
    for run in (CLOCK, INSIDE):  # a click leaves the region as it is, outside of it and inside
        page.mouse.click(*point(page, *at(page, run)))
        wait_text(page, "#run-title", "^[0-9a-f]{12}: ")
        page.click("#close-run")
        page.wait_for_selector("#run-panel", state="hidden")
        assert page.text_content("#status") == status
    page.wait_for_url("**region=*")
    page.reload()
    assert wait_text(page, "#status", r"[0-9]+ in the region") == status
    wait_text(page, "#statistics", "in the region")
    assert page.text_content("#statistics") == before
    page.wait_for_selector("#map .selectionlayer path")
    page.click("#clear-region")
    wait_text(page, "#status", f"^{gallery_runs()} of {gallery_runs()} runs on the map$")
    page.wait_for_function("document.querySelectorAll('#map .selectionlayer path').length == 0")
    found.check()


@pytest.mark.slow
def test_axes_and_color_are_chosen_and_kept_in_the_address(browser: Any, gallery: str) -> None:
    found = opened(browser, gallery)
    page = found.page
    page.click("#y")
    page.get_by_role("option", name="circularity", exact=True).click()
    page.wait_for_url("**y=circularity*")
    page.click("#color")
    page.get_by_role("option", name="parameter norm", exact=True).click()
    page.wait_for_selector("#map .colorbar, #map .cbtitle, #map .infolayer [class*=cb]")
    page.reload()
    wait_text(page, "#y", "circularity")
    wait_text(page, "#color", "parameter norm")
    page.go_back()
    wait_text(page, "#color", "verdict")
    found.check()


@pytest.mark.slow
def test_two_networks_side_by_side_by_keyboard(browser: Any, gallery: str) -> None:
    found = opened(browser, gallery + "?where=weights_kept%3Dtrue")
    page = found.page
    page.get_by_role("button", name=f"Show run {CLOCK}").focus()
    page.keyboard.press("Enter")
    wait_text(page, "#run-title", CLOCK)
    wait_text(page, "#run-accuracy", "whole network")
    page.get_by_role("button", name="Pin for comparison").focus()
    page.keyboard.press("Enter")
    wait_text(page, "#pin-title", f"Pinned: {CLOCK}")
    page.get_by_role("button", name=f"Show run {HYBRID}").focus()
    page.keyboard.press("Space")
    wait_text(page, "#run-title", f"{HYBRID}: a Pizza .*, a Clock")
    page.wait_for_selector("#run-logits .heatmaplayer image")
    page.wait_for_selector("#pin-logits .heatmaplayer image")
    left, right = (page.locator(f"#{side}-panel").bounding_box() for side in ("pin", "run"))
    assert left["x"] + left["width"] <= right["x"]
    assert abs(left["y"] - right["y"]) < 2
    page.get_by_role("button", name="Unpin").click()
    page.wait_for_selector("#pin-panel", state="hidden")
    found.check()


@pytest.mark.slow
def test_a_click_far_down_asks_only_about_its_run_and_takes_the_reader_there(
    browser: Any, gallery: str
) -> None:
    found = opened(browser, gallery + "?where=weights_kept%3Dtrue", 390, 844)
    page, asked = found.page, list[str]()
    page.wait_for_function(IDLE)
    page.on(
        "request",
        lambda request: asked.append(request.post_data or "") if request.method == "POST" else None,
    )
    page.get_by_role("button", name=f"Show run {CLOCK}").click()
    page.wait_for_selector("#run-logits .heatmaplayer image")
    page.wait_for_selector("#run-pictures .js-plotly-plot")
    outputs = [json.loads(body)["output"] for body in asked]
    assert any(output.startswith("..run-panel.hidden") for output in outputs)
    assert not any(
        name in output
        for output in outputs
        for name in ("pin-panel", "pin-logits", "filters.", "runs.", "x.value")
    )
    page.wait_for_function(
        "Math.abs(document.querySelector('#run-title').getBoundingClientRect().top) < 100"
    )
    assert (
        page.get_by_role("button", name=f"Show run {CLOCK}").get_attribute("aria-pressed") == "true"
    )
    assert (
        page.get_by_role("button", name=f"Show run {HYBRID}").get_attribute("aria-pressed")
        == "false"
    )
    asked.clear()
    page.locator("#run-circles input").first.click()
    wait_text(page, "#run-accuracy", "without k = ")
    assert not any(json.loads(body)["output"].startswith("..map") for body in asked)
    found.check()


@pytest.mark.slow
def test_every_control_is_reached_by_tab_and_shows_that_it_is(browser: Any, gallery: str) -> None:
    found = opened(browser, gallery + f"?run={CLOCK}")
    page = found.page
    page.wait_for_selector("#run-pictures .js-plotly-plot")
    reached, outlines = [""], []
    while (
        reached[-1] != "run-keep" and len(reached) < 60
    ):  # a control for each instance and each circle lies before it
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "document.activeElement.id || document.activeElement.className || 'other'"
            )
        )
        outlines.append(page.evaluate("getComputedStyle(document.activeElement).outlineStyle"))
    order = [
        name
        for name in reached
        if name in ("x", "y", "color", "filter-column", "filter-value", "add-filter", "pin")
    ]
    assert reached[1] == "skip"
    assert order == ["x", "y", "color", "filter-column", "filter-value", "add-filter", "pin"]
    assert "run-keep" in reached
    assert set(outlines) == {"solid"}
    found.check()


@pytest.mark.slow
def test_the_page_is_dark_where_the_readers_system_is(browser: Any, gallery: str) -> None:
    found = opened(browser, gallery + f"?run={CLOCK}")
    page = found.page
    page.wait_for_selector("#run-pictures .js-plotly-plot")
    seen = """() => [['body', 'backgroundColor'], ['#x', 'color'], ['#map .xtitle', 'fill'],
      ['#run-logits .ytick text', 'fill'], ['#map .annotation text', 'fill']].map(([name, what]) =>
        getComputedStyle(document.querySelector(name))[what])"""
    light = page.evaluate(seen)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(seen)
    brightness = [
        [sum(map(int, re.findall("[0-9]+", color)[:3])) / 765 for color in shown]
        for shown in (light, dark)
    ]
    assert [round(value) for value in brightness[0]] == [1, 0, 0, 0, 0]
    assert [round(value) for value in brightness[1]] == [
        0,
        1,
        1,
        1,
        0,
    ]  # a name beside a point stands on white
    found.check()


@pytest.mark.slow
def test_controls_have_names_and_the_phone_does_not_scroll_sideways(
    browser: Any, gallery: str
) -> None:
    found = opened(browser, gallery + f"?run={CLOCK}&pin={HYBRID}", 390, 844)
    page = found.page
    page.wait_for_selector("#run-pictures .js-plotly-plot")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll('button, input:not([aria-hidden=true]), progress')].filter((control) =>
          control.offsetParent && !(control.labels && control.labels.length) && !control.getAttribute('aria-label')
          && !control.textContent.trim()).map((control) => control.outerHTML.slice(0, 120))"""
    )
    assert unnamed == []
    found.check()


@pytest.mark.slow
def test_nothing_in_a_crafted_directory_runs_and_an_honest_run_is_trained_in_the_background(
    browser: Any, crafted: str
) -> None:
    found = opened(browser, crafted + f"?x={ATTACK}&run=../../etc/passwd")
    page = found.page
    assert "broken.parquet is not a readable Parquet file" in page.text_content("header")
    wait_text(page, "#problems", "letters, digits, dots, dashes")
    assert page.locator("img").count() == 0
    assert "attacked" not in page.title()
    buttons = page.locator("#runs button.link")
    assert buttons.count() == 4  # the other ids are text
    buttons.nth(3).click()
    wait_text(page, "#run-job-text", "its row was changed")
    assert not page.locator("#run-train").is_visible()
    buttons.nth(0).click()
    wait_text(page, "#run-job-text", "were not kept")
    page.click("#run-train")
    wait_text(page, "#run-accuracy", "Accuracy")
    wait_text(page, "#run-job-text", "Identical: |(same|Another) network")
    page.wait_for_selector("#run-logits .heatmaplayer image")
    assert page.locator("img").count() == 0
    found.check()


@pytest.mark.slow
def test_the_map_of_populations_is_used_by_keyboard_and_fits_a_phone(
    browser: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for address in served(GALLERY.parent, tmp_path_factory.mktemp("cache")):
        found = Opened(
            new_page(browser, viewport={"width": 390, "height": 800}),
            "http://127.0.0.1:",
            ("error", "warning"),
        )
        page = found.page
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        names = page.locator(".population h3 a").all_text_contents()
        assert "fixed-width" in names
        for _ in range(2 + names.index("fixed-width")):  # the first leads to the list
            page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "fixed-width"
        page.keyboard.press("Enter")
        page.wait_for_url("**/sweep/fixed-width/")
        page.wait_for_selector("#map .legend .traces")
        page.wait_for_selector("#runs button.link")
        page.wait_for_function(IDLE)
        page.click(f"text={page.locator('#runs button.link').first.text_content()}")
        page.wait_for_url("**/sweep/fixed-width/?run=*")
        page.wait_for_function(IDLE)
        page.click("text=All populations")
        page.wait_for_selector(".populations")
        found.check()
