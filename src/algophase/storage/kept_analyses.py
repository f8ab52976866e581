"""Analyses that are kept between calls, by the digest of what was analyzed: a network's numbers and
its settings.

A file that was renamed or copied is recognized; one that was trained further is not. An analysis of
another version of the code, with other metrics or other thresholds, is made again.
"""

import dataclasses
import gzip
import hashlib
import json
import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from algophase.analysis.catalogue import metrics
from algophase.analysis.result import Analysis
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.caches import cache_directory, source_digest
from algophase.core.errors import InputError
from algophase.core.settings import network_to_dict
from algophase.networks import Network
from algophase.record.codec import decode_value, encode_value
from algophase.storage.files import read_bytes, write_atomically

FORMAT = "algophase-analysis"
VERSION = 1
CODE = ("analysis", "core", "networks", "record")  # folders that an analysis depends on

log = logging.getLogger(__name__)


class KeptAnalyses:
    """A directory of analyses, one file per network. What cannot be read or written there is
    analyzed again.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = cache_directory("analyses") if directory is None else directory
        self._can_write = True

    def get(self, network: Network, thresholds: Thresholds = Thresholds()) -> Analysis | None:
        """The analysis of these very numbers, if it was kept."""
        if not _can_be_kept(network):
            return None
        digest = network_digest(network, thresholds)
        path = self._path(digest)
        if not os.path.exists(path):  # also where it may not be read
            return None
        try:
            record = json.loads(gzip.decompress(read_bytes(path)))
            if record["digest"] != digest or record["sha256"] != _checksum(record["analysis"]):
                return None
            analysis: Analysis = decode_value(Analysis, record["analysis"])
        except (
            InputError,
            OSError,
            EOFError,
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            IndexError,
        ):
            return None
        return replace(analysis, id=network.id)  # the file may have another name now

    def put(
        self, network: Network, analysis: Analysis, thresholds: Thresholds = Thresholds()
    ) -> None:
        if not self._can_write or not _can_be_kept(network):
            return
        digest = network_digest(network, thresholds)
        encoded = encode_value(analysis)
        record = {"format": FORMAT, "version": VERSION, "digest": digest, "analysis": encoded}
        record["sha256"] = _checksum(encoded)
        try:
            write_atomically(
                self._path(digest), gzip.compress(json.dumps(record).encode(), mtime=0)
            )
        except InputError as error:
            self._can_write = False
            log.warning("analyses are not kept: %s", error)

    def _path(self, digest: str) -> Path:
        return self.directory / f"{digest}.json.gz"


def _can_be_kept(network: Network) -> bool:
    """Whether its numbers and settings say all about a network: not if it has code of its own."""
    if not network.has_code:
        return False  # its file has its analysis
    return network.is_pure and type(network).__module__.startswith("algophase.")


def network_digest(network: Network, thresholds: Thresholds = Thresholds()) -> str:
    """Names an analysis: of these numbers and settings, by this code, with these metrics and
    thresholds.
    """
    about = {
        "kind": type(network).__name__,
        "task": network.task.to_dict(),
        "network": network_to_dict(network.settings),
        "run": None if network.run is None else network.run.to_dict(),
        "cut": network.cut,
        "notes": list(network.notes),
        "thresholds": dataclasses.asdict(thresholds),
        "metrics": [quantity.name for quantity in metrics()],
        "code": code_digest(),
        "weights": network.weights_digest(),
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:32]


def code_digest(*more: str) -> str:
    """Changes with every line that an analysis depends on. more: further folders of the package."""
    return source_digest(*CODE, *more)


def _checksum(encoded: Any) -> str:
    return hashlib.sha256(json.dumps(encoded, sort_keys=True).encode()).hexdigest()
