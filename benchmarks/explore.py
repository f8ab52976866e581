"""How long the explorer takes to show a large sweep and to answer a click, in headless Chromium on
the machine at hand.

    .venv/bin/python benchmarks/explore.py [--runs 10000]

The rows are made up; the networks that are clicked have the paper's size and six circles. Times are
what a person waits: until the map is drawn, until a clicked run's logits are, until the logits
follow a circle that is switched off, and until a filter is applied.
"""

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy
import torch

from algophase import __version__, analyze
from algophase.core.fourier import cos_turn, sin_turn
from algophase.core.settings import RunSettings
from algophase.networks import Network, initialize
from algophase.record.columns import flat_columns
from algophase.runs.rows import settings_columns
from algophase.storage.network_files import save
from algophase.storage.sweep_directory import SweepDirectory
from algophase.sweeps.spaces import Space

FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
SPACE = Space.from_dict(
    {
        "name": "made-up",
        "network": {"attention_rate": {"uniform": [0, 1]}},
        "training": {"epochs": 20000},
    },
)
SHARD = 4000  # runs in a file
VERDICTS = ("Clock", "Pizza", "hybrid", "non-circular")


def with_circles(run: RunSettings) -> Network:
    """A network as it starts, but for an embedding of six circles of different sizes, and noise."""
    network, p = initialize(run), run.task.modulus
    table = network.operand_tables()[0]
    table.mul_(0.1)
    for rank, frequency in enumerate((1, 2, 5, 7, 10, 13)):
        turns = frequency * torch.arange(p)
        table[:, 2 * rank] += (1 - 0.1 * rank) * cos_turn(turns, p).float()
        table[:, 2 * rank + 1] += (1 - 0.1 * rank) * sin_turn(turns, p).float()
    return network


@torch.no_grad()
def make_sweep(path: Path, runs: int, kept: int = 3) -> list[str]:
    """A sweep of made-up outcomes, the first few with the weights their rows were measured on.
    Gives the ids of those.
    """
    random = numpy.random.default_rng(0)
    directory, rows, ids = SweepDirectory(path), list[dict[str, Any]](), list[str]()
    directory.describe(SPACE.to_dict(), 0)
    record: dict[str, Any] = {}
    for index in range(runs):
        run = SPACE.run(index, 0)
        noise = random.random(4).tolist()
        row = {"space": SPACE.name, "index": index, "run_id": run.run_id, **settings_columns(run)}
        row |= {
            "engine": "grid",
            "device": "cpu",
            "precision": "float32",
            "epochs_trained": 20000,
            "diverged_at": None,
        }
        row |= {"validation_accuracy": 1.0, "parameter_norm": 24 + noise[0]}
        if index < kept:
            network = with_circles(run)
            record = analyze(network).to_dict()
            del record["id"], record["anatomy"]
            save(network, directory.networks / network.id)
            ids.append(run.run_id)
            measured = record
        else:
            measured = {
                **record,
                "gradient_symmetricity": noise[1],
                "distance_irrelevance": noise[2],
                "circularity": noise[3],
                "verdict": VERDICTS[index % 4],
            }
        row |= {
            "frequencies": [circle["frequency"] for circle in record["circles"]],
            **flat_columns(measured),
        }
        rows.append(row)
        if len(rows) == SHARD or index == runs - 1:
            directory.add(rows, {"runs": len(rows)})
            rows.clear()
    return ids


def peak_memory(process: int) -> str:
    """The most memory that a process has had, in words."""
    status = Path(f"/proc/{process}/status")
    if not status.exists():
        return "unknown"
    peak = re.search(r"VmHWM:\s+(\d+)", status.read_text())
    assert peak is not None
    return f"{int(peak[1]) / 1e6:.2f} GB"


def measure(address: str, ids: list[str], chromium: str, repeats: int) -> dict[str, list[float]]:
    from playwright.sync_api import sync_playwright

    seconds: dict[str, list[float]] = {
        name: [] for name in ("first paint", "click", "circle off", "filter")
    }
    with sync_playwright() as playwright:
        for _ in range(repeats):
            browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            begun = time.perf_counter()
            page.goto(address)
            page.wait_for_selector("#map canvas")
            page.wait_for_selector("#map .legend .traces")
            seconds["first paint"].append(time.perf_counter() - begun)
            page.wait_for_selector("#runs button")
            page.wait_for_timeout(500)
            for run in ids:
                begun = time.perf_counter()
                page.click(f"#runs button:text('{run}')")
                page.wait_for_function(
                    f"document.querySelector('#run-title').textContent.startsWith('{run}')"
                )
                page.wait_for_selector("#run-logits .heatmaplayer image")
                seconds["click"].append(time.perf_counter() - begun)
                page.wait_for_timeout(500)
                before = page.inner_text("#run-accuracy")
                begun = time.perf_counter()
                page.locator("#run-circles input").last.click()
                page.wait_for_function(
                    "before => document.querySelector('#run-accuracy').textContent != before",
                    arg=before,
                )
                seconds["circle off"].append(time.perf_counter() - begun)
                page.wait_for_timeout(300)
            page.click("#filter-column")
            page.get_by_role("option", name="attention rate").first.click()
            page.fill("#filter-value", "0.5")
            page.click("#filter-operator")
            page.get_by_text("<", exact=True).first.click()
            begun = time.perf_counter()
            page.click("#add-filter")
            page.wait_for_selector("#filters button")
            seconds["filter"].append(time.perf_counter() - begun)
            browser.close()
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description="Times of the explorer in headless Chromium.")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("there is no chromium on the PATH: apt-get install chromium")
    with tempfile.TemporaryDirectory() as directory:
        sweep = Path(directory, "sweep")
        ids = make_sweep(sweep, arguments.runs)
        command = [
            sys.executable,
            "-m",
            "algophase",
            "explore",
            str(sweep),
            "--no-browser",
            "--cache",
            str(Path(directory, "c")),
        ]
        begun = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found is not None
            print(f"{arguments.runs:,} runs served after {time.perf_counter() - begun:.2f} s")
            try:
                seconds = measure(found[0], ids, chromium, arguments.repeats)
                print(f"memory of the server: at most {peak_memory(server.pid)}")
            finally:
                server.terminate()
    print(
        f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, Chromium's "
        "own share included"
    )
    for name, values in seconds.items():
        print(
            f"{name:<12} median {statistics.median(values):.2f} s, longest {max(values):.2f} s "
            f"of {len(values)}"
        )
    record = {
        "runs": arguments.runs,
        "machine": platform.processor() or platform.machine(),
        "version": __version__,
    }
    print(
        json.dumps(
            {**record, **{name: statistics.median(values) for name, values in seconds.items()}}
        )
    )


if __name__ == "__main__":
    main()
