"""Attack the program as an unlucky and a hostile user would, for as long as asked, and tally what
became of it.

    make campaign MINUTES=20
    .venv/bin/python tests/campaign/campaign.py --minutes 60 --processes 2 --seed 7
    .venv/bin/python tests/campaign/campaign.py --only "sweep, killed at an operation" --seed 7
    --first 12 --count 1

Every trial has a number and draws by seed, part and number alone, so that a failure's line is
enough to see it again. The exit code is 1 if anything was lost, silently different, run, or ended
in a traceback, a hang over ten seconds or too much memory.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "helpers"), str(HERE.parent / "sweeps")]
os.environ.setdefault("OMP_NUM_THREADS", "1")

import bombs  # noqa: E402
import clients  # noqa: E402
import kills  # noqa: E402
import mutants  # noqa: E402
import ray_kills  # noqa: E402
import texts  # noqa: E402
import torch  # noqa: E402

BATCH = 40  # damaged files that one process reads
# Minutes from which the parts are done that take a minute for a trial or two: Ray and the explorer
LONG = 10.0


@dataclass
class Tally:
    """A part of the campaign. trials: how many, of which some read many files; outcomes: how often
    of what kind;
    failures: each with the command that shows it again.
    """

    part: str
    trials: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def line(self) -> str:
        listed = ", ".join(f"{count:,} {what}" for what, count in self.outcomes.most_common())
        return (
            f"| {self.part} | {self.outcomes.total() + len(self.failures):,} | "
            f"{len(self.failures)} | {listed} |"
        )


@dataclass(frozen=True)
class Part:
    """share: of the time. trial: by number and random generator, gives what happened and how
    often, or raises `Failure`.
    """

    name: str
    share: float
    trial: Callable[[int, random.Random], Counter[str]]
    long: bool = False


class Failure(Exception):
    pass


def judged(problem: str | None, outcome: str = "the same in the end") -> Counter[str]:
    if problem:
        raise Failure(problem)
    return Counter({outcome: 1})


def parts(scratch: Path) -> list[Part]:
    """All parts; what they need is made when the first of a kind is tried."""
    held: dict[str, object] = {}

    def prey(name: str) -> kills.Prey:
        if "prey" not in held:
            held["prey"] = kills.prey_of(scratch)
        return held["prey"][name]  # type: ignore[index]

    def formats() -> list[mutants.Format]:
        if "formats" not in held:
            held["formats"] = mutants.formats(scratch)
        return held["formats"]  # type: ignore[return-value]

    def form(name: str) -> mutants.Format:
        return next(each for each in formats() if each.name == name)

    def flips(name: str) -> Callable[[int, random.Random], Counter[str]]:
        def trial(_: int, draw: random.Random) -> Counter[str]:
            chosen = form(name)
            content = chosen.path.read_bytes()
            return damaged(chosen, [mutants.flip(draw, content) for _ in range(BATCH)])

        return trial

    def mutant(number: int, draw: random.Random) -> Counter[str]:
        chosen = formats()[number % len(formats())]
        others, content = [each.path.read_bytes() for each in formats()], chosen.path.read_bytes()
        return damaged(
            chosen, [mutants.mutate(draw, content, others, scratch / "mark") for _ in range(BATCH)]
        )

    def damaged(chosen: mutants.Format, variants: list[bytes]) -> Counter[str]:
        ended, outcomes = mutants.attack(chosen, variants, scratch / "mark")
        if ended.problem or ended.code or (chosen.checked and "differs" in outcomes):
            place = outcomes.index("differs") if "differs" in outcomes else len(outcomes)
            kept = Path(tempfile.gettempdir()) / f"algophase-campaign-{chosen.path.name}"
            kept.write_bytes(variants[min(place, len(variants) - 1)])
            raise Failure(
                f"{chosen.name}, the {place}-th of the batch, kept in {kept}: "
                f"{ended.problem or outcomes[-1:]}"
            )
        return Counter(outcomes)

    def bomb(number: int, draw: random.Random) -> Counter[str]:
        ended, problem = bombs.attack(scratch / "bombs", draw, number)
        return judged(ended.problem or problem, "refused")

    def text(number: int, draw: random.Random) -> Counter[str]:
        ended = texts.attack(scratch / "texts", draw, number)
        return judged(ended.problem or (ended.said if ended.code else None), "shown as text")

    def ray(number: int, draw: random.Random) -> Counter[str]:
        if "ray" not in held:
            held["ray"] = ray_kills.RayPrey(scratch)
        kind, problem = held["ray"].attack(draw, number)  # type: ignore[attr-defined]
        return judged(problem, f"the same in the end (killed: {kind})")

    def explorer(number: int, draw: random.Random) -> Counter[str]:
        found = clients.watch(60.0, seed=draw.randrange(1 << 30))
        print(f"explorer: {found}", flush=True)
        return (
            judged("; ".join(found.errors[:5]) or None, "requests answered")
            if found.errors
            else Counter({"requests answered": len(found.seconds)})
        )

    out, shares = scratch / "out", {"sweep": 2.0, "sweep beside": 1.0, "train": 0.8, "merge": 1.0}

    def kinds(name: str, share: float) -> list[Part]:
        return [
            Part(
                f"{name}, killed at a time",
                share,
                lambda _, draw: judged(prey(name).killed_at_a_time(out, draw)),
            ),
            Part(
                f"{name}, killed at an operation",
                1.3 * share,
                lambda number, _: judged(prey(name).killed_at_an_operation(out, 7 * number)),
            ),
            Part(
                f"{name}, disk full",
                share,
                lambda number, _: judged(prey(name).full_disk(out, number)),
            ),
            Part(
                f"{name}, interrupted",
                share,
                lambda _, draw: judged(prey(name).interrupted(out, draw)),
            ),
        ]

    found = [part for name, share in shares.items() for part in kinds(name, share)]
    found += [
        Part(
            "sweep, directory renamed",
            2,
            lambda number, _: judged(prey("sweep").robbed(out, 11 * number)),
        ),
        Part(
            "sweep, clock jumping",
            0.5,
            lambda _, draw: judged(kills.clock_jumps(prey("sweep"), out, draw)),
        ),
        Part(
            "sweep, three at once",
            1,
            lambda _, draw: judged(kills.writers_at_once(prey("sweep"), out, draw)),
        ),
    ]
    checked = [
        "shard",
        "moments",
        "checkpoint",
        "network",
        "network's JSON",
        "wrapped network",
        "wrapped network's JSON",
    ]
    found += [
        Part(f"bits flipped: {name}", 0.8 if name == "shard" else 0.3, flips(name))
        for name in checked
    ]
    found += [
        Part("mutants of every format", 2.5, mutant),
        Part("hostile text", 1.2, text),
        Part("bombs", 0.6, bomb),
    ]
    return [
        *found,
        Part("Ray, killed", 4, ray, long=True),
        Part("explorer, 30 clients", 1.5, explorer, long=True),
    ]


def run(part: Part, seed: int, first: int, count: int | None, seconds: float) -> Tally:
    """At least one trial, then more until the time is up, or as many as asked."""
    tally, until = Tally(part.name), time.monotonic() + seconds
    while tally.trials == 0 or (
        time.monotonic() < until if count is None else tally.trials < count
    ):
        number = first + tally.trials
        tally.trials += 1
        try:
            tally.outcomes += part.trial(number, random.Random(f"{seed}/{part.name}/{number}"))
        except Failure as failure:
            again = (
                f'python tests/campaign/campaign.py --only "{part.name}" --seed {seed} '
                f"--first {number} --count 1"
            )
            tally.failures.append(f"{again}\n    {failure}")
            print(f"FAILED: {tally.failures[-1]}", flush=True)
    print(tally.line(), flush=True)
    return tally


def campaign(minutes: float, options: argparse.Namespace, of: tuple[int, int]) -> list[Tally]:
    """of: (I, K): every K-th part from the I-th on, for process I of K."""
    torch.set_num_threads(1)  # a fork must not wait for threads that it does not have
    scratch = Path(tempfile.mkdtemp(prefix="algophase-campaign-"))
    try:
        every = parts(scratch)
        chosen = [
            part
            for part in every
            if part.name == options.only or not (options.only or (part.long and minutes < LONG))
        ]
        if not chosen:
            raise SystemExit(
                f"part is {options.only!r}; choose one of: "
                + "; ".join(part.name for part in every)
            )
        mine = chosen[of[0] :: of[1]]
        total = sum(part.share for part in mine)
        return [
            run(part, options.seed, options.first, options.count, 60 * minutes * part.share / total)
            for part in mine
        ]
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--only", help="one part, by its name in the tally")
    parser.add_argument(
        "--first", type=int, default=0, help="number of the first trial of each part"
    )
    parser.add_argument("--count", type=int, help="trials of each part, whatever the time")
    options = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as results:
        children = []
        for number in range(options.processes):
            pid = os.fork()
            if pid == 0:
                try:
                    made = campaign(options.minutes, options, (number, options.processes))
                    (Path(results) / f"{number}").write_text(
                        json.dumps([vars(tally) for tally in made])
                    )
                    os._exit(0)
                except BaseException:
                    traceback.print_exc()
                    os._exit(1)
            children.append(pid)
        fine = all(os.waitpid(pid, 0)[1] == 0 for pid in children)
        records = [
            record
            for path in sorted(Path(results).iterdir())
            for record in json.loads(path.read_text())
        ]
    tallies = [Tally(**{**record, "outcomes": Counter(record["outcomes"])}) for record in records]
    print(
        f"\nseed {options.seed}, {(time.monotonic() - begun) / 60:.0f} minutes, "
        f"{options.processes} processes\n"
    )
    print("| part | trials | failures | outcomes |\n|---|---|---|---|")
    for tally in sorted(tallies, key=lambda tally: tally.part):
        print(tally.line())
    failures = [failure for tally in tallies for failure in tally.failures]
    print("\n".join(["", *failures]) if failures else "\nno failure")
    sys.exit(0 if fine and not failures else 1)


if __name__ == "__main__":
    main()
