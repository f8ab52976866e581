"""Many clients on the explorer at once: no error, answers in time, and memory that stays flat."""

import contextlib
import http.client
import json
import random
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

GALLERY = Path(__file__).resolve().parents[2] / "gallery" / "fixed-width"


@dataclass
class Watched:
    """What 30 clients saw. megabytes: of the server, every second."""

    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        ordered = sorted(self.seconds)
        late = ordered[int(0.95 * len(ordered))] if ordered else float("nan")
        half = self.megabytes[min(60, len(self.megabytes) // 2)] if self.megabytes else float("nan")
        median = statistics.median(ordered) if ordered else float("nan")
        return (
            f"{len(ordered):,} requests, {len(self.errors)} errors, median {median:.2f} s, 95% "
            f"within {late:.2f} s, "
            f"{half:.0f} MB after the first minute or half, "
            f"{self.megabytes[-1] if self.megabytes else 0:.0f} MB at the end"
        )


def watch(seconds: float, clients: int = 30, seed: int = 0, pause: float = 1.0) -> Watched:
    """Serve the gallery and let clients click through it. pause: seconds between two clicks of
    one client.
    """
    command = [sys.executable, "-m", "algophase", "explore", str(GALLERY), "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert server.stdout is not None
    found = Watched()
    try:
        line = next(line for line in server.stdout if "http://" in line)
        port = int(line.partition("http://")[2].partition("/")[0].rpartition(":")[2])
        until = time.monotonic() + seconds
        threads = [
            threading.Thread(target=_click, args=(port, until, f"{seed}/{number}", pause, found))
            for number in range(clients)
        ]
        for thread in threads:
            thread.start()
        while time.monotonic() < until:
            time.sleep(1)
            with contextlib.suppress(OSError):
                pages = int(Path(f"/proc/{server.pid}/statm").read_text().split()[1])
                found.megabytes.append(pages * 4096 / 1e6)
        for thread in threads:
            thread.join()
    finally:
        server.terminate()
        server.wait()
    return found


def _click(port: int, until: float, seed: str, pause: float, found: Watched) -> None:
    draw = random.Random(seed)
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    link.request("GET", "/_dash-dependencies")
    calls = [
        call for call in json.loads(link.getresponse().read()) if not call["clientside_function"]
    ]
    shown = [call for call in calls if call["output"].startswith("..")]
    run_ids = [path.stem for path in sorted((GALLERY / "networks").glob("*.safetensors"))]
    while time.monotonic() < until:
        view = (
            f"?where=attention_rate<{draw.random():.2f}&x=attention_rate&run={draw.choice(run_ids)}"
        )
        call = draw.choice(shown)
        begun = time.monotonic()
        try:
            link.request(
                "POST",
                "/_dash-update-component",
                _body(call, view),
                {"Content-Type": "application/json"},
            )
            answer = link.getresponse()
            answer.read()
            if answer.status not in (200, 204):
                found.errors.append(f"{answer.status} from {call['output'][:60]}")
        except OSError as error:
            found.errors.append(repr(error))
            link.close()
        found.seconds.append(time.monotonic() - begun)
        time.sleep(draw.uniform(0, 2 * pause))


def _body(call: dict[str, Any], view: str) -> str:
    held = {"url.search": view, "version.data": 0}

    def values(parts: list[dict[str, str]]) -> list[dict[str, Any]]:
        return [{**part, "value": held.get(f"{part['id']}.{part['property']}")} for part in parts]

    names = [name.rsplit(".", 1) for name in call["output"].strip(".").split("...")]
    return json.dumps(
        {
            "output": call["output"],
            "outputs": [{"id": name, "property": what} for name, what in names],
            "inputs": values(call["inputs"]),
            "state": values(call["state"]),
            "changedPropIds": [f"{part['id']}.{part['property']}" for part in call["inputs"][:1]],
        }
    )
