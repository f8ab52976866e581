"""One network as a row: the columns of a sweep's table, so that `runs`, `report`, `explore`,
`compare` and `laws` read it.
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from algophase.analysis.analyze import analyze
from algophase.analysis.hidden.look_inside import Inside
from algophase.analysis.operation import with_operation
from algophase.analysis.result import Analysis
from algophase.core.errors import InputError, NotFinite, one_line
from algophase.networks import Network
from algophase.runs.rows import analysis_columns, settings_columns
from algophase.runs.standing import settings_of
from algophase.storage import id_of, load_file
from algophase.storage.formats.answers import WELL
from algophase.storage.formats.config import Config
from algophase.storage.formats.contents import Contents, NetworkFile, NotANetwork, Reading
from algophase.storage.formats.one_hot_activation import ActivationMissing
from algophase.storage.formats.ours import is_ours
from algophase.storage.formats.released import has_authors_config
from algophase.storage.formats.sidecars import training_columns
from algophase.storage.formats.transformer_lens import RATE_ASSUMED
from algophase.storage.formats.without_config import RateMissing
from algophase.surveys.tree import Question
from algophase.surveys.unknown_setting import (
    Alternatives,
    accurate_rates,
    analyze_at_all_rates,
    analyze_with_all_activations,
)

Result = TypeVar("Result")

RATE = "attention_rate"
RATE_FROM = "rate_from"  # who says the attention rate: file, path, option, assumed or unknown
CAUTIONS = "cautions"
DIED = "the process that analyzed it ended"  # how such a reason begins: it may not happen again
READ_BY = ("attention_rate", "modulus")  # settings in a path that say how to read the file
# A path's number is often rounded: model_B_0.179.pt has rate 0.17910482
ROUNDED = 0.005


@dataclass(frozen=True)
class Problem:
    """Why a file has no row. is_network: it holds one, or may; otherwise something else."""

    reason: str
    is_network: bool


def network_settings(network: Network) -> dict[str, Any]:
    """What is known of how a network is built and was trained, by the names of settings."""
    settings = settings_of(network)
    if network.run is not None:
        settings |= settings_columns(network.run)
    return settings


def row_of_network(
    name: str, source: Path, network: Network, analysis: Analysis, hidden: Inside | None = None
) -> dict[str, Any]:
    """A network of a file and its analysis as a row. name: among the other networks."""
    return {
        "run_id": name,
        "path": str(source),
        **network_settings(network),
        **analysis_columns(analysis, hidden),
    }


Answer = dict[str, Any] | Problem


@dataclass(frozen=True)
class Loaded:
    """A network, who said its attention rate (None: it has none), and what else is to be said."""

    network: Network
    rate_from: str | None
    notes: list[str]


def answer(question: Question) -> Answer:
    """The row of one file, or why there is none. Nothing that a file does is raised."""
    loaded = loaded_or_answer(question)
    if not isinstance(loaded, Loaded):
        return loaded

    def row() -> dict[str, Any]:
        analysis = analyze(loaded.network, question.thresholds, device=question.device)
        return _row(question, loaded, analysis.without_subject())

    return _or_problem(question, row)


def loaded_or_answer(question: Question) -> Loaded | Answer:
    """The network of a file, to be analyzed; or the row of one that has several readings, or why
    there is none.
    """
    return _or_problem(question, lambda: _load_or_row(question))


def answer_of_analysis(question: Question, loaded: Loaded, analysis: Analysis) -> Answer:
    """`answer`, of a network that was loaded and analyzed already."""
    return _or_problem(question, lambda: _row(question, loaded, analysis))


def problem_of(question: Question, error: InputError) -> Problem:
    """Why a file has no row."""
    is_network = not isinstance(error, NotANetwork)
    return Problem(_without_path(error, question.path), is_network)


def _or_problem(question: Question, work: Callable[[], Result]) -> Result | Problem:
    try:
        return work()
    except InputError as error:
        return problem_of(question, error)
    except Exception as error:
        return Problem(f"it cannot be analyzed: {one_line(error)}", is_network=True)


def _without_path(error: InputError, path: Path) -> str:
    """The list has a column for the path."""
    text = " ".join(str(error).split())
    for start in (f"{path}: ", f"{path} "):
        text = text.removeprefix(start)
    return text


def _load_or_row(question: Question) -> Loaded | dict[str, Any]:
    try:
        return _load(question)
    except RateMissing as error:
        columns = _columns_at_all_rates(question, _without_path(error, question.path))
    except ActivationMissing as error:
        columns = _columns_with_all_activations(question, error)
    except NotFinite as error:
        columns = _columns_of_diverged(question, error)
    return _with_what_is_stated(question, columns)


def _row(question: Question, loaded: Loaded, analysis: Analysis) -> dict[str, Any]:
    network = loaded.network
    columns = row_of_network(network.id, question.path, network, analysis)
    columns["id"] = network.id
    columns["group"] = columns.get("group") or columns.get("on_group.name")
    columns[RATE_FROM] = loaded.rate_from
    columns[CAUTIONS] = [*columns.get(CAUTIONS, []), *loaded.notes]
    errs = columns["accuracy"] < WELL
    if loaded.rate_from == "assumed" and errs and _answers_elsewhere(question):
        reason = "the file does not say the attention rate, and at rate 1 it errs"
        columns = _columns_at_all_rates(question, reason)
    return _with_what_is_stated(question, columns)


def _with_what_is_stated(question: Question, columns: dict[str, Any]) -> dict[str, Any]:
    """A row with settings of the configs beside its file, and of its path."""
    stated = training_columns(question.path, _beside(question.path))
    for name, value in {**question.in_path, **stated}.items():
        if columns.get(name) is None:
            columns[name] = value
    return columns


def _load(question: Question) -> Loaded:
    """What a file and its config say comes before what stands in its path."""
    asked = question.reading
    by_path = dict[str, Any]()
    for name in READ_BY:
        if name in question.in_path and getattr(asked, name) is None:
            by_path[name] = question.in_path[name]
    file = NetworkFile(question.path)
    network, used_path = _load_by_path(file, asked, by_path)
    notes = [] if used_path else _contradicted(network, by_path)
    if question.operation is not None:
        network = with_operation(network, question.operation)
    rate_from = _rate_from(network, file, RATE in by_path and used_path)
    return Loaded(network, rate_from, notes)


def _load_by_path(
    file: NetworkFile, asked: Reading, by_path: Mapping[str, Any]
) -> tuple[Network, bool]:
    """A network, and whether what stands in its path goes with what the file says."""
    if by_path:
        with contextlib.suppress(InputError):  # the file may say something else: that is taken
            return load_file(file, replace(asked, **by_path)), True
    return load_file(file, asked), False


def _contradicted(network: Network, by_path: Mapping[str, float]) -> list[str]:
    own = settings_of(network)
    notes = []
    for name, value in by_path.items():
        stated = own.get(name)
        if stated is not None and abs(stated - value) > ROUNDED:
            notes.append(f"its path says {name} {value:g}, its file {stated:g}: the file's is used")
    return notes


def _rate_from(network: Network, file: NetworkFile, by_path: bool) -> str | None:
    """None for a network without such a setting."""
    if settings_of(network).get(RATE) is None:
        return None
    if any(note.startswith(RATE_ASSUMED) for note in network.notes):
        return "assumed"
    if is_ours(file) or has_authors_config(file) or RATE in Config(Contents(file)):
        return "file"
    return "path" if by_path else "option"


def _load_at(question: Question) -> Callable[[float], Network]:
    return lambda rate: _load_again(question, attention_rate=rate)


def _answers_elsewhere(question: Question) -> bool:
    """Whether there is an attention rate at which a network answers. One that learned nothing
    answers at none, and the rate that was assumed may be right.
    """
    return bool(accurate_rates(_load_at(question), question.thresholds))


def _columns_at_all_rates(question: Question, reason: str) -> dict[str, Any]:
    """The columns that are the same at every attention rate at which the network answers."""
    alternatives = analyze_at_all_rates(_load_at(question), question.thresholds, question.device)
    columns = _in_common(question, alternatives, reason)
    columns[RATE] = None
    columns[RATE_FROM] = "unknown"
    return columns


def _columns_with_all_activations(question: Question, missing: ActivationMissing) -> dict[str, Any]:
    """The columns that are the same with every activation that a network may have."""

    def load_with(activation: str) -> Network:
        return _load_again(question, activation=activation)

    alternatives = analyze_with_all_activations(
        missing.candidates, load_with, question.thresholds, question.device
    )
    columns = _in_common(question, alternatives, _without_path(missing, question.path))
    if len(alternatives.analyses) > 1:
        columns["activation"] = None
    return columns


def _columns_of_diverged(question: Question, error: NotFinite) -> dict[str, Any]:
    """Of a network whose weights are no numbers: it answers no pair."""
    name = id_of(NetworkFile(question.path))
    reason = f"its training diverged: {_without_path(error, question.path)}"
    return {
        "run_id": name,
        "id": name,
        "path": str(question.path),
        "verdict": "not learned",
        "accuracy": 0.0,
        CAUTIONS: [reason],
    }


def _load_again(question: Question, **said: Any) -> Network:
    """The network of a file, with more said about it."""
    network = load_file(NetworkFile(question.path), replace(question.reading, **said))
    if question.operation is not None:
        network = with_operation(network, question.operation)
    return network


def _in_common(question: Question, alternatives: Alternatives, reason: str) -> dict[str, Any]:
    """The columns that are the same in all analyses. reason: why there are several.

    A row without an accuracy would not count as a run. Where accuracies differ, it has the lowest.
    """
    rows = []
    for network, analysis in alternatives.analyses:
        rows.append(row_of_network(network.id, question.path, network, analysis))
    common = {name: value for name, value in rows[0].items() if _same(name, rows)}
    if "verdict" not in common:  # a row with the paper's label alone would be an older version's
        common.pop("paper_label", None)
    common["id"] = rows[0]["run_id"]
    shared = list(rows[0].get(CAUTIONS, []))
    for row in rows[1:]:
        shared = [note for note in shared if note in row.get(CAUTIONS, [])]
    common[CAUTIONS] = [reason.partition(";")[0], alternatives.sentence, *shared]
    if "accuracy" not in common:
        accuracies = [row["accuracy"] for row in rows]
        common["accuracy"] = min(accuracies)
        span = f"{min(accuracies):.2%} to {max(accuracies):.2%}"
        common[CAUTIONS].append(f"accuracy {span}, of which the lowest is given")
    return common


def _same(name: str, rows: list[dict[str, Any]]) -> bool:
    """Whether a column has one value in all rows, up to rounding."""
    first = rows[0][name]
    for row in rows[1:]:
        value = row.get(name)
        if isinstance(first, float) and isinstance(value, float):
            both_undefined = first != first and value != value
            if not both_undefined and abs(first - value) > 1e-9 * max(1.0, abs(first)):
                return False
        elif value != first:
            return False
    return True


def _beside(path: Path) -> Mapping[str, Any]:
    """What a file holds beside its tensors."""
    try:
        return Contents(path).beside
    except InputError:
        return {}
