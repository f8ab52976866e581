"""Rival accounts of one network as text: a table of accounts, one of interventions."""

from collections.abc import Sequence
from typing import Any

from algophase.pages.network_text import Record
from algophase.pages.table import Table
from algophase.pages.text import accuracy_text, percent

ACCOUNT_HEAD = ["account", "measure", "value", "line", "by chance", "outcome"]
INTERVENTION_HEAD = ["intervention", "accuracy", "loss", "logits left", "accounts say"]


def rivals_text(record: Record) -> str:
    """What `algophase rivals` prints."""
    passing = ", ".join(_passing(record)) or "none"
    title = f"{record['id']} on {record['group']}: passes {passing}"
    lines = [title, "=" * len(title), f"  verdict: {record['headline']}", ""]
    lines += Table(ACCOUNT_HEAD, account_rows(record), numbers=[2, 3, 4]).lines(2)
    lines.append("")
    lines += notes(record)
    lines += ["", *_own(record)]
    table = Table(INTERVENTION_HEAD, intervention_rows(record), numbers=[1, 2, 3])
    return "\n".join([*lines, *table.lines(2)])


def account_rows(record: Record) -> list[list[str]]:
    """Under `ACCOUNT_HEAD`: a row per account with its outcome, and one per measure."""
    rows = []
    for account in record["accounts"]:
        about = account["undefined"] or account["predicts"]
        rows.append([account["name"], about, "", "", "", account["outcome"].upper()])
        rows += [["", *measure_cells(measure)] for measure in account["measures"]]
    return rows


def _passing(record: Record) -> list[str]:
    names = []
    for account in record["accounts"]:
        if account["passes"]:
            remark = "" if account["discriminates"] else f" ({account['outcome']})"
            names.append(f"{account['name']}{remark}")
    return names


def measure_cells(measure: Record) -> list[str]:
    """Its name, value, line, value by chance, and whether it passes."""
    value = value_text(measure, "value")
    by_chance = value_text(measure, "by_chance")
    if measure["line"] is None:
        return [f"  {measure['name']}", value, "", by_chance.removeprefix("-"), ""]
    sign = "<" if measure["below"] else ">="
    line = f"{sign} {value_text(measure, 'line')}"
    return [f"  {measure['name']}", value, line, by_chance, measure["outcome"]]


def value_text(measure: Record, name: str) -> str:
    value = measure[name]
    if measure["unit"] == "share":
        return percent(value)
    return "-" if value is None else f"{value:.3g}"


def notes(record: Record) -> list[str]:
    lines = []
    for account in record["accounts"]:
        lines += [f"  {account['name']}: {note}" for note in account["notes"]]
    return lines


def _own(record: Record) -> list[str]:
    accuracy = accuracy_text(record["accuracy"])
    loss = loss_text(record["cross_entropy"])
    return [f"  as it is: accuracy {accuracy}, loss {loss}"]


def intervention_rows(record: Record) -> list[list[Any]]:
    """Under `INTERVENTION_HEAD`."""
    rows = []
    for one in record["interventions"]:
        name = f"{one['name']} ({one['which']})" if one["which"] else one["name"]
        if one["impossible"]:
            rows.append([name, "-", "-", "-", f"not possible: {one['impossible']}"])
            continue
        left = percent(max(one["explained"], 0.0)) if one["explained"] is not None else "-"
        expected = one["expected"] if one["tells"] else f"does not tell: {one['expected']}"
        cells = [accuracy_text(one["accuracy"]), loss_text(one["cross_entropy"]), left, expected]
        rows.append([name, *cells])
    return rows


def loss_text(loss: float | None) -> str:
    return "-" if loss is None else f"{loss:.2g}"


def overview(records: Sequence[Record]) -> Table:
    """One row per network: its group, its accuracy, and whether it passes each account."""
    names = [account["name"] for account in records[0]["accounts"]]
    rows = []
    for record in records:
        outcomes = [account["outcome"] for account in record["accounts"]]
        rows.append([record["id"], record["group"], accuracy_text(record["accuracy"]), *outcomes])
    return Table(["network", "group", "accuracy", *names], rows, numbers=[2])
