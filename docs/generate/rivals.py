"""Write the tables of docs/rivals.md: rival accounts on hand-made, published and our own networks.

python docs/generate/rivals.py --foreign FOLDER    # six minutes on two cores

`--foreign`: where the published networks are (`groups/S5_MLP_seed1.pt` and so on). Without it, the
tables of published networks stay as they are.
"""

import argparse
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from algophase import handmade_clock, handmade_pizza, load
from algophase.analysis.rivals.account import BY_CHANCE, FAILS, PASSES, SAYS_NOTHING, Account
from algophase.analysis.rivals.interventions import KEPT, NAMES, REMOVED
from algophase.analysis.rivals.rivals import Rivals, rivals
from algophase.core.group import cyclic_group
from algophase.core.named_groups import named_group
from algophase.networks import Network
from algophase.networks.handmade_groups import adding_network, multiplying_network
from algophase.networks.handmade_rivals import coset_network, lookup_network, rho_set_network
from algophase.pages.table import Table

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "rivals.md"
START, END = "<!-- {name}: written by docs/generate/rivals.py -->", "<!-- end of {name} -->"
# The number that each account is told by in an overview.
TELLING = {
    "Clock": "logits left without interactions in what units read",
    "Pizza": "logits left without interactions in what units read",
    "characters (GCR)": "logits that are characters of x y z^-1",
    "coset circuits": "logits explained by units that read means over their cosets",
    "rho-sets": "logits explained by units that have this form, with b from B",
    "approximate cosets": "logits explained by units that read one frequency",
    "lookup": "logits in instances with a form",
}
ANSWERS = {PASSES: "**yes**", BY_CHANCE: "by chance", FAILS: "no"}  # in a cell
WITHOUT_CHOICE = [name for name in NAMES if name not in (KEPT, REMOVED)]
PUBLISHED = [
    "groups/S5_MLP_seed1.pt",
    "groups/S5_MLP_seed2.pt",
    "groups/S5_MLP_seed10.pt",
    "groups/S5_MLP_hidden_dim_48_seed1.pt",
    "groups/S5_T_seed1.pt",
    "groups/A5_MLP_seed1.pt",
    "groups/D59_MLP_seed1.pt",
    "groups/D59_T_seed1.pt",
    "group_mlp_c113.pt",
    "group_transformer_c113.pt",
]


def handmade() -> dict[str, Network]:
    s4 = named_group("S4")
    return {
        "Clock, Z23": handmade_clock(23),
        "Pizza, Z23": handmade_pizza(23),
        "multiplied matrices, S4": multiplying_network(s4),
        "added vectors, S4": adding_network(s4),
        "cosets of order 2, S4": coset_network(s4, 2),
        "cosets of order 6, S4": coset_network(s4, 6),
        "rho-set of 4 vectors, S4": rho_set_network(s4, "standard"),
        "rho-set of 24 vectors, S4": rho_set_network(s4, "standard", generic=True),
        "lookup, S4": lookup_network(s4),
        "lookup, Z13": lookup_network(cyclic_group(13)),
    }


def published(folder: Path) -> dict[str, Network]:
    return {Path(name).stem: load(folder / name) for name in PUBLISHED}


def own() -> dict[str, Network]:
    """The networks of our sweeps that the gallery keeps, by their roles."""
    gallery = ROOT / "gallery"
    entries = tomllib.loads((gallery / "exhibits.toml").read_text(encoding="utf-8"))
    networks = {}
    for role, entry in entries.items():
        for path in [entry["path"]] if "path" in entry else entry.get("paths", []):
            epoch = Path(path).suffixes[0].removeprefix(".epoch")
            during = f", epoch {epoch}" if epoch.isdigit() else ""
            networks[f"{role.replace('-', ' ')}{during}"] = load(gallery / path)
    return networks


def share(value: float) -> str:
    """A share in percent, short: 100%, 99.7%, 3.2%; "-" where it is undefined."""
    if value != value:
        return "-"
    text = f"{100 * max(value, 0.0):.1f}".removesuffix(".0")
    return "<100%" if text == "100" and value < 1 - 1e-9 else f"{text}%"


def account_cell(account: Account) -> str:
    if account.outcome == SAYS_NOTHING:
        return "-"
    return f"{ANSWERS[account.outcome]} {share(account[TELLING[account.name]].value)}"


def account_table(results: Mapping[str, Rivals]) -> str:
    """Does each network pass each account, with one number of each."""
    rows = []
    for name, result in results.items():
        cells = [account_cell(account) for account in result.accounts]
        rows.append([name, result.group, share(result.accuracy), *cells])
    return Table(["network", "group", "accuracy", *TELLING], rows).markdown("---")


def intervention_table(results: Mapping[str, Rivals]) -> str:
    """Accuracy after each intervention."""
    rows = []
    for name, result in results.items():
        by_name = {one.name: one for one in result.interventions}
        kept = [one for one in result.interventions if one.name == KEPT]
        cells = [share(by_name[name].accuracy) for name in WITHOUT_CHOICE]
        best = max((one.accuracy for one in kept), default=float("nan"))
        removed = by_name[REMOVED]
        which = f" ({removed.which.split(' units')[0]})" if removed.which else ""
        rows.append([name, *cells, share(best), f"{share(removed.accuracy)}{which}"])
    columns = ["network", *WITHOUT_CHOICE, "best representation alone", REMOVED]
    return Table(columns, rows).markdown("---")


def unit_table(results: Mapping[str, Rivals]) -> str:
    """What units read: cosets and vectors, each beside chance."""
    rows = []
    for name, result in results.items():
        cosets, vectors = result["coset circuits"], result["rho-sets"]
        if cosets.passes is None:
            continue
        gcr = result["characters (GCR)"]
        alone = gcr["accuracy of the characters alone"].value
        without = gcr["accuracy without them"].value
        median = cosets["median C_H"]
        units = cosets["units with C_H < 1 for both operands"]
        closed = vectors["squared cosine of images of B with B"]
        rank_one = vectors["what units read that has rank one in one representation"]
        sets = sorted(vectors.details, key=lambda one: -one["weight"])
        largest = [one for one in sets if one["dimension"] > 1][:3]
        listed = [f"{one['representation']}: {one['vectors']}, {one['units']}" for one in largest]
        rows.append(
            [
                name,
                f"{share(alone)}, {share(without)}",
                f"{share(units.value)} ({share(units.by_chance)})",
                f"{median.value:.3f} ({median.by_chance:.2f})",
                f"{share(rank_one.value)} ({share(rank_one.by_chance)})",
                f"{closed.value:.2f} ({closed.by_chance:.2f})",
                "; ".join(listed),
            ]
        )
    columns = [
        *("network", "accuracy of characters alone, without them"),
        *("units with C_H < 1 (by chance)", "median C_H (by chance)"),
        *("rank one (by chance)", "B closed (by chance)", "vectors, units"),
    ]
    return Table(columns, rows).markdown("---")


def measured(networks: Mapping[str, Network]) -> dict[str, Rivals]:
    results = {}
    for name, network in networks.items():
        network.id = name
        results[name] = rivals(network)
        print(f"{results[name]!r}", flush=True)
    return results


def written(page: str, tables: Mapping[str, str]) -> str:
    """The page with these tables in their places."""
    for name, table in tables.items():
        start, end = START.format(name=name), END.format(name=name)
        before, rest = page.split(start)
        after = rest.split(end)[1]
        page = f"{before}{start}\n\n{table}\n\n{end}{after}"
    return page


def tables_of(name: str, results: Mapping[str, Rivals], *more: str) -> Iterable[tuple[str, str]]:
    yield f"{name} accounts", account_table(results)
    yield f"{name} interventions", intervention_table(results)
    if "units" in more:
        yield f"{name} units", unit_table(results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--foreign", type=Path, help="where the published networks are")
    folder = parser.parse_args().foreign
    write(tables_of("hand-made", measured(handmade())))
    write(tables_of("our", measured(own())))
    if folder is not None:
        write(tables_of("published", measured(published(folder)), "units"))


def write(tables: Iterable[tuple[str, str]]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(written(page, dict(tables)), encoding="utf-8")


if __name__ == "__main__":
    main()
