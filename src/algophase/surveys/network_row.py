"""One network as a row: the columns of a sweep's table, so that `runs`, `report`, `explore`,
`compare` and `laws` read it.
"""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from algophase.analysis.analyze import analyze
from algophase.analysis.hidden.look_inside import Inside
from algophase.analysis.operation import with_operation
from algophase.analysis.result import Analysis
from algophase.core.errors import InputError, one_line
from algophase.networks import Network
from algophase.runs.rows import analysis_columns, settings_columns
from algophase.runs.standing import settings_of
from algophase.storage import load_file
from algophase.storage.formats.config import Config
from algophase.storage.formats.contents import Contents, NetworkFile, NotANetwork, Reading
from algophase.storage.formats.ours import is_ours
from algophase.storage.formats.released import has_authors_config
from algophase.storage.formats.sidecars import training_columns
from algophase.storage.formats.transformer_lens import RATE_ASSUMED
from algophase.storage.formats.without_config import RateMissing
from algophase.surveys.tree import Question
from algophase.surveys.unknown_rate import analyze_at_all_rates

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


def answer(question: Question) -> dict[str, Any] | Problem:
    """The row of one file, or why there is none. Nothing that a file does is raised."""
    try:
        return _row(question)
    except NotANetwork as error:
        return Problem(_without_path(error, question.path), is_network=False)
    except InputError as error:
        return Problem(_without_path(error, question.path), is_network=True)
    except Exception as error:
        return Problem(f"it cannot be analyzed: {one_line(error)}", is_network=True)


def _without_path(error: InputError, path: Path) -> str:
    """The list has a column for the path."""
    text = " ".join(str(error).split())
    for start in (f"{path}: ", f"{path} "):
        text = text.removeprefix(start)
    return text


def _row(question: Question) -> dict[str, Any]:
    path = question.path
    try:
        network, rate_from, notes = _load(question)
    except RateMissing as error:
        columns = _columns_at_all_rates(question, str(error))
    else:
        columns = _columns(question, network, rate_from, notes)
        if rate_from == "assumed" and columns["accuracy"] < question.thresholds.accuracy:
            reason = "the file does not say the attention rate, and at rate 1 it errs"
            columns = _columns_at_all_rates(question, reason)
    stated = training_columns(path, _beside(path))
    for name, value in {**question.in_path, **stated}.items():
        if columns.get(name) is None:
            columns[name] = value
    return columns


def _columns(
    question: Question, network: Network, rate_from: str | None, notes: list[str]
) -> dict[str, Any]:
    analysis = analyze(network, question.thresholds, device=question.device).without_subject()
    columns = row_of_network(network.id, question.path, network, analysis)
    columns["id"] = network.id
    columns["group"] = columns.get("group") or columns.get("on_group.name")
    columns[RATE_FROM] = rate_from
    columns[CAUTIONS] = [*columns.get(CAUTIONS, []), *notes]
    return columns


def _load(question: Question) -> tuple[Network, str | None, list[str]]:
    """A network, who said its attention rate, and what else is to be said.

    What a file and its config say comes before what stands in its path.
    """
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
    return network, _rate_from(network, file, RATE in by_path and used_path), notes


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


def _columns_at_all_rates(question: Question, reason: str) -> dict[str, Any]:
    """The columns that are the same at every attention rate at which the network answers."""
    file = NetworkFile(question.path)

    def load_at(rate: float) -> Network:
        network = load_file(file, replace(question.reading, attention_rate=rate))
        if question.operation is not None:
            network = with_operation(network, question.operation)
        return network

    result = analyze_at_all_rates(load_at, question.thresholds, question.device)
    rows = []
    for network, analysis in result.analyses:
        rows.append(row_of_network(network.id, question.path, network, analysis))
    common = {name: value for name, value in rows[0].items() if _same(name, rows)}
    if "verdict" not in common:  # a row with the paper's label alone would be an older version's
        common.pop("paper_label", None)
    common[RATE] = None
    common["id"] = rows[0]["run_id"]
    common[RATE_FROM] = "unknown"
    common[CAUTIONS] = [reason.partition(";")[0], result.sentence]
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
