"""Rows of made-up outcomes for real runs of a tiny space: what a sweep would write, without
training.
"""

from pathlib import Path
from typing import Any

from algophase.networks import Network
from algophase.runs.rows import settings_columns
from algophase.storage.network_files import save
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps.spaces import Space

TINY = Space.from_dict(
    {
        "name": "tiny",
        "title": "made up",
        "runs": 12,
        "task": {"modulus": 7},
        "network": {
            "width": {"log_uniform": [8, 24], "integer": True},
            "attention_rate": {"uniform": [0, 1]},
        },
        "training": {"epochs": 50},
    }
)


def row(index: int, space: Space = TINY, seed: int = 0, **changes: Any) -> dict[str, Any]:
    run = space.run(index, seed)
    return {
        "space": space.name,
        "index": index,
        "run_id": run.run_id,
        **settings_columns(run),
        "engine": "grid",
        "device": "cpu",
        "precision": "float32",
        "epochs_trained": 50,
        "diverged_at": None,
        "validation_accuracy": 1.0,
        "frequencies": [1, 2],
        "circularity": 0.999,
        "gradient_symmetricity": 0.1 * index,
        "verdict": "Clock" if index % 2 else "Pizza",
        "paper_label": "Clock" if index % 2 else "Pizza",
        "metrics_agree": True,
        **changes,
    }


def about(
    device: str = "CPU, 2 threads", date: str = "2026-01-02T03:04:05+00:00", runs: int = 1
) -> dict[str, Any]:
    return {"device": device, "date": date, "commit": "abc", "version": "0.1.0", "runs": runs}


def keep(directory: SweepDirectory, network: Network) -> None:
    """Put a network beside the shards of a sweep, as `retrain` does."""
    save(network, directory.networks / network.id, overwrite=True)


def sweep_of(
    path: Path,
    *shards: list[dict[str, Any]],
    space: Space = TINY,
    seed: int = 0,
    device: str = "CPU",
    **more: str,
) -> SweepDirectory:
    directory = SweepDirectory(path)
    with directory.hold("a test"):
        directory.describe(space.to_dict(), seed)
        for rows in shards:
            directory.add(rows, about(device, runs=len(rows)) | more)
    return directory
