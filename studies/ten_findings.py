"""The numbers of docs/findings.md: one for each of its ten findings, from the tables in gallery/.

    python studies/ten_findings.py        # all of them, in half a minute
    python studies/ten_findings.py 5      # one of them

It trains nothing: every number comes from a table.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy
import pandas
from start_and_margin import areas, mean_of, read_networks
from which_instances_multiply import HIGHER, bootstrap, read_instances, share_multiplying
from which_instances_multiply import TABLE as GROUPS

from algophase import Runs, read_runs
from algophase.runs.emergence import emergence
from algophase.runs.laws import relations_in
from algophase.runs.phase_shift import phase_shifts
from algophase.runs.statistics import Share
from algophase.storage.sweep_directory import SweepDirectory

GALLERY = Path(__file__).parents[1] / "gallery"


def every_network_gets_an_answer() -> str:
    verdicts = Runs.read(GALLERY / "fixed-width").accurate.frame.verdict
    named = verdicts.isin(("Clock", "Pizza", "hybrid"))
    return f"Clocks, Pizzas and hybrids: {Share(int(named.sum()), len(named))}"


def one_head_makes_no_clock() -> str:
    runs = Runs.read(GALLERY / "heads").accurate.frame
    verdicts = runs[runs.heads == 1].verdict
    pizzas = Share(int((verdicts == "Pizza").sum()), len(verdicts))
    return f"Pizzas among networks with one head: {pizzas}"


def every_clock_was_a_pizza_first() -> str:
    moments = _moments("clock-training")
    early = moments[moments.epoch == 300]
    pizzas = Share(int((early.pizza_logit_share == 1).sum()), len(early))
    return f"Pizzas alone at epoch 300: {pizzas}"


def weight_decay_turns_pizzas() -> str:
    table = pandas.read_csv(GALLERY / "branches.csv").set_index("run_id")
    before = table[table.epoch == table.epoch.min()]
    pizzas = before.index[before.pizza_logit_share == 1]
    after = table[table.epoch == table.epoch.max()].loc[pizzas]
    shares = []
    for decay in (2.0, 0.0):
        turned = after[after.weight_decay == decay].pizza_logit_share < 1
        shares.append(f"with weight decay {decay:g} {Share(int(turned.sum()), len(turned))}")
    return f"Pizzas that turn: {', '.join(shares)}"


def keys_avoid_sums() -> str:
    sums = relations_in(Runs.read(GALLERY / "fixed-width"), "i + j = l")
    return f"sums i + j = l, relative to chance: {sums}"


def the_start_predicts_keys() -> str:
    start, is_key = read_networks(["fixed-width"])
    area = mean_of(areas(start, is_key), numpy.random.default_rng(0))
    return f"chance that a key was stronger at the start than another frequency: {area}"


def the_program_comes_before_the_accuracy() -> str:
    lead = emergence(_moments("emergence")).lead
    assert lead.interval is not None
    low, high = lead.interval
    return f"epochs between held-out pairs together and each: {lead.value:g} [{low:g}, {high:g}]"


def blocks_add() -> str:
    instances = read_instances(GROUPS)
    blocks = instances[instances.kind == HIGHER]
    share = bootstrap(blocks, lambda frame, weights: share_multiplying(frame, weights))
    return f"blocks that multiply: {share.value:.1%} [{share.low:.1%}, {share.high:.1%}]"


def products_come_with_the_phase() -> str:
    _, shifts = phase_shifts(Runs.read(GALLERY / "fixed-width"))
    (products,) = (str(shift) for shift in shifts if str(shift).startswith("product share"))
    area = products.partition("at equal rates ")[2]
    return f"chance of more products with asymmetric gradients, at equal rates: {area}"


def no_head_no_clock() -> str:
    clocks = 0
    instances = 0
    for row in read_runs(GALLERY / "heads-short").to_dict("records"):
        followed = set(row["hidden.heads.frequency"])
        forms = zip(row["instances.frequencies"], row["instances.form"], strict=True)
        for frequencies, form in forms:
            if frequencies[0] not in followed:
                instances += 1
                clocks += form.startswith("Clock")
    return f"Clocks among instances that no head follows: {Share(clocks, instances)}"


def _moments(name: str) -> pandas.DataFrame:
    """The rows along training of a table."""
    moments = SweepDirectory(GALLERY / name).moments()
    assert moments is not None
    return moments.to_pandas()


FINDINGS: tuple[Callable[[], str], ...] = (
    every_network_gets_an_answer,
    one_head_makes_no_clock,
    every_clock_was_a_pizza_first,
    weight_decay_turns_pizzas,
    keys_avoid_sums,
    the_start_predicts_keys,
    the_program_comes_before_the_accuracy,
    blocks_add,
    products_come_with_the_phase,
    no_head_no_clock,
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    numbers = range(1, len(FINDINGS) + 1)
    parser.add_argument("number", nargs="?", type=int, choices=numbers, metavar="NUMBER")
    chosen = parser.parse_args().number
    for number in numbers if chosen is None else [chosen]:
        print(f"{number}. {FINDINGS[number - 1]()}")


if __name__ == "__main__":
    main()
