"""The page's answers, as plain methods: a change of the view gives a new address; an address gives
what to show.

The address is the one source of truth. Controls only change it; everything shown follows from it.
`echo` is the address a
control asked for last: where it comes back, the controls that asked already show it and are left
alone, so that quick changes do not fight with their own answers.
"""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from algophase.analysis.catalogue import LONGEST_CELL
from algophase.analysis.specimen import Specimen
from algophase.core.errors import InputError
from algophase.core.wording import counted
from algophase.explore.map_figure import draw_map, map_key
from algophase.explore.networks import Look, Networks, frequencies
from algophase.explore.panels import (
    Logits,
    circle_options,
    circle_pictures,
    dressed,
    filter_chips,
    instance_options,
    instances_on,
    leading,
    logits_picture,
    metrics_table,
    region_statistics,
    row_box,
    runs_page,
    settings_line,
    verdict_box,
)
from algophase.explore.state import (
    MOST_FILTERS,
    REST,
    RUN_ID,
    SIDES,
    Side,
    View,
    checked_condition,
    condition_text,
    decode,
    encode,
    region_of,
)
from algophase.explore.table import VERDICT, Places, RunTable
from algophase.runs.csv_text import csv_pieces
from algophase.runs.selection import OPERATORS, Condition

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


MOST_LISTED = 20  # different values of a column that a filter lists


@dataclass(frozen=True)
class NetworkPanel:
    """One side of the page, each field as the callback puts it there. values, leading: None
    leaves the controls alone.
    """

    hidden: bool = True
    title: str = ""
    said: str = ""
    verdict: Any = None
    metrics: Any = None
    job_text: str = ""
    job_hidden: bool = True
    train_hidden: bool = True
    stop_hidden: bool = True
    progress_hidden: bool = True
    inside_hidden: bool = True
    options: Sequence[dict[str, Any]] = ()
    values: Sequence[int] | None = None
    circles: int = 0
    leading: int | None = None
    instances: Sequence[dict[str, Any]] = ()
    instances_on: Sequence[int] = ()

    @property
    def most(self) -> int:
        """The end of the range of circles to keep."""
        return max(1, self.circles)


class Filters(NamedTuple):
    """Buttons of the filters in force, the status line, and what is wrong with the address."""

    chips: list[Any]
    status: str
    problems: list[str]


class ListedRuns(NamedTuple):
    """Statistics, a page of the table, its number, how many there are, and whether there is a
    region.

    download: the address of the runs as CSV; download_text: what the link says.
    """

    statistics: list[Any]
    table: Any
    page: int
    pages: int
    region: bool
    download: str
    download_text: str


class ArrivalsPanel(NamedTuple):
    """How far the analyses of a directory are. arrived: changes with each network and each
    problem.
    """

    arrived: int
    under_way: bool
    said: str
    done: int
    total: int
    about: Sequence[str]
    problems: Sequence[str]


class Work(NamedTuple):
    """Work in the background: words, epochs done, epochs in all (0 where they are not counted)."""

    said: str
    epoch: int
    epochs: int


class Explorer:
    def __init__(self, networks: Networks) -> None:
        self.networks = networks

    @property
    def table(self) -> RunTable:
        """The runs that there are now: networks of a directory come one after the other."""
        return self.networks.table

    # Changes of the view: each gives the new address, or None where nothing changes.

    def view(self, search: object) -> View:
        """An address's view with names of this table."""
        return self.table.resolve(decode(search)[0])[0]

    def _changed(self, search: object, view: View) -> str | None:
        after = encode(view)
        return None if after == encode(decode(search)[0]) else after

    def choose_axes(
        self,
        search: object,
        x: object,
        y: object,
        colour: object,
        x_scale: object = None,
        y_scale: object = None,
    ) -> str | None:
        """Columns and scales as the controls have them; None for a scale that is left alone."""
        asked, view = decode(search)[0], self.view(search)
        # What the page chose by itself need not stand in the address. A request can say anything.
        controls = {"x": x, "y": y, "colour": colour, "x_scale": x_scale, "y_scale": y_scale}
        chosen = dict[str, Any]()
        for name, value in controls.items():
            if isinstance(value, str) and value != getattr(view, name):
                chosen[name] = value
        if not chosen:
            return None
        for axis in ("x", "y"):  # another column starts with its own scale
            if axis in chosen:
                chosen[f"{axis}_scale"] = ""
        if chosen.keys() != {"colour"}:
            asked = replace(asked, region=())  # a region of other axes is no region
        return self._changed(search, replace(asked, **chosen))

    def add_filter(
        self, search: object, column: object, operator: object, value: object
    ) -> str | None:
        """Raises an InputError for a condition that this table cannot be filtered by."""
        if (
            not isinstance(column, str)
            or not column
            or not isinstance(operator, str)
            or operator not in OPERATORS
        ):
            raise InputError("choose a column and how to compare it")
        text = "" if value is None else str(value).strip()
        if not text:
            raise InputError(
                f"give a value to compare {column} with, or null for runs that have none"
            )
        condition = checked_condition(condition_text(Condition(column, operator, text)))
        view = decode(search)[0]
        _, problems = self.table.resolve(View(filters=(condition,)))
        if problems:
            raise InputError(problems[0].removesuffix("; this filter is left out"))
        if len(view.filters) >= MOST_FILTERS:
            raise InputError(f"there are {MOST_FILTERS} filters already; remove one")
        return self._changed(
            search, replace(view, filters=tuple(dict.fromkeys([*view.filters, condition])))
        )

    def remove_filter(self, search: object, place: object) -> str | None:
        """place: among the filters in force."""
        asked, held = decode(search)[0], self.view(search).filters
        gone = held[place] if isinstance(place, int) and 0 <= place < len(held) else None
        return self._changed(
            search, replace(asked, filters=tuple(item for item in asked.filters if item != gone))
        )

    def select_region(self, search: object, selected: object) -> str | None:
        return self._changed(search, replace(decode(search)[0], region=region_of(selected)))

    def click(self, search: object, click: object) -> str | None:
        """A click on the map: the point carries its run's id."""
        try:
            run_id = click["points"][0]["customdata"]  # type: ignore[index]
        except (TypeError, KeyError, IndexError):
            return None
        return self.open_run(search, run_id) if isinstance(run_id, str) else None

    def open_run(self, search: object, run_id: str) -> str | None:
        view = decode(search)[0]
        if not RUN_ID.fullmatch(run_id) or run_id not in self.table.places or run_id == view.run:
            return None
        return self._changed(search, view.with_network("run", run_id))

    def pin(self, search: object) -> str | None:
        view = decode(search)[0]
        return self._changed(search, view.pinned()) if view.run else None

    def close(self, search: object, side: Side) -> str | None:
        return self._changed(search, decode(search)[0].with_network(side, ""))

    def switch_circles(self, search: object, side: Side, values: object) -> str | None:
        """values: the circles that are on, as the checklist has them."""
        specimen, _ = self._specimen(search, side)
        on = _integers(values)
        return (
            None
            if specimen is None
            else self._off(search, side, [k for k in (*frequencies(specimen), REST) if k not in on])
        )

    def keep_first(self, search: object, side: Side, count: object) -> str | None:
        specimen, off = self._specimen(search, side)
        try:
            wanted = max(0, int(count))  # type: ignore[call-overload]
        except (TypeError, ValueError, OverflowError):
            return None
        if specimen is None or wanted == leading(frequencies(specimen), off):
            return None
        return self._off(search, side, [*frequencies(specimen)[wanted:], *({REST} & set(off))])

    def switch_instances(self, search: object, side: Side, values: object) -> str | None:
        """values: the places of the instances that are on, as their checklist has them. Only
        what was changed changes.
        """
        specimen, off = self._specimen(search, side)
        if specimen is None:
            return None
        every, before = specimen.analysis.instances.instances, set(instances_on(specimen, off))
        after, chosen = set(off), _integers(values)
        for place, each in enumerate(every):
            if place in chosen and place not in before:
                after -= set(each.frequencies)
            elif place in before and place not in chosen:
                after |= set(each.frequencies)
        return None if after == set(off) else self._off(search, side, sorted(after))

    def instances_on(self, search: object, side: Side) -> list[int]:
        specimen, off = self._specimen(search, side)
        return [] if specimen is None else instances_on(specimen, off)

    def _off(self, search: object, side: Side, off: Sequence[int]) -> str | None:
        view = decode(search)[0]
        return self._changed(search, view.with_network(side, view.network(side)[0], off))

    def _specimen(self, search: object, side: Side) -> tuple[Specimen | None, tuple[int, ...]]:
        """A side's network, None where it is not at hand, and the circles switched off in it."""
        run, off = decode(search)[0].network(side)
        look = self.networks.look(run) if run in self.table.places else Look()
        return look.specimen, off

    # What an address shows.

    def show_map(self, search: object, key: str | None) -> "tuple[Figure | None, str]":
        """The map, or None where the one with this key still holds, and its key."""
        table, view = self.table, self.view(search)
        after = f"{table.count} {map_key(view)}"
        return (None if after == key else self._map(table, view)), after

    @functools.lru_cache(maxsize=2)  # noqa: B019  (an explorer lives as long as the page)
    def _map(self, table: RunTable, view: View) -> "Figure":
        """The map that was drawn before the page was opened is the one that it asks for first."""
        return dressed(draw_map(table, view))

    def show_arrivals(self) -> "ArrivalsPanel":
        """How far the analyses are, and what the page's controls offer for the networks that
        have come.
        """
        arrivals, table = self.networks.arrivals, self.table
        said, done, total = "", table.count, table.count
        if arrivals is not None:
            done, total = arrivals.done, arrivals.total
            said = f"{done:,} of {counted(total, 'network')} done; {arrivals.said}."
        return ArrivalsPanel(
            arrived=table.count + len(table.problems),
            under_way=arrivals is not None,
            said=said,
            done=done,
            total=total,
            about=table.about,
            problems=table.problems,
        )

    def show_filters(self, search: object) -> Filters:
        asked, problems = decode(search)
        view, more = self.table.resolve(asked)
        matching, drawn = len(self.table.where(view.filters)), len(self.table.drawn(view))
        status = f"{drawn:,} of {counted(self.table.count, self.table.noun)} on the map"
        if drawn < matching:
            status += (
                f"; {matching - drawn:,} more have no value to draw here (other axes may show them)"
            )
        if view.region:
            status += f"; {len(self.table.brushed(view)):,} in the region"
        return Filters(filter_chips(view), status, [*problems, *more])

    def runs_key(self, search: object) -> str:
        """What the table of runs depends on: not the networks shown."""
        view = replace(self.view(search), run="", off=(), pin="", pin_off=())
        return f"{self.table.count} {view!r}"

    def show_runs(self, search: object, page: object, step: int = 0) -> ListedRuns:
        """step: from that page, which is the first where it is no number."""
        view = self.view(search)
        places = self.table.brushed(view)
        wanted = (page if isinstance(page, int) else 0) + step
        listed, shown, pages = runs_page(self.table, view, places, wanted)
        download = (
            f"runs.csv{encode(replace(decode(search)[0], run='', off=(), pin='', pin_off=()))}"
        )
        count = counted(len(self.chosen(search)), self.table.noun)
        return ListedRuns(
            region_statistics(self.table, view, places),
            listed,
            shown,
            pages,
            bool(view.region),
            download,
            f"Download {count} as CSV",
        )

    def chosen(self, search: object) -> Places:
        """The runs of the region, or where there is none all that meet the filters, drawn or
        not.
        """
        view = self.view(search)
        return self.table.brushed(view) if view.region else self.table.where(view.filters)

    def csv(self, search: object) -> Iterator[str]:
        """The chosen runs as CSV in pieces: every column with one value per run."""
        return csv_pieces(self.table.columns, self.chosen(search).tolist())

    def offered_values(self, column: object) -> list[str]:
        """The values that a filter by this column can choose from; none where there are many."""
        if not isinstance(column, str) or column not in self.table.columns:
            return []
        values = self.table.columns[column].few_values(MOST_LISTED) or []
        texts = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
        if any(len(text) > LONGEST_CELL or not text.strip() for text in texts):
            return []
        has_missing = bool(self.table.columns[column].missing.any())
        return [*texts, "null"] if has_missing and texts else texts

    def show_network(self, search: object, side: Side) -> NetworkPanel:
        run, off = decode(search)[0].network(side)
        if not run:
            return NetworkPanel()
        place = self.table.places.get(run)
        which = "" if side == "run" else "Pinned: "
        if place is None:
            return NetworkPanel(
                False, f"{which}{run}", f"There is no run {run} in {self.table.name}."
            )
        look = self.networks.look(run)
        name = self.table.run_name(place)[:80]
        settings = settings_line(self.table, place)
        if look.specimen is None:
            return self._without_weights(f"{which}{name}", settings, place, look)
        specimen, known = look.specimen, frequencies(look.specimen)
        return NetworkPanel(
            hidden=False,
            title=f"{which}{name}: {specimen.analysis.headline}",
            said=settings,
            verdict=verdict_box(specimen.analysis),
            metrics=metrics_table(specimen.analysis.metrics),
            job_text=_sentences(specimen.notes),
            job_hidden=not specimen.notes,
            inside_hidden=False,
            options=circle_options(specimen),
            values=[k for k in (*known, REST) if k not in off],
            leading=leading(known, off),
            circles=len(known),
            instances=instance_options(specimen),
            instances_on=instances_on(specimen, off),
        )

    def _without_weights(self, title: str, settings: str, place: int, look: Look) -> NetworkPanel:
        verdict = self.table.columns[VERDICT][place]
        try:
            row = self.table.row(place)
        except InputError:  # which `look` has among its problems
            row = self.table.single_values(place)
        epoch = row.get("diverged_at")
        reason = (
            "weights of this run were not kept"
            if epoch is None
            else f"training of this run diverged at epoch {epoch}"
        )
        told = _sentences(look.problems) or f"The {reason}."
        if look.can_train:
            told += (
                " You can train the network again here, from its settings: minutes for one "
                "of the paper's size."
            )
            told += " It will most likely diverge again." if epoch is not None else ""
        return NetworkPanel(
            hidden=False,
            title=f"{title}: {verdict[:80]}",
            said=settings,
            verdict=row_box(row, verdict),
            metrics=metrics_table(row),
            job_text=look.job.said if look.job is not None else told,
            job_hidden=False,
            train_hidden=not look.can_train,
            stop_hidden=look.job is None or look.job.kind != "training",
            progress_hidden=look.job is None,
        )

    def show_logits(self, search: object, side: Side) -> Logits | None:
        """Correct logits with some circles off."""
        specimen, off = self._specimen(search, side)
        return None if specimen is None else logits_picture(specimen, off)

    def show_circles(self, search: object, side: Side) -> list[Any]:
        """Pictures of the circles."""
        specimen, _ = self._specimen(search, side)
        return [] if specimen is None else circle_pictures(specimen)

    def start_training(self, search: object, side: Side) -> None:
        run, _ = decode(search)[0].network(side)
        self.networks.train(run)

    def stop_training(self, search: object, side: Side) -> None:
        self.networks.stop(decode(search)[0].network(side)[0])

    def follow(self, search: object) -> dict[Side, Work]:
        """The work on each side."""
        jobs = {side: self.networks.job(decode(search)[0].network(side)[0]) for side in SIDES}
        return {
            side: Work(_sentences([job.said]), job.epoch, job.epochs)
            for side, job in jobs.items()
            if job is not None and job.active
        }


def _integers(values: object) -> set[int]:
    """Of a checklist's values, or whatever a request holds in their place."""
    return (
        {value for value in values if isinstance(value, int)}
        if isinstance(values, list | tuple)
        else set()
    )


def _sentences(lines: Sequence[str]) -> str:
    return " ".join(f"{line[:1].upper()}{line[1:]}." for line in lines)
