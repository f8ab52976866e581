"""Model beta, opened: what the three items of appendix L share."""

from algophase.analysis.anatomy import Anatomy, anatomy
from algophase.analysis.principal import PrincipalComponents, network_components, principal_components
from algophase.errors import InputError
from algophase.networks import Linear
from algophase.paper.sources import FoundNetwork, Sources


def open_model_beta(sources: Sources) -> tuple[FoundNetwork, Linear, Anatomy]:
    found = sources.network("model-beta")
    opened = anatomy(found.network)
    if not opened.pizzas:
        raise InputError(f"{found.source} has no Pizza among its circles that its unembedding matches")
    assert isinstance(found.network, Linear)  # nothing else has an anatomy
    return found, found.network, opened


def both_sides(network: Linear) -> tuple[PrincipalComponents, PrincipalComponents]:
    """Components of the embedding and of the unembedding."""
    return network_components(network), principal_components((network.unembed.weight,))
