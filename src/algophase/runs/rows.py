"""One run as one row, and back: every setting and every number measured, by the names of settings
and `analyze --json`.

A row depends on the run and the machine's arithmetic alone. It holds no times, so a sweep that was
killed and resumed gives a table identical to an uninterrupted one's. A table from elsewhere can say
anything: what is read back is checked.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, get_args

import numpy as np

from algophase.analysis.analyze import Analysis
from algophase.analysis.catalogue import EXACT, IRRELEVANCE, metrics
from algophase.analysis.circles.find import Circle
from algophase.analysis.circles.roles import CircleEvidence, Role
from algophase.analysis.hidden.look_inside import HiddenLayer
from algophase.analysis.moments import MomentDetails
from algophase.analysis.program.forms import FITTED, period_of
from algophase.analysis.program.instances import Instance, Instances
from algophase.analysis.program.read import Program
from algophase.analysis.record import SHARES
from algophase.analysis.verdict.decide import (
    NO_VERDICT,
    Confidence,
    Form,
    Label,
    Verdict,
    decide,
    findings,
)
from algophase.analysis.verdict.lines import TIE
from algophase.analysis.verdict.paper_label import (
    Measurements,
    PaperLabel,
    PaperVerdict,
    Shape,
    circularity_name,
)
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.errors import InputError
from algophase.core.settings import (
    NETWORK_KINDS,
    RunSettings,
    TaskSettings,
    TrainingSettings,
    network_from_dict,
    network_to_dict,
    trained_kinds,
)
from algophase.storage.runs_table import Row, flat_columns
from algophase.training.run.trained import CURVES, TrainedRun

# The columns of a row that its verdict fills.
DECIDED = (
    *(
        "verdict",
        "sentence",
        "reasons",
        "pizza_logit_share",
        "named_share",
        "nearest_line",
        "nearest_distance",
    ),
    *("instances.form", "instances.fit"),
)


def settings_columns(run: RunSettings) -> dict[str, Any]:
    return {
        **run.task.to_dict(),
        **network_to_dict(run.network),
        **run.training.to_dict(),
        "seed": run.seed,
    }


def make_row(
    space: str,
    index: int,
    trained: TrainedRun,
    analysis: Analysis | None,
    curves: Mapping[str, float] | None = None,
    hidden: HiddenLayer | None = None,
) -> Row:
    """analysis: None for a network that diverged; its metrics are null and `diverged_at` says when.

    curves: the history's numbers, by default those after the last epoch. hidden: what was seen
        inside its hidden layer.
    """
    if curves is None:
        curves = {name: float(getattr(trained.history, name)[-1]) for name in CURVES}
    row: dict[str, Any] = {
        "space": space,
        "index": index,
        "run_id": trained.id,
        **settings_columns(trained.run),
    }
    row |= {
        "engine": trained.engine,
        "device": trained.device.partition(":")[0],
        "precision": trained.precision,
    }
    row |= {"epochs_trained": trained.epochs, "diverged_at": trained.diverged_at}
    row |= {
        name: curves[name] if math.isfinite(curves.get(name, math.nan)) else None for name in CURVES
    }
    if analysis is None:
        return {**row, "verdict": None, "paper_label": None}
    return {**row, **analysis_columns(analysis, hidden)}


def analysis_columns(analysis: Analysis, hidden: HiddenLayer | None = None) -> dict[str, Any]:
    """What was measured of one network as columns of its row, without its name and its settings."""
    record = analysis.to_dict()
    del record["id"]
    if "program" in record:  # a row keeps their harmonics
        del record["program"]["profiles"]
    if record["anatomy"] is None:  # its fields are columns, where a network has one
        del record["anatomy"]
    inside = {} if hidden is None else flat_columns({"hidden": hidden.columns()})
    frequencies = [item.circle.frequency for item in analysis.circles]
    return {"frequencies": frequencies, **flat_columns(record), **inside}


def make_moment(
    space: str,
    index: int,
    trained: TrainedRun,
    epoch: int,
    analysis: Analysis | None,
    details: MomentDetails | None,
) -> Row:
    """A run as it was after `epoch` updates: the columns of its row, measured then, and those of
    `MomentDetails`.
    """
    history, curves = trained.history, dict[str, float]()
    if epoch in history.epochs:
        place = history.epochs.index(epoch)
        curves = {name: float(getattr(history, name)[place]) for name in CURVES}
    row = {**make_row(space, index, trained, analysis, curves), "epoch": epoch}
    return row if details is None else {**row, **flat_columns(details.to_dict())}


def run_from_row(row: Mapping[str, Any]) -> RunSettings:
    """The settings of a row's run, checked against its id. A setting without a column has its
    default.
    """
    present = {name: value for name, value in row.items() if not _missing(value)}
    kind = present.get("kind")
    if kind not in trained_kinds():
        raise InputError(f"kind of a run is {kind!r}; choose one of {', '.join(trained_kinds())}")
    network = network_from_dict({"kind": kind, **_among(present, NETWORK_KINDS[kind]())})
    training = TrainingSettings.from_dict(
        {**network.published_training().to_dict(), **_among(present, network.published_training())}
    )
    seed = _like("seed", present.get("seed", 0), 0)
    run = RunSettings(
        TaskSettings.from_dict(_among(present, TaskSettings())), network, training, seed
    )
    if present.get("run_id", run.run_id) != run.run_id:
        raise InputError(
            f"the settings of run {present['run_id']} give {run.run_id}: its row was changed, "
            "or is another version's"
        )
    return run


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _among(present: Mapping[str, Any], default: Any) -> dict[str, Any]:
    """The columns that are settings of this kind, as the type the default has: a table makes 128
    out of 128.0 and back.
    """
    reference = {field.name: getattr(default, field.name) for field in fields(default)}
    return {
        name: _like(name, present[name], like)
        for name, like in reference.items()
        if name in present
    }


def _like(name: str, value: Any, like: Any) -> Any:
    if isinstance(
        like, tuple
    ):  # a table makes lists or arrays of tuples; the settings check what is in them
        return _tuples(value)
    try:
        found = type(like)(value)
        if found == value:
            return found
    except (TypeError, ValueError):
        pass
    raise InputError(f"{name} of a run is {value!r}; it must be of type {type(like).__name__}")


def _tuples(value: Any) -> Any:
    found = value.tolist() if isinstance(value, np.ndarray) else value
    return tuple(map(_tuples, found)) if isinstance(found, list | tuple) else found


def analysis_of_row(
    row: Mapping[str, Any], circles: Sequence[Circle] | None = None
) -> Analysis | None:
    """The analysis a row was made from; None if the row lacks or garbles anything.

    circles: those found in the run's weights, which must be the row's; without them, as the row
        describes them. What an older
    table does not hold is NaN, and there is no verdict where it has the paper's label alone.
    Profiles of the program and of its instances are left out, and so is a linear network's anatomy:
    a row holds only their numbers.
    """
    try:
        return _read_analysis(row, circles)
    except (KeyError, TypeError, ValueError, IndexError):
        return None


def decided(row: Row) -> Row:
    """A row with the verdict that this version gives from the row's numbers; as it is where it has
    none. Nothing is measured.

    The paper's label stays.
    """
    analysis = analysis_of_row(row)
    if analysis is None or not analysis.verdict.known:
        return row
    columns = flat_columns(analysis.decide(Thresholds()).to_dict())
    return {**row, **{name: columns.get(name) for name in DECIDED}}


def _read_analysis(row: Mapping[str, Any], circles: Sequence[Circle] | None) -> Analysis:
    frequencies = [int(frequency) for frequency in row.get("frequencies") or []]
    if circles is None:
        circles = [_read_circle(row, place) for place in range(len(frequencies))]
    if frequencies != [circle.frequency for circle in circles]:
        raise ValueError("the row has other circles")
    evidence = tuple(_read_evidence(row, place, circle) for place, circle in enumerate(circles))
    by_operand = tuple(
        _number(value) for value in row.get("operand_circularity") or [row["circularity"]]
    )
    paper = _read_paper(row)
    values = {quantity.name: _number(row.get(quantity.name)) for quantity in metrics()}
    program, instances = _read_program(row), _read_instances(row)
    return Analysis(
        id=str(row["run_id"]),
        metrics=values,
        operand_circularity=by_operand,
        verdict=NO_VERDICT
        if row.get("verdict") is None
        else _read_verdict(row, program, instances),
        program=program,
        instances=instances,
        paper=paper,
        measured=Measurements(
            accuracy=values["accuracy"],
            pairs=int(row["modulus"]) ** 2,
            wrong_pairs=round((1 - values["accuracy"]) * int(row["modulus"]) ** 2)
            if values["accuracy"] >= 0
            else 0,
            distance_irrelevance=values[IRRELEVANCE],
            gradient_symmetricity=values[EXACT],
            circularity=min(by_operand),
            circularity_name=circularity_name(len(by_operand)),
            shape=_read_shape(paper),
        ),
        circles=evidence,
        anatomy=None,
        cautions=_texts(row.get("cautions") or []),
    )


def _texts(values: Any) -> tuple[str, ...]:
    """A few texts of bounded length: a table from elsewhere can say anything."""
    return tuple(str(value)[:400] for value in values[:40])


def _read_paper(row: Mapping[str, Any]) -> PaperVerdict:
    shape, agree = row.get("shape"), row.get("metrics_agree")
    return PaperVerdict(
        label=_one_of(row["paper_label"], get_args(PaperLabel)),
        reasons=_texts(row["paper_reasons"]),
        metrics_agree=None if agree is None else bool(agree),
        shape=None if shape is None else _one_of(shape, get_args(Shape)),
        pizza_share=None if row.get("pizza_share") is None else _number(row["pizza_share"]),
    )


def _read_shape(paper: PaperVerdict) -> tuple[Shape, str] | None:
    """The shape with the reason that describes it."""
    if paper.shape is None:
        return None
    told = {"several frequencies": "a curve through"}.get(paper.shape, paper.shape)
    return paper.shape, next(
        (reason for reason in paper.reasons if reason.startswith(told)), paper.shape
    )


def _read_program(row: Mapping[str, Any]) -> Program:
    """The program as a row keeps it: shares, key frequencies and the harmonics of their
    profiles.
    """
    p, keys = int(row["modulus"]), tuple(int(k) for k in row.get("program.frequencies") or [])
    nothing = np.zeros((len(keys), 0))
    rows = row.get("program.harmonics") or []
    return Program(
        modulus=p,
        accuracy=_number(row.get("accuracy")),
        **{
            name: _number(row.get(f"program.{name}"))
            for name in (*SHARES, "answer_accuracy", "norm")
        },
        frequencies=keys,
        frequency_shares=tuple(
            _number(value) for value in row.get("program.frequency_shares") or []
        ),
        harmonics=np.array([[_number(value) for value in each] for each in rows])
        if keys
        else nothing,
        spectrum=np.zeros(0),
        profiles=nothing,
        sine_profiles=nothing,
        readout=nothing.astype(np.complex128),
        readout_spectrum=nothing,
        offsets=np.zeros(0),
        answer=np.zeros((0, 0)),
    )


def _read_instances(row: Mapping[str, Any]) -> Instances:
    found = []
    for place, frequencies in enumerate(row.get("instances.frequencies") or []):
        number = {
            field.name: _number(row[f"instances.{field.name}"][place])
            for field in fields(Instance)
            if field.type is float
        }
        fits = [_number(value) for value in row["instances.fits"][place]]
        members = tuple(int(k) for k in frequencies)
        found.append(
            Instance(
                frequencies=members,
                keys=tuple(int(k) for k in row["instances.keys"][place]),
                period=period_of(members[0], int(row["modulus"])),
                profile=np.zeros(0),
                leading_profile=np.zeros(0),
                fits=dict(zip(FITTED, fits, strict=True)),
                **number,
            )
        )
    remainder = 1.0 - sum(each.share for each in found)
    return Instances(
        tuple(found),
        (),
        _number(row.get("additivity")),
        remainder,
        int(row.get("outstanding") or 0),
    )


def _read_verdict(row: Mapping[str, Any], program: Program, instances: Instances) -> Verdict:
    """As the row has it, which may have been decided by other thresholds than the published ones.

    Where the published ones decide the same, the verdict is in the words of this version: older
    tables have older words.
    """
    forms = row.get("instances.form") or []
    if len(forms) != len(instances.instances):
        raise ValueError("a form for each instance")
    share = row.get("pizza_logit_share")
    nearest = str(row["nearest_line"])[:80], _number(row["nearest_distance"])
    recorded = Verdict(
        label=_one_of(row["verdict"], get_args(Label)),
        sentence=str(row["sentence"])[:400],
        reasons=_texts(row["reasons"]),
        forms=tuple(_one_of(form, get_args(Form)) for form in forms),
        pizza_share=None if share is None else _number(share),
        distances={},
        confidence=Confidence(instances.additivity, _number(row["named_share"]), *nearest),
    )
    if math.isnan(program.accuracy):
        return recorded
    today = decide(findings(program, instances))
    same_answer = (today.label, today.forms) == (recorded.label, recorded.forms)
    same_nearest = today.confidence.nearest_line == recorded.confidence.nearest_line
    apart = abs(today.confidence.nearest_distance - recorded.confidence.nearest_distance)
    return today if same_answer and same_nearest and apart <= TIE else recorded


def _read_circle(row: Mapping[str, Any], place: int) -> Circle:
    numbers = {
        field.name: _of_circle(row, field.name, place)
        for field in fields(Circle)
        if field.type is float
    }
    return Circle(
        frequency=int(row["circles.frequency"][place]),
        components=tuple(int(number) for number in row["circles.components"][place]),
        method=_one_of(row["circles.method"][place], ("components", "frequency")),
        **numbers,
    )


def _read_evidence(row: Mapping[str, Any], place: int, circle: Circle) -> CircleEvidence:
    numbers = {
        field.name: _of_circle(row, field.name, place)
        for field in fields(CircleEvidence)
        if field.type is float
    }
    accompanies = row["circles.accompanies"][place]
    return CircleEvidence(
        circle=circle,
        role=_one_of(row["circles.role"][place], get_args(Role)),
        accompanies=None if accompanies is None else int(accompanies),
        partner=None,
        **numbers,
    )


def _of_circle(row: Mapping[str, Any], name: str, place: int) -> float:
    values = row.get(f"circles.{name}")
    return math.nan if values is None else _number(values[place])


def _number(value: object) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("not a number")
    return float(value)


def _one_of(value: Any, allowed: tuple[Any, ...]) -> Any:
    if value not in allowed:
        raise ValueError("not one of the choices")
    return value
