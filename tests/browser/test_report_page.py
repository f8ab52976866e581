"""The report in a real browser: it asks nothing of a network, draws every picture, and says a
token on hover.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import invoke
from opened_pages import Opened, new_page
from report_pages import ATTACK, made_runs, made_sweep

from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.storage import save

SIZES = {"laptop": (1280, 800), "phone": (390, 844)}


def reported(source: Path, *options: object) -> Path:
    page = source.with_suffix(".html")
    result = invoke("report", source, "-o", page, *options)
    assert result.exit_code == 0, result.output
    return page


@pytest.fixture(scope="module")
def crafted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of runs that try to be more than text."""
    runs = made_runs(60).assign(
        run_id=[ATTACK + str(i) for i in range(60)], verdict=[ATTACK, "Clock"] * 30
    )
    return reported(
        made_sweep(
            tmp_path_factory.mktemp("pages") / "crafted",
            runs,
            {"device": ATTACK, "command": ATTACK},
            title=ATTACK,
        )
    )


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of 10,000 runs."""
    return reported(made_sweep(tmp_path_factory.mktemp("pages") / "sweep", made_runs(10_000)))


@pytest.fixture(scope="module")
def networks(sweep: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of two networks among those runs."""
    directory = tmp_path_factory.mktemp("pages") / "networks"
    for network in (handmade_clock(13, (1, 5)), handmade_pizza(12, (1, 5), accompanied=True)):
        save(network, directory / network.id)
    return reported(directory, "--population", sweep.with_suffix(""))


def opened(browser: Any, path: Path, size: str = "laptop", dark: bool = False) -> Opened:
    width, height = SIZES[size]
    page = new_page(
        browser,
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        has_touch=size == "phone",
    )
    found = Opened(page, "file:")
    page.on("dialog", lambda dialog: found.complaints.append(f"dialog {dialog.message}"))
    page.goto(path.as_uri())
    page.wait_for_function("window.Plotly")
    return found


def drawn_plots(page: Any) -> Iterator[Any]:
    """Scroll through, waiting at each picture until it is drawn.

    The page lets go of WebGL pictures that are far away: look at each one while it is here.
    """
    for plot in page.query_selector_all(".plot"):
        plot.scroll_into_view_if_needed()
        plot.wait_for_selector(".main-svg")
        yield plot


def draw_all(page: Any) -> None:
    for _ in drawn_plots(page):
        pass


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "name",
    [*(pytest.param(name, marks=pytest.mark.slow) for name in ("networks", "sweep")), "crafted"],
)
def test_every_picture_is_drawn_and_nothing_is_asked_of_a_network(
    browser: Any, name: str, size: str, request: pytest.FixtureRequest
) -> None:
    found = opened(browser, request.getfixturevalue(name), size)
    draw_all(found.page)
    assert (
        found.page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    )  # only tables scroll sideways
    assert "WebGL is not supported" not in found.page.inner_text("main")
    found.check()


@pytest.mark.slow
def test_no_picture_offers_to_leave_this_machine(browser: Any, networks: Path) -> None:
    """Plotly's toolbar has a button that uploads a chart."""
    found = opened(browser, networks)
    draw_all(found.page)
    buttons = found.page.eval_on_selector_all(
        ".modebar-btn", "all => all.map(one => one.getAttribute('data-title'))"
    )
    assert "Download plot as a PNG" in buttons
    assert not [
        title
        for title in buttons
        if any(word in title for word in ("Share", "Cloud", "Chart Studio"))
    ]
    found.page.close()


@pytest.mark.slow
def test_ten_thousand_runs_are_drawn(browser: Any, sweep: Path) -> None:
    found = opened(browser, sweep)
    count_points = """plot => plot._fullData
      .filter(trace => trace.type === 'scattergl')
      .reduce((total, trace) => total + trace._length, 0)"""
    points = [plot.evaluate(count_points) for plot in drawn_plots(found.page)]
    assert 10_000 in points
    found.page.close()


@pytest.mark.slow
def test_a_token_says_its_number_on_hover(browser: Any, networks: Path) -> None:
    found = opened(browser, networks)
    plot = found.page.locator("figure", has_text="k = 1 (Clock), ").first.locator(".plot")
    plot.scroll_into_view_if_needed()
    point = plot.locator(".scatterlayer .point").first
    point.wait_for()
    point.hover(force=True)
    label = plot.locator(".hoverlayer .hovertext")
    label.wait_for()
    assert "token 0" in (label.text_content() or "")
    found.check()


@pytest.mark.slow
def test_a_cell_says_its_pair_on_hover_also_at_an_even_modulus(
    browser: Any, networks: Path
) -> None:
    found = opened(browser, networks)
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


def test_pictures_follow_the_colors_of_the_page(browser: Any, crafted: Path) -> None:
    colors = []
    for dark in (False, True):
        found = opened(browser, crafted, dark=dark)
        found.page.wait_for_selector(".plot .xtitle")
        colors.append(
            found.page.evaluate("getComputedStyle(document.querySelector('.plot .xtitle')).fill")
        )
        found.page.close()
    assert colors == ["rgb(28, 36, 48)", "rgb(230, 233, 238)"]


@pytest.mark.slow
def test_points_stay_bright_enough_when_the_page_turns_dark(browser: Any, networks: Path) -> None:
    found = opened(browser, networks)
    plot = found.page.locator("figure", has_text="k = 1 (Clock), ").first
    color = (
        "[...document.querySelectorAll('figure')]"
        ".find(f => f.textContent.includes('k = 1 (Clock), '))"
        ".querySelector('.plot').data.find(t => t.mode === 'markers').marker.color"
    )
    plot.scroll_into_view_if_needed()
    plot.locator(".scatterlayer .point").first.wait_for()
    assert found.page.evaluate(color) == "#0072B2"
    found.page.emulate_media(color_scheme="dark")
    found.page.wait_for_function(f"{color} === '#4AA3DF'")
    found.check()
    found.page.close()


@pytest.mark.slow
def test_axis_titles_are_whole_on_a_phone(browser: Any, sweep: Path) -> None:
    found = opened(browser, sweep, "phone")
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


@pytest.mark.slow
def test_without_webgl_points_are_drawn_as_shapes(browser: Any, sweep: Path) -> None:
    page = new_page(browser)
    page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    page.goto(sweep.as_uri())
    page.locator(".plot").nth(1).scroll_into_view_if_needed()
    page.wait_for_function("document.querySelectorAll('.plot')[1].data")
    assert page.evaluate("document.querySelectorAll('.plot')[1].data[0].type") == "scatter"
    page.close()


@pytest.mark.slow
def test_links_and_tables_are_reached_by_keyboard(browser: Any, networks: Path) -> None:
    found = opened(browser, networks)
    active = "document.activeElement.getAttribute('href') || document.activeElement.className"
    reached = []
    for _ in range(60):
        found.page.keyboard.press("Tab")
        reached.append(found.page.evaluate(active))
    assert reached[0] == "#main"
    for target in ("#network-1", "#network-2", "table"):
        assert target in reached
    while found.page.evaluate(active) != "#network-2":
        found.page.keyboard.press("Shift+Tab")
    found.page.keyboard.press("Enter")
    assert found.page.url.endswith("#network-2")
    found.page.close()
