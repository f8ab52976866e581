"""Gradient checks that passed, remembered between commands: on this card, with these versions and
this very source, for this engine, precision and shape. A check that failed is never remembered.

Each is a file in the user's cache directory. What cannot be read or written is checked again.
"""

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import torch

from algophase.core.caches import cache_directory, source_digest
from algophase.core.devices import device_name
from algophase.core.settings import RunSettings
from algophase.networks.stacking import stack_key
from algophase.training.engines.cards import card_of
from algophase.training.run.plan import PlannedEnsemble

# Folders that a gradient and its check depend on
SOURCE = ("core", "networks", "record", "training")


def directory() -> Path:
    return cache_directory("gradient-checks")


def about_device(device: torch.device) -> dict[str, Any]:
    """The card and what drives it."""
    try:
        import triton

        triton_version = str(triton.__version__)
    except ImportError:
        triton_version = "none"
    return {
        "card": device_name(device),
        "limits": list(card_of(device)),
        "torch": torch.__version__,
        "cuda": torch.version.cuda or torch.version.hip,
        "triton": triton_version,
    }


def check_digest(run: RunSettings, group: PlannedEnsemble) -> str:
    """Names a check. Of a run, its shape and its loss count, and whether its attention has a
    gradient: not its seed, nor how fast it is trained.
    """
    padded = group.engine_class.padded(group.runs, group.device)
    about = {
        "device": about_device(group.device),
        "source": source_digest(*SOURCE),
        "engine": group.engine,
        "precision": group.precision,
        "loss": [run.training.loss, run.training.loss_precision],
        "shape": repr((stack_key(run), padded)),
        "attends": getattr(run.network, "attention_rate", 0.0) > 0,
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:32]


def is_remembered(digest: str) -> bool:
    return os.path.isfile(directory() / digest)  # False where it may not be read


def remember(digests: Collection[str]) -> None:
    """These checks passed."""
    if not digests:
        return
    with contextlib.suppress(OSError):
        directory().mkdir(parents=True, exist_ok=True)
        for digest in digests:
            handle, name = tempfile.mkstemp(dir=directory())
            os.close(handle)
            os.replace(name, directory() / digest)
