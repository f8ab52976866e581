"""What the page shows of a view, as methods that need no browser.

The address is the one source of truth. Controls only change it (`changes.py`); everything shown
follows from it. `echo` is the address a control asked for last: where it comes back, the controls
that asked already show it and are left alone, so that quick changes do not fight with their own
answers.
"""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from algophase.analysis.catalogue import LONGEST_CELL
from algophase.analysis.specimen import Specimen
from algophase.core.errors import InputError
from algophase.core.wording import counted
from algophase.explore.map_figure import draw_map, map_key, names, selections
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
from algophase.explore.view import REST, SIDES, Side, View, encode
from algophase.explore.visible_runs import VERDICT, PageData, VisibleRuns
from algophase.runs.columns import few_values
from algophase.runs.csv_text import csv_pieces
from algophase.runs.runs import Runs

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
    settings: str = ""
    verdict: Any = None
    metrics: Any = None
    job_text: str = ""
    job_hidden: bool = True
    train_hidden: bool = True
    stop_hidden: bool = True
    progress_hidden: bool = True
    inside_hidden: bool = True
    circles_title: str = ""
    pictures_title: str = ""
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


class Switches(NamedTuple):
    """What is on in a network: its circles by frequency, its instances by number, and how many
    circles lead before the first that is off.
    """

    circles: list[int]
    instances: list[int]
    leading: int


class Map(NamedTuple):
    """figure: None where the page has the map with this key already.
    marks: names beside points, and the region, which need no new map.
    """

    figure: "Figure | None"
    key: str
    marks: dict[str, Any]


class Filters(NamedTuple):
    """Buttons of the filters in force, the status line, and what is wrong with the address."""

    chips: list[Any]
    status: str
    problems: list[str]


class ListedRuns(NamedTuple):
    """A page of the table of runs, and what stands around it.

    page: its number, from 0. first, last: whether it is the first or the last page.
    download: the address of the runs as CSV; download_text: what the link says.
    """

    statistics: list[Any]
    table: Any
    page: int
    first: bool
    last: bool
    no_region: bool
    download: str
    download_text: str


class ArrivalsPanel(NamedTuple):
    """How far the analyses of a directory are. arrived: changes with each network and each
    problem.
    """

    arrived: int
    under_way: bool
    text: str
    done: int
    total: int
    about: Sequence[str]
    problems: Sequence[str]


class Work(NamedTuple):
    """Work in the background: words, epochs done, epochs in all (0 where they are not counted)."""

    text: str
    epoch: int
    epochs: int


class Explorer:
    """The answers of one page. Views are as an address has them: names that the table does not
    have are resolved here.
    """

    def __init__(self, networks: Networks) -> None:
        self.networks = networks

    @property
    def data(self) -> PageData:
        """What there is now: networks of a directory come one after the other."""
        return self.networks.data

    @property
    def runs(self) -> Runs:
        return self.data.runs

    def visible(self, view: View) -> VisibleRuns:
        """The runs that a view shows."""
        return VisibleRuns(self.runs, view)

    def specimen(self, view: View, side: Side) -> Specimen | None:
        """A side's network, None where it is not at hand."""
        run = view.run_on(side)
        if run not in self.runs.columns.rows_by_id:
            return None
        return self.networks.look(run).specimen

    def show_map(self, view: View, key: str | None) -> Map:
        """key: of the map that the page has."""
        visible = self.visible(view)
        runs, resolved = visible.runs, visible.view
        key_now = f"{len(runs)} {map_key(resolved)}"
        figure = None if key_now == key else self._map(runs, resolved)
        marks = {"annotations": names(runs, resolved), "selections": selections(resolved)}
        return Map(figure, key_now, marks)

    @functools.lru_cache(maxsize=2)  # noqa: B019  (an explorer lives as long as the page)
    def _map(self, runs: Runs, view: View) -> "Figure":
        """The map that was drawn before the page was opened is the one that it asks for first."""
        return dressed(draw_map(VisibleRuns(runs, view)))

    def show_arrivals(self) -> ArrivalsPanel:
        """How far the analyses are, and what the page's controls offer for the networks that
        have come.
        """
        arrivals, data = self.networks.arrivals, self.data
        text = ""
        done = total = len(data.runs)
        if arrivals is not None:
            done, total = arrivals.done, arrivals.total
            text = f"{done:,} of {counted(total, 'network')} done; {arrivals.status}."
        return ArrivalsPanel(
            arrived=len(data.runs) + len(data.problems),
            under_way=arrivals is not None,
            text=text,
            done=done,
            total=total,
            about=data.about,
            problems=data.problems,
        )

    def show_filters(self, view: View) -> Filters:
        visible = self.visible(view)
        runs, resolved = visible.runs, visible.view
        drawn = len(visible.drawn)
        status = f"{drawn:,} of {counted(len(runs), runs.noun)} on the map"
        missing = len(visible.matching) - drawn
        if missing:
            status += f"; {missing:,} more have no value to draw here (other axes may show them)"
        if resolved.region:
            status += f"; {len(visible.brushed):,} in the region"
        return Filters(filter_chips(resolved), status, list(resolved.problems))

    def runs_key(self, view: View) -> str:
        """What the table of runs depends on: not the networks shown."""
        visible = self.visible(view)
        return f"{len(visible.runs)} {visible.view.without_networks()!r}"

    def show_runs(self, view: View, page: object, step: int = 0) -> ListedRuns:
        """step: from that page, which is the first where it is no number."""
        visible = self.visible(view)
        page_now = (page if isinstance(page, int) else 0) + step
        listed, page_now, pages = runs_page(visible, page_now)
        count = counted(len(visible.chosen), visible.runs.noun)
        return ListedRuns(
            statistics=region_statistics(visible),
            table=listed,
            page=page_now,
            first=page_now == 0,
            last=page_now == pages - 1,
            no_region=not visible.view.region,
            download=f"runs.csv{encode(view.without_networks())}",
            download_text=f"Download {count} as CSV",
        )

    def csv(self, view: View) -> Iterator[str]:
        """The chosen runs as CSV in pieces: every column with one value per run."""
        visible = self.visible(view)
        return csv_pieces(visible.runs.frame.iloc[visible.chosen])

    def offered_values(self, column_name: object) -> list[str]:
        """The values that a filter by this column can choose from; none where there are many."""
        if not isinstance(column_name, str) or column_name not in self.runs:
            return []
        column = self.runs[column_name]
        texts = []
        for value in few_values(column, MOST_LISTED) or []:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            if len(text) > LONGEST_CELL or not text.strip():
                return []
            texts.append(text)
        if texts and column.isna().any():
            texts.append("null")
        return texts

    def show_network(self, view: View, side: Side) -> NetworkPanel:
        run = view.run_on(side)
        off = view.off_on(side)
        if not run:
            return NetworkPanel()
        runs = self.runs
        row_index = runs.columns.rows_by_id.get(run)
        which = "" if side == "run" else "Pinned: "
        if row_index is None:
            missing = f"There is no run {run} in {runs.name}."
            return NetworkPanel(hidden=False, title=f"{which}{run}", settings=missing)
        look = self.networks.look(run)
        name = f"{which}{runs.columns.texts(runs.named_by, [row_index])[0][:80]}"
        if look.specimen is None:
            return self._without_weights(name, row_index, look)
        specimen = look.specimen
        switches = _switches(specimen, off)
        on_group = specimen.analysis.on_group is not None
        of_tables = "Representations" if on_group else "Circles"
        return NetworkPanel(
            hidden=False,
            title=f"{name}: {specimen.analysis.headline}",
            settings=settings_line(runs, row_index),
            verdict=verdict_box(specimen.analysis),
            metrics=metrics_table(specimen.analysis.metrics, defined_only=on_group),
            circles_title=f"{of_tables} on and off",
            pictures_title="Mean logits by class" if on_group else "Circles in the embedding",
            job_text=_sentences(specimen.notes),
            job_hidden=not specimen.notes,
            inside_hidden=False,
            options=circle_options(specimen),
            values=switches.circles,
            leading=switches.leading,
            circles=len(frequencies(specimen)),
            instances=instance_options(specimen),
            instances_on=switches.instances,
        )

    def _without_weights(self, name: str, row_index: int, look: Look) -> NetworkPanel:
        runs = self.runs
        verdict = runs.columns.value(VERDICT, row_index)
        try:
            row = self.data.row(row_index)
        except InputError:  # which `look` has among its problems
            row = runs.columns.row(row_index)
        job = look.job
        return NetworkPanel(
            hidden=False,
            title=f"{name}: {verdict[:80]}",
            settings=settings_line(runs, row_index),
            verdict=row_box(row, verdict),
            metrics=metrics_table(row, defined_only=row.get("on_group.order") is not None),
            job_text=_why_no_weights(row, look) if job is None else job.status,
            job_hidden=False,
            train_hidden=not look.can_train,
            stop_hidden=job is None or job.kind != "training",
            progress_hidden=job is None,
        )

    def show_logits(self, view: View, side: Side) -> Logits | None:
        """Correct logits with some circles off."""
        specimen = self.specimen(view, side)
        return None if specimen is None else logits_picture(specimen, view.off_on(side))

    def show_circles(self, view: View, side: Side) -> list[Any]:
        """Pictures of the circles."""
        specimen = self.specimen(view, side)
        return [] if specimen is None else circle_pictures(specimen)

    def switches(self, view: View, side: Side) -> Switches | None:
        """None where the network is not at hand."""
        specimen = self.specimen(view, side)
        return None if specimen is None else _switches(specimen, view.off_on(side))

    def start_training(self, view: View, side: Side) -> None:
        self.networks.train(view.run_on(side))

    def stop_training(self, view: View, side: Side) -> None:
        self.networks.stop(view.run_on(side))

    def follow(self, view: View) -> dict[Side, Work]:
        """The work on each side."""
        works = dict[Side, Work]()
        for side in SIDES:
            job = self.networks.job(view.run_on(side))
            if job is not None and job.active:
                works[side] = Work(_sentences([job.status]), job.epoch, job.epochs)
        return works


def _switches(specimen: Specimen, off: Sequence[int]) -> Switches:
    circles = frequencies(specimen)
    on = [frequency for frequency in (*circles, REST) if frequency not in off]
    return Switches(on, instances_on(specimen, off), leading(circles, off))


def _why_no_weights(row: dict[str, Any], look: Look) -> str:
    """Why a run's network is not shown, and what can be done about it."""
    epoch = row.get("diverged_at")
    if look.problems:
        text = _sentences(look.problems)
    elif epoch is None:
        text = "The weights of this run were not kept."
    else:
        text = f"The training of this run diverged at epoch {epoch}."
    if not look.can_train:
        return text
    text += " You can train the network again here, from its settings:"
    text += " minutes for one of the paper's size."
    if epoch is not None:
        text += " It will most likely diverge again."
    return text


def _sentences(lines: Sequence[str]) -> str:
    return " ".join(f"{line[:1].upper()}{line[1:]}." for line in lines)
