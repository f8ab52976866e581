import json
from pathlib import Path

import numpy
import pandas
import pytest
from populations_made import made_runs

from algophase.core.errors import InputError
from algophase.runs.comparison import Comparison, compare
from algophase.runs.findings import CIRCULAR, NOT_CIRCULAR
from algophase.runs.released_table import read_released_table
from algophase.runs.runs import Runs

FEW = 100  # bootstrap resamples, where intervals do not matter


def quick(ours: pandas.DataFrame, theirs: pandas.DataFrame, **options: object) -> Comparison:
    return compare(ours, theirs, resamples=FEW, **options)  # type: ignore[arg-type]


def test_equal_populations_are_indistinguishable() -> None:
    result = compare(made_runs(600, 1), made_runs(800, 2), ("a", "b"))
    assert result.indistinguishable
    text = str(result)
    assert text.startswith(
        "a and b are indistinguishable at a family-wise level of 1% (82 tests)\n"
    )
    assert "95% Wilson intervals" in text
    assert "detectable" in text
    record = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert record["indistinguishable"] is True
    assert (
        len(record["tests"]) == 82
    )  # 2 shares; 10 tenths of 3 metrics circular and not, of the norm and of circularity
    assert {test["measure"] for test in record["tests"]} >= {
        "full_accuracy",
        "circular",
        "parameter_norm",
        "circularity",
    }


def test_whole_and_broken_numbers_are_listed_in_one_order() -> None:
    decays = [0.0, 0.25, 0.5, 1.0, 2.0, 4.0]
    result = quick(
        made_runs(60, 1).assign(weight_decay=decays * 10), made_runs(60, 2).assign(weight_decay=2.0)
    )
    assert "weight_decay differs: 0 to 4 (6 values) in ours, 2 in theirs" in result.notes


def test_a_shifted_transition_is_found_and_named() -> None:
    result = quick(made_runs(600, 1), made_runs(800, 2, shift=0.12))
    assert not result.indistinguishable
    assert {test.where for test in result.rejected} >= {"rate 0.5 to 0.6", "rate 0.8 to 0.9"}
    assert str(result).startswith("ours and theirs differ at a family-wise level of 1%")
    assert str(result.rejected[0]) in str(result).splitlines()[0]
    assert result.boundaries_agree is False


def test_a_different_share_is_found() -> None:
    result = quick(made_runs(600, 1), made_runs(800, 2, circular=0.6))
    assert "circular" in {test.measure for test in result.rejected}


@pytest.mark.slow
def test_the_family_wise_level_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "algophase.runs.comparison._boundary_rows", lambda *_: []
    )  # not of the family, and slow
    generator = numpy.random.default_rng(0)
    alarms = 0
    for _ in range(60):
        ours, theirs = generator.integers(1_000_000, size=2)
        alarms += not quick(
            made_runs(250, ours), made_runs(250, theirs), level=0.2
        ).indistinguishable
    assert alarms <= 20  # 12 expected at most; 20 or more has a chance of 1%


def test_different_rates_are_no_different_shares() -> None:
    ours, theirs = made_runs(2000, 1), made_runs(2000, 2)
    for table in (ours, theirs):  # circular runs at high rates only
        table["circularity"] = numpy.where(table["attention_rate"] > 0.5, 0.998, 0.97)
    ours = ours[(ours["attention_rate"] > 0.5) | (ours.index % 4 == 0)]
    result = quick(ours, theirs)
    shares = {test.measure: test for test in result.findings if test.where == "all rates"}
    assert abs(shares["circular"].statistic) > 0.2
    assert shares["circular"].p > 0.01
    assert any("rates are spread differently" in note for note in result.notes)


def test_rates_that_do_not_meet_cannot_be_compared() -> None:
    ours, theirs = made_runs(600, 1), made_runs(600, 2)
    theirs["validation_accuracy"] = 0.5 + 0.5 * (theirs.index % 3 == 0)
    with pytest.raises(
        InputError,
        match=r"\(0 to 0.5 in ours, 0.5 to 1 in theirs\)$",
    ):
        quick(ours[ours["attention_rate"] < 0.5], theirs[theirs["attention_rate"] >= 0.5])
    ours, theirs = (
        pandas.concat([made_runs(30, seed + layers, layers=layers) for layers in (1, 2)])
        for seed in (1, 3)
    )
    ours["attention_rate"] = numpy.where(ours["layers"] == 1, 0.0, 0.25)
    theirs["attention_rate"] = numpy.where(theirs["layers"] == 1, 1.0, numpy.nan)
    with pytest.raises(
        InputError,
        match=r"\(layers 1: 0 in ours, 1 in theirs; layers 2: 0.25 in ours, none in theirs\)$",
    ):
        quick(ours, theirs)


def test_networks_without_a_rate_are_not_compared_with_others_and_what_differs_is_named() -> None:
    ours, theirs = (
        made_runs(100, 1),
        made_runs(100, 2, kind="linear", width=256).drop(columns="attention_rate"),
    )
    with pytest.raises(InputError) as caught:
        quick(ours[(ours["attention_rate"] * 10 // 1).isin([0, 1, 4])], theirs)
    told = str(caught.value)
    assert "(0 to 0.2, 0.4 to 0.5 in ours, none in theirs)" in told
    assert (
        "kind differs: transformer in ours, linear in theirs; width differs: 128 in ours, 256 "
        "in theirs" in told
    )


def test_a_boundary_that_one_side_lacks_among_the_rates_is_no_agreement() -> None:
    ours, theirs = made_runs(600, 1), made_runs(800, 2)
    chance = 1 / (
        1 + numpy.exp(15 * (theirs["attention_rate"] - 1.1))
    )  # theirs would end beyond rate 1
    theirs["gradient_symmetricity"] = 0.5 + 0.49 * (
        numpy.random.default_rng(0).uniform(size=800) < chance
    )
    result = compare(ours, theirs, resamples=200)
    (row,) = (row for row in result.boundaries if row.measure == "gradient_symmetricity")
    assert row.sides[1] is not None
    assert not row.sides[1].within
    assert row.agree is False
    assert "boundaries do not agree (each within the other's 95% interval)" in str(result)


def test_other_mixes_of_widths_are_noted() -> None:
    ours, theirs = made_runs(600, 1), made_runs(600, 2)
    generator = numpy.random.default_rng(0)
    ours["width"] = generator.integers(32, 512, 600)
    theirs["width"] = generator.integers(32, 200, 600)
    assert any("widths are spread differently" in note for note in quick(ours, theirs).notes)


def test_the_two_distance_irrelevances_are_never_mixed() -> None:
    ours, theirs = made_runs(600, 1), made_runs(800, 2).drop(columns="distance_irrelevance")
    ours["distance_irrelevance"] += 10  # would be found against anything
    result = quick(ours, theirs)
    assert result.indistinguishable
    assert "distance_irrelevance" not in {test.measure for test in result.findings}
    assert any("theirs has no distance_irrelevance" in note for note in result.notes)
    paper = next(row for row in result.boundaries if row.measure == "distance_irrelevance")
    assert paper.sides[1] is None
    assert paper.agree is None


BARE = "gradient_symmetricity_without_equals_sign"


def test_symmetricity_without_the_equals_sign_stands_in_where_a_side_has_no_other() -> None:
    ours, theirs = (made_runs(300, seed, equals_sign=True) for seed in (1, 2))
    ours[BARE], theirs[BARE] = ours["gradient_symmetricity"], theirs["gradient_symmetricity"] - 0.2
    both = quick(ours, theirs)
    assert both.indistinguishable
    assert BARE not in {test.measure for test in both.findings} | {
        row.measure for row in both.boundaries
    }
    released = quick(
        ours, theirs.assign(gradient_symmetricity=numpy.nan)
    )  # as the released table is read
    assert {test.measure for test in released.rejected} == {BARE}
    assert "gradient_symmetricity" not in {test.measure for test in released.findings}
    assert (
        "gradient symmetricity is not tested: theirs has no gradient_symmetricity" in released.notes
    )
    old = quick(ours.drop(columns=BARE), theirs.assign(gradient_symmetricity=numpy.nan))
    assert (
        f"gradient symmetricity (without the equals sign) is not tested: ours has no {BARE}"
        in old.notes
    )


def test_what_is_missing_is_said_of_each_group_and_of_runs_that_lack_it() -> None:
    ours, theirs = (
        pandas.concat(
            [made_runs(200, seed), made_runs(200, seed + 5, equals_sign=True)], ignore_index=True
        )
        for seed in (1, 2)
    )
    for side in (ours, theirs):
        side["equals_sign"] = side["equals_sign"].fillna(False).astype(bool)
    theirs.loc[theirs["equals_sign"], "gradient_symmetricity"] = numpy.nan
    ours.loc[~ours["equals_sign"] & (ours.index % 2 == 0), "distance_irrelevance"] = numpy.nan
    notes = quick(ours, theirs).notes
    assert (
        "gradient symmetricity is not tested, equals sign yes: theirs has no gradient_symmetricity"
        in notes
    )
    assert any(
        note.startswith("distance irrelevance is known for ")
        and note.endswith("of ours, equals sign no")
        for note in notes
    )


def test_missing_and_added_columns() -> None:
    ours, theirs = made_runs(600, 1), made_runs(800, 2)
    ours["added"] = [[1, 2]] * len(ours)
    bare = theirs[["attention_rate", "validation_accuracy", "gradient_symmetricity"]]
    result = quick(ours, bare)
    assert {test.measure for test in result.findings} == {"full_accuracy", "gradient_symmetricity"}
    assert {test.among for test in result.findings} == {
        "all runs",
        "accurate runs",
    }  # no circularity, no split
    assert any("theirs has no column activation: taken to be relu" in note for note in result.notes)


def test_depths_are_compared_with_their_own() -> None:
    ours = pandas.concat(
        [
            made_runs(300, 1, layers=2),
            made_runs(100, 2, layers=3, shift=0.2),
            made_runs(50, 3, layers=4),
        ]
    )
    theirs = pandas.concat(
        [
            made_runs(100, 4, layers=2),
            made_runs(300, 5, layers=3, shift=0.2),
            made_runs(70, 6, layers=1),
        ]
    )
    result = quick(ours, theirs)
    assert [group.label for group in result.groups] == ["layers 2", "layers 3"]
    assert result.indistinguishable
    assert result.sides[0].left_out == ((50, "layers 4: not in theirs"),)
    assert result.sides[1].left_out == ((70, "layers 1: not in ours"),)
    assert "share circular, layers 3" in str(result)


def test_groups_of_one_order_are_compared_with_their_own() -> None:
    """A table names no cyclic group, and has no such column if all are."""
    ours = pandas.concat(
        [made_runs(100, 1, modulus=60, group="A5"), made_runs(100, 2, modulus=60, group="D30")]
    )
    theirs = pandas.concat([ours.assign(run_id="x"), made_runs(100, 3, modulus=60)])
    theirs["run_id"] = [f"theirs-{index}" for index in range(len(theirs))]
    result = quick(ours, theirs)
    assert [group.label for group in result.groups] == ["group A5", "group D30"]
    assert result.sides[1].left_out == ((100, "group z60: not in ours"),)
    result = quick(made_runs(100, 4, modulus=60), theirs)
    assert result.sides[1].left_out == ((200, "group a5, d30: not in ours"),)


def test_settings_without_a_common_value() -> None:
    ours, theirs = made_runs(300, 1), made_runs(300, 2, activation="gelu", epochs=5)
    with pytest.raises(InputError, match="activation is relu in ours, gelu in theirs"):
        quick(ours, theirs, same_settings=True)
    result = quick(ours, theirs)
    assert "activation differs: relu in ours, gelu in theirs" in result.notes


def test_widths_that_vary_are_slices_and_a_second_regressor() -> None:
    ours, theirs = made_runs(600, 1), made_runs(700, 2)
    for seed, table in enumerate((ours, theirs)):
        table["width"] = numpy.round(2 ** numpy.random.default_rng(seed).uniform(5, 9, len(table)))
    result = quick(ours, theirs)
    assert len(result.groups) == 1
    assert len({test.where for test in result.findings if test.where.startswith("width ")}) == 4
    boundary = result.boundaries[0].sides[0]
    assert boundary is not None
    assert boundary.slope is not None
    assert "change of that rate per doubling of the width" in str(result)
    ours.loc[:39, "width"] = 128
    one_width = quick(ours, made_runs(300, 3), same_settings=True)
    assert 40 <= (ours["width"] == 128).sum() < 60
    assert len(one_width.sides[0].frame) == (ours["width"] == 128).sum()
    assert set(one_width.sides[0].frame["width"]) == {128}


@pytest.mark.parametrize("width", [None, 0, -5, numpy.inf])
def test_runs_without_a_width_are_left_out_where_widths_vary(width: float | None) -> None:
    ours, theirs = made_runs(600, 1), made_runs(700, 2)
    for seed, table in enumerate((ours, theirs)):
        table["width"] = numpy.round(2 ** numpy.random.default_rng(seed).uniform(5, 9, len(table)))
    whole = quick(ours.drop(index=7), theirs)
    ours.loc[7, ["width", "circularity", "validation_accuracy"]] = (width, 0.999, 1.0)
    result = quick(ours, theirs)
    assert result.sides[0].left_out == ((1, "no finite width above 0"),)
    assert result.sides[1].left_out == ()
    assert result.boundaries == whole.boundaries
    assert result.findings == whole.findings
    assert "ours: 599 of 600 rows used\n  - 1 left out: no finite width above 0" in str(result)


def test_a_width_of_nothing_does_not_make_widths_continuous() -> None:
    ours, theirs = (
        pandas.concat([made_runs(50, 4 * seed + i, width=32 * i) for i in range(5)])
        for seed in (1, 2)
    )
    assert [group.label for group in quick(ours, theirs).groups] == [
        f"width {width}" for width in (0, 128, 32, 64, 96)
    ]


def test_circularity_is_not_used_where_it_is_not_defined() -> None:
    ours, theirs = (made_runs(300, seed, separate_vocabularies=True) for seed in (1, 2))
    ours["circularity"] = None
    result = quick(ours, theirs)
    assert {test.measure for test in result.findings}.isdisjoint({"circular", "circularity"})
    assert not {CIRCULAR, NOT_CIRCULAR} & {test.among for test in result.findings}
    with_sign = quick(*(made_runs(300, seed, equals_sign=1) for seed in (1, 2)))
    assert not {CIRCULAR, NOT_CIRCULAR} & {test.among for test in with_sign.findings}


def test_runs_without_a_rate_are_one_stratum() -> None:
    ours, theirs = (
        made_runs(100, seed, kind="linear", model="beta").drop(columns="attention_rate")
        for seed in (1, 2)
    )
    result = quick(ours, theirs)
    assert {test.where for test in result.findings} == {"all rates", "no rate"}
    assert result.boundaries == ()
    assert result.boundaries_agree is None


def test_what_is_left_out_and_skipped_is_listed() -> None:
    ours = made_runs(300, 1)
    ours.loc[:9, "validation_accuracy"] = numpy.nan
    ours["diverged_at"] = numpy.nan
    ours.loc[:3, "diverged_at"] = 120  # diverged: an outcome, and not an accurate one
    ours = pandas.concat([ours, ours.iloc[50:52]])
    ours = ours[(ours["attention_rate"] < 0.2) | (ours["attention_rate"] > 0.3)]
    result = quick(ours, made_runs(300, 2))
    reasons = {reason: count for count, reason in result.sides[0].left_out}
    assert set(reasons) == {"a run id that is there already", "unfinished: no validation accuracy"}
    accuracy = result.shares[0].shares[0]
    assert accuracy.total == len(result.sides[0].frame)
    skipped = {(test.where, test.measure) for test in result.skipped}
    assert ("rate 0.2 to 0.3", "parameter_norm") in skipped
    assert "fewer than 5 runs on a side" in str(result)
    assert all(min(test.sizes) >= 5 for test in result.findings)


def test_the_same_runs_on_both_sides_are_noted() -> None:
    runs = made_runs(200, 1)
    assert any(
        "200 runs have the same settings and seed" in note for note in quick(runs, runs).notes
    )


def test_useless_tables_are_refused() -> None:
    runs = made_runs(100, 1)
    with pytest.raises(InputError, match="theirs has no finished run"):
        quick(runs, runs[:0])
    with pytest.raises(
        InputError,
        match=r"column validation_accuracy or accuracy; .* theirs has no columns",
    ):
        quick(runs, pandas.DataFrame())
    with pytest.raises(
        InputError,
        match=r"ours has \d+ and theirs 3, .* 5",
    ):
        quick(runs, runs[:3])
    with pytest.raises(InputError, match="column circularity of ours"):
        quick(runs.assign(circularity="round"), runs)
    for level in (0.0, 1.0, float("nan")):
        with pytest.raises(InputError, match="level is"):
            quick(runs, runs, level=level)
    for resamples in (-1, 0, 1, 99):
        with pytest.raises(InputError, match=f"bootstrap is {resamples}; choose at least 100"):
            compare(runs, runs, resamples=resamples)


@pytest.mark.parametrize(
    ("level", "told"), [(0.00001, "0.001%"), (0.005, "0.5%"), (0.07, "7%"), (0.9999, "99.99%")]
)
def test_the_level_is_told_as_it_was_given(level: float, told: str) -> None:
    assert f"at a family-wise level of {told} (" in str(
        quick(made_runs(100, 1), made_runs(100, 2), level=level)
    )


def test_halves_of_the_released_table_are_one_population(released: Path) -> None:
    table = read_released_table(released / "1l_fixedwidth.csv")
    plain = table[~table["separate_vocabularies"] & ~table["equals_sign"]]
    first = numpy.random.default_rng(0).permutation(len(plain)) < len(plain) // 2
    result = quick(plain[first], plain[~first], same_settings=True)
    assert result.indistinguishable
    assert [group.label for group in result.groups] == [f"layers {depth}" for depth in (1, 2, 3, 4)]


def test_one_layer_is_told_from_two(released: Path) -> None:
    table = read_released_table(released / "1l_fixedwidth.csv")
    plain = table[~table["separate_vocabularies"] & ~table["equals_sign"]]
    result = quick(plain[plain["layers"] == 1], plain[plain["layers"] == 2])
    assert not result.indistinguishable
    assert {"full_accuracy", "circular"} <= {test.measure for test in result.rejected}
    boundary = result.boundaries[0].sides[0]
    assert boundary is not None
    assert boundary.rate is not None
    assert boundary.rate.value == pytest.approx(0.516, abs=0.001)  # shared/facts.md


def test_populations_are_tables_files_or_runs_and_named_apart() -> None:
    runs = Runs.read("wide")
    names = [side.name for side in compare(runs, "wide", resamples=FEW).sides]
    assert names == ["wide", "wide again"]
    tables = compare(runs.frame, runs, resamples=FEW)
    assert [side.name for side in tables.sides] == ["ours", "wide"]
    assert tables.indistinguishable


def test_one_other_population_is_given() -> None:
    for released in (None, "1l_fixedwidth.csv"):
        theirs = None if released is None else "wide"
        with pytest.raises(InputError, match="give either theirs or released"):
            compare("wide", theirs, released=released)
