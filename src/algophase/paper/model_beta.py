"""Model beta, opened: what the three items of appendix L share."""

from algophase.analysis.anatomy import Anatomy
from algophase.analysis.principal import PrincipalComponents, principal_components
from algophase.errors import InputError
from algophase.networks import Linear
from algophase.paper.sources import Exhibit, Sources


def open_model_beta(sources: Sources) -> tuple[Exhibit, Linear, Anatomy]:
    found = sources.network("model-beta")
    opened = found.analysis.anatomy
    if opened is None or not opened.pizzas:
        raise InputError(f"{found.source} has no Pizza among its circles that its unembedding matches")
    assert isinstance(found.given, Linear)  # nothing else has an anatomy
    return found, found.given, opened


def both_sides(found: Exhibit, network: Linear) -> tuple[PrincipalComponents, PrincipalComponents]:
    """Components of the embedding and of the unembedding."""
    return found.components, principal_components((network.unembed.weight,))
