"""The report in a real browser: it asks nothing of a network, draws every picture, and says a token on hover."""

from pathlib import Path
from typing import Any

import pytest
from opened_pages import Opened
from report_pages import ATTACK, made_runs, made_sweep
from typer.testing import CliRunner

from algophase.cli import app
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.storage import save

SIZES = {"laptop": (1280, 800), "phone": (390, 844)}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """networks.html, sweep.html (10,000 runs) and crafted.html."""
    directory = tmp_path_factory.mktemp("pages")
    for network in (handmade_clock(13, (1, 5)), handmade_pizza(12, (1, 5), accompanied=True)):
        save(network, directory / "networks" / network.id)
    made_sweep(directory / "sweep", made_runs(10_000))
    crafted = made_runs(60).assign(run_id=[ATTACK + str(i) for i in range(60)], verdict=[ATTACK, "Clock"] * 30)
    made_sweep(directory / "crafted", crafted, {"device": ATTACK, "command": ATTACK}, title=ATTACK)
    for name in ("networks", "sweep", "crafted"):
        arguments = ["report", str(directory / name), "-o", str(directory / f"{name}.html")]
        if name == "networks":
            arguments += ["--population", str(directory / "sweep")]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
    return directory


def opened(browser: Any, path: Path, size: str = "laptop", dark: bool = False) -> Opened:
    width, height = SIZES[size]
    page = browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        has_touch=size == "phone",
    )
    found = Opened(page, "file:")
    page.on("dialog", lambda dialog: found.complaints.append(f"dialog {dialog.message}"))
    page.set_default_timeout(20_000)
    page.goto(path.as_uri())
    page.wait_for_function("window.Plotly")
    return found


def draw_all(page: Any) -> None:
    """Scroll through, waiting at each picture until it is drawn."""
    for plot in page.query_selector_all(".plot"):
        plot.scroll_into_view_if_needed()
        plot.wait_for_selector(".main-svg")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["networks", "sweep", "crafted"])
def test_every_picture_is_drawn_and_nothing_is_asked_of_a_network(browser: Any, pages: Path, name: str, size: str) -> None:
    found = opened(browser, pages / f"{name}.html", size)
    draw_all(found.page)
    assert found.page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]  # only tables scroll sideways
    assert "WebGL is not supported" not in found.page.inner_text("main")
    found.check()


def test_no_picture_offers_to_leave_this_machine(browser: Any, pages: Path) -> None:
    """Plotly's toolbar has a button that uploads a chart."""
    found = opened(browser, pages / "networks.html")
    draw_all(found.page)
    buttons = found.page.eval_on_selector_all(".modebar-btn", "all => all.map(one => one.getAttribute('data-title'))")
    assert "Download plot as a PNG" in buttons
    assert not [title for title in buttons if any(word in title for word in ("Share", "Cloud", "Chart Studio"))]
    found.page.close()


def test_ten_thousand_runs_are_drawn(browser: Any, pages: Path) -> None:
    found = opened(browser, pages / "sweep.html")
    found.page.locator(".plot").nth(1).scroll_into_view_if_needed()
    found.page.wait_for_function("document.querySelectorAll('.plot')[1].data")
    counts = "document.querySelectorAll('.plot')[1]._fullData.map(t => t.type === 'scattergl' ? t._length : 0)"
    assert sum(found.page.evaluate(counts)) == 10_000
    found.page.close()


def test_a_token_says_its_number_on_hover(browser: Any, pages: Path) -> None:
    found = opened(browser, pages / "networks.html")
    plot = found.page.locator("figure", has_text="k = 1 (Clock), ").first.locator(".plot")
    plot.scroll_into_view_if_needed()
    point = plot.locator(".scatterlayer .point").first
    point.wait_for()
    point.hover(force=True)
    label = plot.locator(".hoverlayer .hovertext")
    label.wait_for()
    assert "token 0" in (label.text_content() or "")
    found.check()


def test_a_cell_says_its_pair_on_hover_also_at_an_even_modulus(browser: Any, pages: Path) -> None:
    found = opened(browser, pages / "networks.html")
    plot = found.page.locator("figure", has_text="whole network").first.locator(".plot")
    plot.scroll_into_view_if_needed()
    area = plot.locator(".nsewdrag").first
    area.wait_for()
    area.hover()
    label = plot.locator(".hoverlayer .hovertext")
    label.wait_for()
    assert "(mod 12)" in (label.text_content() or "")
    assert "correct logit" in (label.text_content() or "")
    found.page.close()


def test_pictures_follow_the_colours_of_the_page(browser: Any, pages: Path) -> None:
    colours = []
    for dark in (False, True):
        found = opened(browser, pages / "crafted.html", dark=dark)
        found.page.wait_for_selector(".plot .xtitle")
        colours.append(found.page.evaluate("getComputedStyle(document.querySelector('.plot .xtitle')).fill"))
        found.page.close()
    assert colours == ["rgb(28, 36, 48)", "rgb(230, 233, 238)"]


def test_points_stay_bright_enough_when_the_page_turns_dark(browser: Any, pages: Path) -> None:
    found = opened(browser, pages / "networks.html")
    colour = (
        "[...document.querySelectorAll('.plot')].find(p => p.data && p.data[0].mode === 'markers+text').data[0].marker.color"
    )
    plot = found.page.locator("figure", has_text="k = 1 (Clock), ").first
    plot.scroll_into_view_if_needed()
    plot.locator(".scatterlayer .point").first.wait_for()
    assert found.page.evaluate(colour) == "#0072B2"
    found.page.emulate_media(color_scheme="dark")
    found.page.wait_for_function(f"{colour} === '#4AA3DF'")
    found.check()
    found.page.close()


def test_axis_titles_are_whole_on_a_phone(browser: Any, pages: Path) -> None:
    found = opened(browser, pages / "sweep.html", "phone")
    draw_all(found.page)
    cut = """() => [...document.querySelectorAll('.plot')].flatMap(plot => {
      const room = plot.getBoundingClientRect();
      return [...plot.querySelectorAll('.xtitle, .ytitle, .legendtext, .xtick text, .ytick text')].filter(text => {
        const box = text.getBoundingClientRect();
        return box.width && (box.left < room.left - 1 || box.right > room.right + 1);
      }).map(text => text.textContent);
    })"""
    assert found.page.evaluate(cut) == []
    found.page.close()


def test_without_webgl_points_are_drawn_as_shapes(browser: Any, pages: Path) -> None:
    page = browser.new_page()
    page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    page.goto((pages / "sweep.html").as_uri())
    page.locator(".plot").nth(1).scroll_into_view_if_needed()
    page.wait_for_function("document.querySelectorAll('.plot')[1].data")
    assert page.evaluate("document.querySelectorAll('.plot')[1].data[0].type") == "scatter"
    page.close()


def test_links_and_tables_are_reached_by_keyboard(browser: Any, pages: Path) -> None:
    found = opened(browser, pages / "networks.html")
    reached = []
    for _ in range(5):
        found.page.keyboard.press("Tab")
        reached.append(found.page.evaluate("document.activeElement.getAttribute('href') || document.activeElement.className"))
    assert reached[:4] == ["#main", "table", "#network-1", "#network-2"]
    found.page.keyboard.press("Shift+Tab")
    found.page.keyboard.press("Enter")
    assert found.page.url.endswith(("#network-1", "#network-2"))
    found.page.close()
