import base64
import hashlib
import json
import re
from pathlib import Path

import pandas
import pytest
from report_pages import ATTACK, Parsed, made_runs, made_sweep

from algophase.analysis.analyze import analyze
from algophase.errors import InputError
from algophase.networks import initialise
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.report.moments_section import add_moments, quartiles_by_epoch, verdicts_by_epoch
from algophase.report.network_section import Examined, add_index, add_network, add_population, read_history
from algophase.report.page import Link, Page, figure_json, table
from algophase.report.plotly_style import Panel, new_figure
from algophase.report.sweep_section import Sweep, add_sweep, read_sweep
from algophase.runs.runs import population_of
from algophase.settings import LinearSettings, RunSettings, TaskSettings
from algophase.storage.sweep_directory import SweepDirectory


def parsed(page: Page) -> Parsed:
    return Parsed(page.render().decode())


def of_network(examined: Examined) -> Parsed:
    page = Page("one network")
    add_network(page, 1, examined, None)
    return parsed(page)


def test_a_page_needs_nothing_from_elsewhere() -> None:
    page = Page("a <title> & more", "a lead")
    page.pictures([Panel(new_figure(x="x", y="y"), "caption", 'alt "text"')])
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
    digests = {base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in own}
    assert {digest for digest in digests if f"'sha256-{digest}'" in scripts[1]} == digests


def test_pictures_cannot_close_their_script() -> None:
    figure = new_figure(x="</script><b>", y="<!--")
    encoded = figure_json(figure)
    assert "<" not in encoded
    assert json.loads(encoded)["layout"]["xaxis"]["title"]["text"] == "</script><b>"


def test_tables_escape_every_cell() -> None:
    found = Parsed(f"<body>{table([ATTACK, 'b'], [[ATTACK, Link('a', ATTACK)]], ATTACK, numbers=(1,))}</body>")
    assert found.count("script") == found.count("img") == 0
    assert found.texts["td"] == [ATTACK, ATTACK]
    assert found.texts["a"] == [ATTACK]


def test_a_network_is_told_in_plain_words() -> None:
    network = handmade_pizza(13, (1, 5))
    analysis = analyze(network)
    found = of_network(Examined(network, analysis))
    assert found.texts["h2"] == [f"{analysis.id}: Pizza"]
    assert any("It learned the Pizza" in words for words in found.texts["strong"])
    assert [reason for reason in analysis.verdict.reasons if reason not in found.texts["li"]] == []
    headings = [
        "Metrics",
        "Circles in the embedding",
        "What each circle does alone",
        "Inside the linear Pizza",
        "Correct logits",
    ]
    assert found.texts["h3"] == headings
    assert len(found.figures) == 2 + 2 + 1 + 2  # circles, their readouts, the whole network, each circle alone
    cells = found.texts["td"]
    for item in analysis.circles:
        assert f"{100 * item.fve_pizza:.2f}%" in cells
        assert f"{100 * item.accuracy_alone:.2f}%" in cells
        assert f"0.0, {item.pizza_weight:.1f}, 0.0" in cells  # the weights its role comes from


def test_the_inside_of_a_linear_pizza_is_opened() -> None:
    network = handmade_pizza(12, (1, 5), accompanied=True)
    analysis = analyze(network)
    assert analysis.anatomy is not None
    found = of_network(Examined(network, analysis))
    cells = found.texts["td"]
    assert "100.0%, 100.0%" in cells  # the readout is cos 2t, on both axes
    # The unembedding has the frequencies of the accompanying circles too, but these are no Pizzas.
    assert any("Other circles, with another role or not in the unembedding: 2" in line for line in found.texts["p"])
    assert sum("first axis: 100.0% of it is A cos(2t + φ)" in caption for caption in found.texts["figcaption"]) == 2


def test_a_linear_network_has_no_attention_and_one_without_circles_says_so() -> None:
    network = initialise(RunSettings(task=TaskSettings(modulus=13), network=LinearSettings()))
    analysis = analyze(network)
    assert (analysis.verdict.label, analysis.circles) == ("not learned", ())
    found = of_network(Examined(network, analysis))
    assert "Attention" not in found.texts["h3"]
    assert "No frequency of the embedding stands out as a circle." in found.texts["p"]
    assert "It has not learned the task" in found.texts["strong"][0]


def test_separate_tables_have_no_circularity_of_their_own() -> None:
    settings = LinearSettings(model="alpha-prime")
    network = initialise(RunSettings(task=TaskSettings(modulus=13), network=settings))
    found = of_network(Examined(network, analyze(network)))
    assert "undefined" in found.texts["td"]
    assert "of operand 2's own table" in found.texts["td"]


def test_a_network_is_set_among_its_population() -> None:
    network = handmade_clock(59, (1, 5, 17))
    page = Page("page")
    add_network(page, 1, Examined(network, analyze(network)), population_of(made_runs(200), "made <b>"))
    found = parsed(page)
    assert "percentile" in found.texts["th"]
    assert any("Percentiles are those among" in line and "accurate runs of made <b>." in line for line in found.texts["p"])
    assert any("Unlike the runs of made <b>, this network has" in line for line in found.texts["p"])
    captions = found.texts["figcaption"][:4]
    assert sum("percentile" in caption for caption in captions) == 2
    # A perfect Clock's logits are all equal.
    assert "distance irrelevance is undefined" in captions


def test_networks_without_a_rate_are_said_not_to_be_drawn() -> None:
    networks = [handmade_pizza(7, (2,)), initialise(RunSettings(task=TaskSettings(modulus=7)))]
    page = Page("page")
    examined = [Examined(network, analyze(network)) for network in networks]
    add_population(page, population_of(made_runs(50), "made"), examined, [True, True])
    assert "Without an attention rate, and not drawn here: 1." in parsed(page).texts["p"]


def test_runs_of_one_rate_get_no_picture_by_rate() -> None:
    runs = made_runs(200)
    for some, by_rate in ((runs, 2), (runs.assign(attention_rate=1.0), 0)):
        page = Page("page")
        add_sweep(page, Sweep(Path("made"), some, population_of(some, "made"), None, ()))
        found = parsed(page)
        captions = found.texts["figcaption"]
        assert (
            sum(caption.endswith("95% interval") or "dotted: the paper's line" in caption for caption in captions)
            == by_rate + 1
        )
        assert ("transition at rate" in found.texts["th"]) == (by_rate > 0)


def test_runs_followed_along_training_are_shown_by_epoch() -> None:
    runs = made_runs(40)
    moments = pandas.concat([runs.assign(epoch=epoch) for epoch in (100, 200, 400)])
    page = Page("page")
    add_sweep(page, Sweep(Path("made"), runs, population_of(runs, "made"), None, (), moments))
    found = parsed(page)
    assert "Along training" in found.texts["h3"]
    assert "40 runs at 3 epochs each." in found.texts["p"]
    assert "share of each verdict by epoch" in found.texts["figcaption"]
    assert "gradient symmetricity by epoch: median, and the middle half of the runs" in found.texts["figcaption"]
    drawn = quartiles_by_epoch(moments.assign(_value=moments["epoch"] * 1.0), "epoch")
    assert drawn.data[1].y.tolist() == [100, 200, 400]
    shares = verdicts_by_epoch(moments)
    assert sum(trace.y[0] for trace in shares.data) == pytest.approx(1)
    for broken in (moments.drop(columns="epoch").assign(epoch="x"), moments[moments["epoch"] == 100]):
        page = Page("page")
        add_moments(page, broken)
        assert "Along training" not in parsed(page).texts.get("h3", [])


def test_several_networks_get_an_index() -> None:
    page = Page("page")
    examined = [Examined(network, analyze(network)) for network in (handmade_clock(7, (1,)), handmade_pizza(7, (2,)))]
    add_index(page, examined)
    for number, item in enumerate(examined, 1):
        add_network(page, number, item, None, of=len(examined))
    found = parsed(page)
    assert [heading.partition(". ")[0] for heading in found.texts["h2"]] == ["Networks", "1", "2"]
    targets = [attributes["href"] for tag, attributes in found.tags if tag == "a"]
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert targets == ["#main", "#network-1", "#network-2"]
    assert len(ids) == len(set(ids))
    assert {"network-1", "network-2"} <= set(ids)


def test_the_same_input_gives_the_same_bytes() -> None:
    network = handmade_clock(7, (1,))
    pages = []
    for _ in range(2):
        page = Page("page")
        add_network(page, 1, Examined(network, analyze(network)), population_of(made_runs(50), "made"))
        pages.append(page.render())
    assert pages[0] == pages[1]


def test_histories_are_read_or_refused(tmp_path: Path) -> None:
    network, path = handmade_clock(7, (1,)), tmp_path / "a.safetensors"
    assert read_history(network, path) is None
    record = {"format": "algophase-history", "version": 1, "history": {"epochs": [0, 1], "training_loss": [4.0, None]}}
    (tmp_path / f"{network.id}.history.json").write_text(json.dumps(record))
    history = read_history(network, path)
    assert history == {"epochs": [0, 1], "training_loss": [4.0, None]}
    found = of_network(Examined(network, analyze(network), history))
    assert "Training" in found.texts["h3"]
    for broken in (
        {**record, "format": "else"},
        {**record, "history": []},
        {**record, "history": {}},
        {**record, "history": {"epochs": [ATTACK]}},
        {**record, "history": {"epochs": [0, 1], "training_loss": [1.0]}},
        {**record, "history": {"epochs": [0], "training_loss": [ATTACK]}},
    ):
        (tmp_path / f"{network.id}.history.json").write_text(json.dumps(broken))
        with pytest.raises(InputError, match=r"history\.json"):
            read_history(network, path)


def test_an_id_that_climbs_out_reads_nothing_outside(tmp_path: Path) -> None:
    (tmp_path / "secret.history.json").write_text("{}")
    network, inner = handmade_clock(7, (1,)), tmp_path / "inner"
    inner.mkdir()
    network.id = "../secret"
    assert read_history(network, inner / "a.safetensors") is None


def test_a_sweep_is_told_with_its_shares_and_transitions(tmp_path: Path) -> None:
    page = Page("page")
    add_sweep(page, read_sweep(made_sweep(tmp_path / "made", made_runs(400), title="some runs")))
    found = parsed(page)
    headings = ["Shares", "Phase diagrams", "Transitions", "Histograms", "Networks of these runs", "Where the runs come from"]
    assert found.texts["h3"] == headings
    assert "circular; averages its inputs and reads the sum off their middle" in found.texts["td"]  # what a Pizza is
    assert found.texts["pre"] == [f"algophase retrain {tmp_path / 'made'} INDEX --out networks/"]  # none was kept
    assert any("space made-up (some runs), seed 0: 400 runs" in line for line in found.texts["li"])
    assert any("[" in cell and "of 400" in cell for cell in found.texts["td"])
    assert "gradient symmetricity > 0.98" in found.texts["td"]
    assert len(found.figures) == 1 + 3 + 3 + 4


def test_networks_that_were_kept_are_named_with_the_command_that_opens_them(tmp_path: Path) -> None:
    runs = made_runs(30, diverged_at=[7.0] + [None] * 29)
    path, rows = tmp_path / "made", runs.to_dict("records")
    SweepDirectory(path).describe({"name": "made-up"}, 0)
    SweepDirectory(path).add([rows[0] | {"verdict": None}, *(row | {"diverged_at": None} for row in rows[1:])], {})
    for place in (0, 3):
        network = handmade_clock(7, (1,))
        network.id = str(runs["run_id"][place])
        SweepDirectory(path).keep(network)
    (path / "networks" / "no run of the table.safetensors").touch()
    page = Page("page")
    add_sweep(page, read_sweep(path))
    found = parsed(page)
    first = path / "networks" / f"{runs['run_id'][0]}.safetensors"
    assert found.texts["pre"][0].splitlines()[0] == f"algophase report {first} -o network.html"
    cells = found.texts["td"]
    assert [cells[cells.index(str(runs["run_id"][place])) + 2] for place in (0, 3)] == ["diverged", runs["verdict"][3]]
    assert any("The weights of 2 of these runs were kept" in line for line in found.texts["p"])


def test_settings_with_which_nothing_was_learned_get_one_line(tmp_path: Path) -> None:
    runs = made_runs(60, layers=[1, 2] * 30, validation_accuracy=[1.0, 0.5] * 30)
    page = Page("page")
    add_sweep(page, read_sweep(made_sweep(tmp_path / "made", runs)))
    found = parsed(page)
    assert "No run of layers 2 reached full accuracy: there is no phase diagram to draw." in found.texts["p"]
    assert [head for head in found.texts["h3"] if head.startswith("Phase diagrams")] == ["Phase diagrams (layers 1)"]


@pytest.mark.parametrize(
    "missing", ["verdict", "attention_rate", "gradient_symmetricity", "circularity", "run_id", "validation_accuracy", "width"]
)
def test_a_column_that_is_missing_costs_its_pictures_only(tmp_path: Path, missing: str) -> None:
    path = tmp_path / "made"
    path.mkdir()
    made_runs(100).drop(columns=missing).to_parquet(path / "runs.parquet")
    page = Page("page")
    add_sweep(page, read_sweep(path))
    found = parsed(page)
    assert len(found.figures) >= 3
    assert "100 runs of made" in found.texts["li"]


def test_runs_without_circularity_and_runs_that_diverged(tmp_path: Path) -> None:
    runs = made_runs(60, circularity=None, diverged_at=[None] * 59 + [7.0])
    runs.loc[59, ["validation_accuracy", "verdict"]] = None
    path = tmp_path / "made"
    path.mkdir()
    runs.to_parquet(path / "runs.parquet")
    page = Page("page")
    add_sweep(page, read_sweep(path))
    found = parsed(page)
    assert "diverged" in found.texts["td"]
    assert any("half of the accurate runs" in line for line in found.texts["p"])


def test_a_crafted_sweep_gives_an_inert_page(tmp_path: Path) -> None:
    runs = made_runs(60).astype({"run_id": object})
    runs["run_id"] = [ATTACK + str(i) for i in range(60)]
    runs["verdict"] = [ATTACK, "Clock", "</script><!--"] * 20
    runs["activation"] = ["relu", ATTACK] * 30
    runs[ATTACK] = 1
    about = {"device": ATTACK, "date": ATTACK, "command": ATTACK, "runs": ATTACK, "commit": [ATTACK], "shards": None}
    page = Page(ATTACK)
    add_sweep(page, read_sweep(made_sweep(tmp_path / "made", runs, about, title=ATTACK, runs=ATTACK)))
    content = page.render().decode()
    found = Parsed(content)
    assert found.count("script") == len(found.figures) + 2
    assert found.count("img") == 0
    assert not any(name.startswith("on") for _, attributes in found.tags for name in attributes)
    assert ATTACK in found.words  # it is shown, as text
    for figure in found.figures.values():
        assert "<script" not in json.dumps(figure)
        assert "<img" not in json.dumps(figure)


def test_sittings_that_are_no_records_are_left_out(tmp_path: Path) -> None:
    sweep = read_sweep(made_sweep(tmp_path / "made", made_runs(30), {"shards": ["text", 3, {"device": "a device"}]}))
    assert sweep.sittings == ({"device": "a device"},)


def test_a_page_is_not_written_over_a_directory(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is a directory; give the name of a file, such as .*report\.html"):
        Page("page").write(tmp_path)
