"""What a sweep's directory is in the middle of: files that count for nothing until the shard of
their runs is in its place.

They are noted here before they are written. Of a killed writer's, the next one removes those that
still count for nothing,
and no other file: not one that was there before, not one that someone copied in, none through a
link to another folder.
"""

import json
import logging
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from algophase.core.errors import InputError
from algophase.core.settings import shown
from algophase.core.wording import counted
from algophase.storage.files import read_json, write_atomically
from algophase.storage.identity import MOMENTS

log = logging.getLogger(__name__)

NAME = ".unfinished.json"
NETWORKS = "networks"
SNAPSHOT = ".epoch"  # between a run's id and its epoch, in the name of a snapshot
_OF_A_RUN = re.compile(
    rf"(?P<run_id>[0-9a-f]{{12}})({re.escape(SNAPSHOT)}[0-9]+)?\.(safetensors|json)"
)
_SHARD = re.compile(r"runs-[0-9]+-[0-9]+-[0-9a-f]{8}\.parquet")


class Journal:
    def __init__(self, directory: Path) -> None:
        self.directory, self.path = directory, directory / NAME

    def note(self, new: Sequence[Path], old: Sequence[Path] = ()) -> None:
        """new: about to be written, and ours if not there yet; old: moments whose shards are
        about to go.
        """
        files = [
            *(file for file in new if not file.exists()),
            *(file for file in old if file.exists()),
        ]
        if files:
            names = [str(file.relative_to(self.directory)) for file in files]
            content = (json.dumps({"files": names}, indent=1) + "\n").encode()
            write_atomically(self.path, content, inside=self.directory)

    def close(self) -> None:
        """The shard is in its place: everything counts."""
        self.path.unlink(missing_ok=True)

    def settle(self, finished: Callable[[], Collection[str]], *, tell: bool = True) -> None:
        """Remove networks of runs in no shard, and moments without the shard of their runs.
        finished: gives the ids of runs.
        """
        if not self.path.exists():
            return
        try:
            noted = read_json(self.path, "the journal").get("files")
        except InputError:  # not ours: it names nothing
            noted = None
        files = (
            [self.directory / name for name in noted if isinstance(name, str)]
            if isinstance(noted, list)
            else []
        )
        finished_ids = finished()
        gone = []
        for file in files:
            if self._is_ours(file) and not self._counts(file, finished_ids) and file.exists():
                file.unlink()
                gone.append(file.name)
        if gone and tell:
            log.warning(
                "removed %s of an interrupted command: %s", counted(len(gone), "file"), shown(gone)
            )
        self.close()

    def _is_ours(self, file: Path) -> bool:
        """A journal may come from elsewhere: it can name only what one of ours could."""
        names = {self.directory / NETWORKS: _OF_A_RUN, self.directory / MOMENTS: _SHARD}
        pattern = names.get(file.parent)
        return (
            pattern is not None
            and not file.parent.is_symlink()
            and pattern.fullmatch(file.name) is not None
        )

    def _counts(self, file: Path, finished: Collection[str]) -> bool:
        return (
            (self.directory / file.name).exists()
            if file.parent.name == MOMENTS
            else file.name.split(".")[0] in finished
        )
