"""Every rival account on one network: what it predicts, its measure, and whether the network
passes.

    evidence (analysis, what units read) -> accounts -> interventions

Each account is a file of its own here. An account passes if all its measures with a line do. Lines
are the published ones where a paper draws one, else those of our verdicts; every measure says
which.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from algophase.analysis.analyze import analyze
from algophase.analysis.result import Analysis
from algophase.analysis.rivals.account import Account
from algophase.analysis.rivals.approximate_cosets import approximate_cosets
from algophase.analysis.rivals.characters import characters
from algophase.analysis.rivals.clock_and_pizza import clock, pizza
from algophase.analysis.rivals.cosets import coset_circuits
from algophase.analysis.rivals.evidence import Evidence
from algophase.analysis.rivals.interventions import Intervention, all_interventions, intervention
from algophase.analysis.rivals.lookup import lookup
from algophase.analysis.rivals.rho_sets import rho_sets
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.errors import InputError
from algophase.networks import Network
from algophase.pages.rivals_text import rivals_text
from algophase.record.layout import Layout, to_record

ACCOUNTS: tuple[Callable[[Evidence], Account], ...] = (
    clock,
    pizza,
    characters,
    coset_circuits,
    rho_sets,
    approximate_cosets,
    lookup,
)


@dataclass(frozen=True)
class Rivals:
    """Rival accounts of one network.

    Attributes:
        id: the network's name.
        group: that it is on, "S5".
        headline: the verdict of `analyze`.
        accuracy, cross_entropy: over all pairs.
        accounts: each with its measures. `rivals["rho-sets"]` is one by its name.
        interventions: each with what became of the answers.

    Example:
        >>> from algophase import handmade_pizza, rivals
        >>> result = rivals(handmade_pizza(23))
        >>> result.passing
        ('Pizza', 'characters (GCR)', 'rho-sets', 'approximate cosets')
    """

    id: str
    group: str
    headline: str
    accuracy: float
    cross_entropy: float
    accounts: tuple[Account, ...]
    interventions: tuple[Intervention, ...]

    LAYOUT: ClassVar[Layout] = Layout(
        {
            "id": "id",
            "group": "group",
            "headline": "headline",
            "accuracy": "accuracy",
            "cross_entropy": "cross_entropy",
            "passing": lambda result: result.passing,
            "accounts": "accounts",
            "interventions": "interventions",
        }
    )

    @property
    def passing(self) -> tuple[str, ...]:
        """The names of the accounts that this network passes."""
        return tuple(account.name for account in self.accounts if account.passes)

    def __getitem__(self, name: str) -> Account:
        for account in self.accounts:
            if account.name == name:
                return account
        raise KeyError(f"{name!r}; choose one of {[account.name for account in self.accounts]}")

    def to_dict(self) -> dict[str, Any]:
        """The record that `algophase rivals --json` prints; None for what is undefined."""
        record: dict[str, Any] = to_record(self)
        return record

    def __str__(self) -> str:
        return rivals_text(self.to_dict())

    def __repr__(self) -> str:
        return f"<Rivals of {self.id}: passes {', '.join(self.passing) or 'none'}>"


def rivals(
    network: Network, thresholds: Thresholds = Thresholds(), *, group: object = None
) -> Rivals:
    """Test every rival account of how networks answer on one network.

    Arguments:
        network: on a cyclic or any other finite group.
        thresholds: the lines between one verdict and the next; accounts share them.
        group: the finite group that the network is on, as for `analyze`. By default what its
            answers form.

    Returns:
        A `Rivals`: accounts with their measures, and interventions. `print` shows both as tables.

    Raises:
        InputError: the network cannot be read, or its file kept its answers without its code.

    Example:
        >>> from algophase import handmade_clock
        >>> rivals(handmade_clock(23))["Clock"].passes
        True
    """
    return rivals_of(analyze(network, thresholds, group=group), thresholds)


def rivals_of(analysis: Analysis, thresholds: Thresholds = Thresholds()) -> Rivals:
    """`rivals` of a network that was analyzed; the analysis still has the network."""
    evidence = _evidence(analysis, thresholds)
    accounts = [account(evidence) for account in ACCOUNTS]
    return Rivals(
        id=analysis.id,
        group=evidence.group_name,
        headline=analysis.headline,
        accuracy=analysis.metrics["accuracy"],
        cross_entropy=analysis.metrics["cross_entropy"],
        accounts=tuple(accounts),
        interventions=tuple(all_interventions(evidence)),
    )


def intervene(
    network: Network,
    name: str,
    *,
    representation: str | None = None,
    order: int | None = None,
) -> Intervention:
    """Change a network in a named way, and answer all pairs again.

    Arguments:
        network: on a cyclic or any other finite group.
        name: "absolute value", "left sign flipped", "both signs flipped", "embeddings swapped",
            "without interactions", "one representation kept" or "units of one coset removed".
        representation: which to keep, by its name ("standard", or "k = 5" on a cyclic group), with
            those of its instance; by default that with the largest share of the logits.
        order: of the subgroups whose units are removed; by default those with most weight.

    Returns:
        An `Intervention`: accuracy, cross-entropy, and the share of the logits that is left.

    Raises:
        InputError: the name is unknown, or the network cannot be read.

    Example:
        >>> from algophase import handmade_pizza
        >>> intervene(handmade_pizza(23), "absolute value").accuracy
        1.0
    """
    evidence = _evidence(analyze(network), Thresholds())
    return intervention(evidence, name, representation, order)


def _evidence(analysis: Analysis, thresholds: Thresholds) -> Evidence:
    if analysis.subject is None:
        raise InputError(
            f"network {analysis.id}: its file has its answers and not its code, and rival "
            "accounts change what it computes"
        )
    return Evidence(analysis, analysis.subject, thresholds)
