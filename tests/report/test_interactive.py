import json
import sys

import numpy
import pandas
import pytest
import torch
from report_pages import ATTACK, made_runs, numbers

from algophase.analysis.analyze import analyze
from algophase.analysis.circles import isolate_circles
from algophase.analysis.grid import correct_logits, grid_logits
from algophase.analysis.verdict import OUTCOMES
from algophase.errors import InputError
from algophase.networks import Network, initialise
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.report.figures import subject_of
from algophase.report.interactive import (
    attention_panels,
    circle_panel,
    correct_logits_panel,
    history_panels,
    isolated_panel,
)
from algophase.report.phase_diagrams import (
    MOST_DRAWN_AS_SHAPES,
    Mark,
    histogram,
    metric_plane,
    rate_by_metric,
    rate_by_width,
    shares_figure,
    transition,
)
from algophase.report.plotly_style import VERDICTS, graph_objects, look, plain
from algophase.runs.comparison import IRRELEVANCE, SYMMETRICITY, metric_boundary
from algophase.runs.runs import Population, foreign_settings, population_of, standings
from algophase.runs.statistics import Share
from algophase.settings import LinearSettings, RunSettings, TaskSettings, TransformerSettings


def drawn(figure: object) -> dict[str, list[dict[str, object]]]:
    return json.loads(figure.to_json())  # type: ignore[attr-defined]


def test_a_circle_says_its_tokens_on_hover() -> None:
    network = handmade_pizza(13, (2,))
    subject = subject_of(network, analyze(network))
    trace = circle_panel(subject, subject.evidence[0]).figure.data[0]
    assert sorted(map(int, trace.customdata)) == list(range(13))
    assert list(trace.customdata)[:3] == ["0", "7", "1"]  # neighbours on the circle of frequency 2 are 7 apart
    assert "token %{customdata}" in trace.hovertemplate
    radii = numpy.hypot(trace.x, trace.y)
    assert radii.std() < 1e-3 * radii.mean()


def test_tokens_that_share_a_place_are_named_together() -> None:
    network = handmade_pizza(12, (1, 5), accompanied=True)
    subject = subject_of(network, analyze(network))
    (item,) = [item for item in subject.evidence if item.circle.frequency == 2]
    assert circle_panel(subject, item).figure.data[0].customdata[0] == "0, beside 6"


@pytest.mark.parametrize("p", [13, 12])
def test_a_logit_map_shows_each_pair_where_its_hover_says(p: int) -> None:
    network = handmade_pizza(p, (1, 5), accompanied=True)
    subject = subject_of(network, analyze(network))
    item = subject.evidence[-1]
    for panel, logits in (
        (correct_logits_panel(subject), grid_logits(subject.network)),
        (isolated_panel(subject, item), isolate_circles(subject.network, [item.circle]).logits),
    ):
        trace = drawn(panel.figure)["data"][0]
        z, cells = numbers(trace["z"]), numbers(trace["customdata"])
        assert z.shape == ((p, p) if p % 2 else (p, p // 2))
        own = correct_logits(logits).numpy()
        a, b = numpy.indices((p, p))
        for row in range(z.shape[0]):
            for column in range(z.shape[1]):
                difference, total = cells[row, column]
                pairs = own[((a - b) % p == difference) & ((a + b) % p == total)]
                assert z[row, column] == pytest.approx(pairs.mean(), abs=1e-4)


def test_rows_and_columns_go_in_steps_of_the_spacing() -> None:
    network = handmade_clock(13, (4,))
    subject = subject_of(network, analyze(network))
    panel = isolated_panel(subject, subject.evidence[0])
    cells = numbers(drawn(panel.figure)["data"][0]["customdata"])
    assert cells[0, :3, 1].tolist() == [0, 10, 7]  # 10 * 4 = 1 (mod 13)
    assert "steps of 10" in panel.caption


def untrained(task: TaskSettings, layers: int = 1) -> Network:
    return initialise(RunSettings(task=task, network=TransformerSettings(width=32, attention_rate=0.5, layers=layers)))


def test_attention_shows_what_the_answer_takes() -> None:
    network = untrained(TaskSettings(modulus=7), layers=2)
    panels = attention_panels(subject_of(network, analyze(network)))
    assert len(panels) == 2 * 4
    z = numbers(drawn(panels[0].figure)["data"][0]["z"])
    _, cache = network.run_with_cache()
    expected = cache["blocks.0.attn.hook_pattern"][:, 0, -1, 0].view(7, 7)
    assert numpy.allclose(z, expected.detach().numpy(), atol=1e-6)
    equals = untrained(TaskSettings(modulus=7, equals_sign=True))
    assert len(attention_panels(subject_of(equals, analyze(equals)))) == 2 * 4
    linear = initialise(RunSettings(task=TaskSettings(modulus=7), network=LinearSettings()))
    assert attention_panels(subject_of(linear, analyze(linear))) == []


def test_two_operand_tables_are_two_markers() -> None:
    network = untrained(TaskSettings(modulus=7, separate_vocabularies=True))
    subject = subject_of(network, analyze(network))
    for item in subject.evidence:
        assert {trace.marker.symbol for trace in circle_panel(subject, item).figure.data} == {"circle", "square"}


def test_training_curves_leave_out_what_is_not_there() -> None:
    history: dict[str, list[float | None]]
    history = {"epochs": [0, 10], "training_loss": [4.0, 0.1], "validation_loss": [None, None], "parameter_norm": [3.0, None]}
    losses, norm = history_panels(history)
    assert [trace.name for trace in losses.figure.data] == ["training"]
    assert losses.figure.layout.yaxis.type == "log"
    assert "training 0.1" in losses.alt
    assert "undefined" in norm.alt


def test_verdicts_differ_in_colour_and_shape() -> None:
    assert set(VERDICTS) == set(OUTCOMES)
    assert len({colour for colour, _ in VERDICTS.values()}) == len({shape for _, shape in VERDICTS.values()}) == len(VERDICTS)


def test_phase_diagrams_hold_every_accurate_run_once() -> None:
    population = population_of(made_runs(300), "made")
    figure = rate_by_metric(population, SYMMETRICITY, metric_boundary(population.core, SYMMETRICITY, resamples=20))
    assert sum(len(trace.x) for trace in figure.data) == 300
    assert {trace.type for trace in figure.data} == {"scatter"}
    assert {trace.marker.color for trace in figure.data} == {look(name)[0] for name in ("Clock", "Pizza", "non-circular")}
    assert len(figure.layout.shapes) == 3  # the paper's line, the transition, its interval
    assert sum(len(trace.x) for trace in metric_plane(population, SYMMETRICITY, IRRELEVANCE).data) == 300
    mark = Mark(1, ATTACK, "Clock", 0.7, {SYMMETRICITY: 0.5})
    marked = rate_by_metric(population, SYMMETRICITY, marks=[mark]).data[-1]
    assert (marked.x, marked.y, marked.text) == ((0.7,), (0.5,), ("1",))
    assert "<script" not in marked.hovertemplate


def test_many_runs_are_drawn_by_the_graphics_card() -> None:
    population = population_of(made_runs(MOST_DRAWN_AS_SHAPES + 1), "made")
    assert {trace.type for trace in rate_by_metric(population, IRRELEVANCE).data} == {"scattergl"}


def test_continuous_widths_give_a_plane_with_transition_lines() -> None:
    widths = numpy.geomspace(32, 512, 300).round()
    population = population_of(made_runs(300, width=widths), "made")
    assert population.continuous_width
    assert population.groups() == [population]
    boundary = metric_boundary(population.core, SYMMETRICITY, by_width=True, resamples=20)
    figure = rate_by_width(population, [("line", boundary)])
    assert sum(len(trace.x) for trace in figure.data[:-1]) == len(population.core)
    assert figure.data[-1].name == "line"
    assert abs(numpy.mean(figure.data[-1].x) - 0.5) < 0.1


@pytest.mark.parametrize("width", [numpy.nan, 0.0])
def test_a_run_without_a_width_does_not_cost_the_transitions(width: float) -> None:
    table = made_runs(300, width=numpy.geomspace(32, 512, 300).round())
    number = population_of(table, "made").core.index[0]
    whole = population_of(table.drop(index=number), "made")
    table.loc[number, "width"] = width
    population = population_of(table, "made")
    assert population.left_out == ((1, "no finite width above 0"),)
    expected = metric_boundary(whole.core, SYMMETRICITY, by_width=True, resamples=20)
    assert expected.rate is not None
    assert metric_boundary(population.core, SYMMETRICITY, by_width=True, resamples=20) == expected
    kept = pandas.concat([whole.core, whole.core[:1].assign(width=width)])  # as the paper's items, which leave out no run
    assert metric_boundary(kept, SYMMETRICITY, by_width=True, resamples=20) == expected


def test_transitions_and_shares_carry_their_intervals() -> None:
    population = population_of(made_runs(300), "made")
    boundary = metric_boundary(population.core, SYMMETRICITY, resamples=50)
    figure = transition([("made", population.core, boundary)], SYMMETRICITY)
    shares = figure.data[-1]
    assert len(shares.x) == 10
    assert (shares.y[0], shares.y[-1]) == (1.0, 0.0)
    assert all(high > 0 or low > 0 for high, low in zip(shares.error_y.array, shares.error_y.arrayminus, strict=True))
    bars = shares_figure(["Clock", ATTACK, "none"], [Share(1, 4), Share(3, 4), Share(0, 0)])
    assert [trace.x[0] for trace in bars.data] == [0.25, 0.75]
    assert "<script" not in bars.to_json()


def test_histograms_count_every_value_also_where_all_are_equal() -> None:
    for values in (numpy.linspace(0, 1, 50), numpy.ones(50), numpy.empty(0)):
        figure = histogram(values, ["Clock"] * len(values), "metric", 0.5)
        assert sum(sum(trace.y) for trace in figure.data) == len(values)
        assert figure.layout.shapes[0].x0 == 0.5
    assert not histogram(numpy.ones(3), ["Clock"] * 3, "metric", float("nan")).layout.shapes


def test_a_percentile_is_the_share_below_ties_half() -> None:
    runs = made_runs(4, circularity=0.999, distance_irrelevance=[0.1, 0.2, 0.2, 0.9], verdict="Clock")
    network = handmade_clock(7, (1,))
    analysis = analyze(network)
    found = {place.metric: place for place in standings(analysis, population_of(runs, "made"))}
    object.__setattr__(found[IRRELEVANCE], "value", 0.2)
    assert found[IRRELEVANCE].percentile == 0.5
    assert "percentile 50 of 4 circular accurate runs" in str(found[IRRELEVANCE])
    object.__setattr__(found[IRRELEVANCE], "value", float("nan"))
    assert found[IRRELEVANCE].percentile is None
    assert "undefined" in str(found[IRRELEVANCE])


def test_where_circularity_is_null_all_accurate_runs_count() -> None:
    population = population_of(made_runs(50, circularity=None), "made")
    assert population.core_name == "accurate runs"
    assert len(population.core) == 50
    without = population_of(made_runs(50).drop(columns="circularity"), "made")
    assert without.core_name == "accurate runs"


def test_settings_of_few_values_make_groups() -> None:
    population = population_of(made_runs(90, layers=[1, 2, 2] * 30), "made")
    assert [(group.label, len(group.runs)) for group in population.groups()] == [("layers 2", 60), ("layers 1", 30)]


def test_a_network_unlike_the_population_is_noticed() -> None:
    population = population_of(made_runs(20), "made")
    assert foreign_settings(untrained(TaskSettings(modulus=59)), population) == ["width 32 (there 128)"]
    differ = foreign_settings(handmade_clock(7, (1,)), population)
    assert any(line.startswith("modulus 7 (there 59)") for line in differ)
    alike = initialise(RunSettings(task=TaskSettings(modulus=59), network=TransformerSettings(width=128)))
    assert foreign_settings(alike, population) == []


def test_tables_that_cannot_be_used_say_why() -> None:
    with pytest.raises(InputError, match="made needs the column validation_accuracy or accuracy; it has index, run_id"):
        population_of(made_runs(3).drop(columns=["validation_accuracy", "accuracy"]), "made")
    with pytest.raises(InputError, match="column circularity of made is not all numbers"):
        population_of(made_runs(3).assign(circularity="round"), "made")
    endless = population_of(made_runs(3, attention_rate=[0.5, float("inf"), -1.0]), "made")
    assert isinstance(endless, Population)
    assert endless.runs["_rate"].isna().sum() == 1
    strange = population_of(made_runs(3).assign(verdict=[None, ATTACK, ""]), "made")
    assert strange.runs["_verdict"].tolist() == ["not analysed", ATTACK, "not analysed"]


def test_text_from_files_is_inert() -> None:
    assert plain(ATTACK) == "&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(2)&gt;"
    assert plain("%{x} $a$\x00\u2028") == "%&#123;x} &#36;a&#36;  "
    assert len(plain("a" * 10_000)) == 200


def test_without_plotly_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(InputError, match=r'pip install "algophase\[explore\]"'):
        graph_objects()


def test_the_network_itself_is_left_as_it_was() -> None:
    network = handmade_clock(7, (1,)).float()
    subject_of(network, analyze(network))
    assert {parameter.dtype for parameter in network.parameters()} == {torch.float32}
