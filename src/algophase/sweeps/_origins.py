"""Where the runs of a merged shard come from: of each shard that went into it, what it said, and
which of its runs are here.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

SECONDS = ("training_seconds", "analysis_seconds")  # of all runs of a shard together
COUNTED = ("runs", "indices", *SECONDS)  # what changes with the runs that are taken from a shard
Record = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Shard:
    """A shard's name and columns, what it says about itself, and the index of each of its rows."""

    name: str
    columns: frozenset[str]
    about: Record
    indices: tuple[int, ...]

    @property
    def merged(self) -> bool:
        return "shards" in self.about

    def calls(self) -> list[Record]:
        """What made its runs: itself, or those that a merged shard was made of."""
        if not isinstance(self.about.get("shards"), list):
            return [{"shard": self.name, **self.about, "indices": self.indices}]
        records = [dict(record) for record in self.about["shards"] if isinstance(record, dict)]
        if len(records) == 1:
            return [{**records[0], "indices": self.indices}]
        return records


def origins(taken: Iterable[tuple[int, Shard]]) -> list[Record]:
    """One record for each call of `sweep` that made runs which were taken: how many and which, and
    their share of its time.

    taken: the index of each run, and the shard its row is from.
    """
    kept: dict[Shard, set[int]] = {}
    for index, shard in taken:
        kept.setdefault(shard, set()).add(index)
    records: dict[str, Record] = {}
    for shard, mine in kept.items():
        for call in shard.calls():
            record = _share(call, mine)
            if record["runs"] == 0:
                continue
            identity = {name: value for name, value in record.items() if name not in COUNTED}
            key = json.dumps(identity, sort_keys=True)
            records[key] = _both(records[key], record) if key in records else record
    return list(records.values())


def _share(call: Record, mine: set[int]) -> Record:
    """The runs of this table that one call of `sweep` made. mine: indices of the table's runs."""
    all_runs = call.get("runs")
    which = call.get("indices")
    of_call = which if isinstance(which, list | tuple) else ()
    indices = [index for index in of_call if isinstance(index, int) and index in mine]
    runs = len(indices)
    record = {**call, "runs": runs, "indices": indices}
    if not isinstance(all_runs, int) or not 0 < runs < all_runs:
        return record
    for name in SECONDS:
        seconds = call.get(name)
        if isinstance(seconds, int | float):
            record[name] = round(seconds * runs / all_runs, 3)
    return record


def _both(first: Record, second: Record) -> Record:
    """One call of `sweep` from two shards: an old one, and one that a killed merge left beside it.
    No run is taken from both.
    """
    both = {**first}
    both["runs"] = first["runs"] + second["runs"]
    both["indices"] = sorted([*first["indices"], *second["indices"]])
    for name in SECONDS:
        if name in first and name in second:
            both[name] = round(first[name] + second[name], 3)
    return both
