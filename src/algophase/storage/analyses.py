"""Networks that are loaded and analyzed one after the other, where one that cannot be read does
not stop the others.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

from algophase.analysis.analyze import analyze
from algophase.analysis.operation import with_operation
from algophase.analysis.result import Analysis
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.errors import InputError, one_line
from algophase.core.progress import Progress, ignore
from algophase.networks import Network
from algophase.storage import find_networks, id_of, load_file
from algophase.storage.formats.contents import NetworkFile, Reading
from algophase.storage.kept_analyses import KeptAnalyses

Source = TypeVar("Source")


@dataclass(frozen=True)
class Analyzed(Generic[Source]):
    """A network with its analysis. source: what it was loaded from; was_kept: the analysis is of
    an earlier call; name: what to call it among the others.
    """

    source: Source
    network: Network
    analysis: Analysis
    was_kept: bool = False
    name: str = ""


@dataclass(frozen=True)
class Unusable(Generic[Source]):
    """Why there is no network or no analysis of it."""

    source: Source
    problem: InputError


def analyze_sources(
    sources: Sequence[Source],
    load_one: Callable[[Source], Network],
    thresholds: Thresholds = Thresholds(),
    progress: Callable[[Progress], None] = ignore,
    kept: KeptAnalyses | None = None,
) -> Iterator[Analyzed[Source] | Unusable[Source]]:
    """Load and analyze each source in turn.

    progress: called before each; `doing` is the name of its file.
    kept: where to look for an analysis first, and where to keep those that are made.
    """
    for number, source in enumerate(sources, 1):
        progress(_about_to_analyze(source, number, len(sources)))
        try:
            network = load_one(source)
            outcome: Analyzed[Source] | Unusable[Source] = _analyzed(
                source, network, thresholds, kept
            )
        except InputError as error:
            outcome = Unusable(source, error)
        # Whatever one network does to its reader or its analysis, the others are analyzed
        except Exception as error:
            name = source if isinstance(source, str | Path) else getattr(source, "id", "a network")
            outcome = Unusable(source, InputError(f"{name} cannot be analyzed: {one_line(error)}"))
        yield outcome


def _about_to_analyze(source: object, number: int, count: int) -> Progress:
    """number: of the source, counted from 1."""
    name = source.name if isinstance(source, Path) else ""
    return Progress(
        title=f"analyzing {name}".rstrip(),
        state=f"{number:,} of {count:,}",
        share=(number - 1) / count,
        done=number - 1,
        total=count,
        doing=name,
    )


def _analyzed(
    source: Source, network: Network, thresholds: Thresholds, kept: KeptAnalyses | None
) -> Analyzed[Source]:
    analysis = None if kept is None else kept.get(network, thresholds)
    if analysis is not None:
        return Analyzed(source, network, analysis, was_kept=True)
    analysis = analyze(network, thresholds)
    if kept is not None:
        kept.put(network, analysis, thresholds)
    return Analyzed(source, network, analysis)


def analyze_files(
    files: Sequence[Path],
    thresholds: Thresholds = Thresholds(),
    progress: Callable[[Progress], None] = ignore,
    reading: Reading = Reading(),
    operation: str | None = None,
    kept: KeptAnalyses | None = None,
) -> Iterator[Analyzed[Path] | Unusable[Path]]:
    """Load and analyze each network file in turn, ours or another group's.

    reading: what is said about them (`load`); operation: what they compute (`analyze`).

        files, problems = network_files([Path("networks")])
        for outcome in analyze_files(files):
            if isinstance(outcome, Analyzed):
                print(outcome.name, outcome.analysis.verdict.label)
    """
    files_by_path = {path: NetworkFile(path) for path in files}
    # A name says which file it is of where a later one has the same id, so all ids come first.
    count = Counter(id_of(files_by_path[path]) for path in files if len(files) > 1)

    def load_one(path: Path) -> Network:
        file = files_by_path.pop(path, None) or NetworkFile(path)  # not kept beyond its turn
        network = load_file(file, reading)
        return network if operation is None else with_operation(network, operation)

    for outcome in analyze_sources(files, load_one, thresholds, progress, kept):
        if isinstance(outcome, Analyzed):
            network_id = outcome.analysis.id
            is_shared = count[network_id] > 1
            name = f"{network_id} ({outcome.source})" if is_shared else network_id
            outcome = replace(outcome, name=name)
        yield outcome


def network_files(
    paths: Iterable[Path], find: Callable[[Path], Sequence[Path]] = find_networks
) -> tuple[list[Path], list[InputError]]:
    """The network files that files and directories stand for, each once, and why others stand
    for none.
    """
    files = list[Path]()
    problems = list[InputError]()
    for path in distinct(paths):
        try:
            files += find(path)
        except InputError as error:
            problems.append(error)
    return distinct(files), problems


def distinct(paths: Iterable[Path]) -> list[Path]:
    """Each file or directory once, even if it was given several times or by several paths."""
    by_real_path: dict[str, Path] = {}
    for path in paths:
        by_real_path.setdefault(os.path.realpath(path), path)
    return list(by_real_path.values())


def names(ids: Sequence[str], files: Sequence[Path]) -> list[str]:
    """What to call networks: their ids, and id and file where several have the same id."""
    count = Counter(ids)
    return [f"{id} ({file})" if count[id] > 1 else id for id, file in zip(ids, files, strict=True)]
