"""Every item of the paper, in the order in which it stands there; what has no label of its own
comes last.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal

from algophase.core.errors import InputError
from algophase.core.settings import LINEAR_MODELS
from algophase.paper.anatomy_items import aligned_weights, matching_circles
from algophase.paper.dynamics_items import accompanying_pizza, clock_training
from algophase.paper.illustration_items import accompanying, algorithms, approximation, table_1
from algophase.paper.isolation_items import (
    clock_isolated,
    explained,
    explained_side,
    pizza_isolated,
    side_isolated,
)
from algophase.paper.network_items import gradients, not_circular, whole_logits
from algophase.paper.population_items import metricvs, multilayers, noncirc2, onelayer, variouswidth
from algophase.paper.population_variants import lineararchs, variant
from algophase.paper.product import Item, Product
from algophase.paper.readout import readout
from algophase.paper.rules import claims_of
from algophase.paper.sources import Sources
from algophase.paper.text_items import settings, words
from algophase.paper.variant_items import linear_delta, linear_pizza, separate_pizza, wide_pizza

ITEMS: dict[str, Item] = {}


def _item(
    label: str,
    kind: Literal["figure", "table", "text"],
    place: str,
    title: str,
    needs: str,
    make: Callable[[Sources], Product],
) -> None:
    """make: draws the item; its claims are those of `claims.toml`."""
    with_claims = partial(_with_claims, label=label, make=make)
    ITEMS[label] = Item(label, kind, place, title, tuple(needs.split()), with_claims)


def _with_claims(sources: Sources, *, label: str, make: Callable[[Sources], Product]) -> Product:
    return replace(make(sources), claims=claims_of(label, sources))


def _variant(label: str, title: str, space: str, *, released: bool = False) -> None:
    """A one-layer experiment with one thing changed. released: whether the authors' table has
    such runs.
    """
    make = partial(variant, space=space, title=title, released=released)
    _item(
        label,
        "figure",
        "appendix I",
        f"one layer, {title}",
        f"sweep:{space} sweep:fixed-width",
        make,
    )


_A, _B, _BETA, _DELTA = (
    "network:model-a",
    "network:model-b",
    "network:model-beta",
    "network:model-delta",
)
_FIXED = "sweep:fixed-width"
_LINEAR = " ".join(f"sweep:linear-{name}" for name in LINEAR_MODELS)
_SHAPES = "network:line-like network:three-dimensional"
_alone = "Correct logits of {} after circle isolation".format

_item(
    "algorithms",
    "table",
    "Table 1",
    "Different neural algorithms for modular addition",
    "",
    table_1,
)
_item("clock-pizza", "figure", "Figure 1", "The Clock and the Pizza algorithm", "", algorithms)
_item(
    "efflc",
    "figure",
    "section 2.2",
    "Gradients on the first six principal components",
    f"{_A} {_B}",
    gradients,
)
_item(
    "corlogit",
    "figure",
    "section 2.3",
    "Correct logits of Model A and Model B",
    f"{_A} {_B}",
    whole_logits,
)
_item("corlogitpizza", "figure", "section 3.3", _alone("Model A"), _A, pizza_isolated)
_item("corlogitclock", "figure", "section 3.3", _alone("Model B"), _B, clock_isolated)
_item(
    "isolation",
    "table",
    "section 3.3",
    "Variance of Model A's logits explained by Clock and Pizza",
    _A,
    explained,
)
_item(
    "metricvs",
    "figure",
    "section 4.1.3",
    "distance irrelevance against gradient symmetricity",
    _FIXED,
    metricvs,
)
_item(
    "onelayer",
    "figure",
    "section 4.2",
    "one layer of width 128: metrics by attention rate",
    _FIXED,
    onelayer,
)
_item(
    "variouswidth",
    "figure",
    "section 4.2",
    "one layer: metrics over rate and width",
    "sweep:varying-width",
    variouswidth,
)
_item("approx", "figure", "Appendix A", "|cos t| - |sin t| is about cos 2t", "", approximation)
_item("noncirc", "figure", "appendix B", "Embeddings that are not circular", _SHAPES, not_circular)
_item(
    "noncirc2",
    "figure",
    "appendix C",
    "one layer, non-circular networks unfiltered",
    _FIXED,
    noncirc2,
)
_item("multilayers", "figure", "appendix C", "two to four layers", "sweep:layers-2", multilayers)
_item("accompill", "figure", "Appendix D", "The accompanying Pizza", "", accompanying)
_item(
    "isolationside",
    "table",
    "appendix D",
    "Variance explained by the accompanying Pizza",
    _A,
    explained_side,
)
_item(
    "corlogitpizzaside",
    "figure",
    "appendix D",
    "Correct logits of the accompanying pizzas alone",
    _A,
    side_isolated,
)
_item("lineararchs", "figure", "appendix E", "linear models", _LINEAR, lineararchs)
_item("corlogitbeta", "figure", "appendix E", _alone("Model β"), _BETA, linear_pizza)
_item("corlogitdelta", "figure", "appendix E", _alone("Model δ"), f"{_DELTA} {_B}", linear_delta)
_item(
    "widepizza",
    "figure",
    "appendix H",
    _alone("a wide Pizza with attention"),
    "network:wide-pizza",
    wide_pizza,
)
_variant("gelu", "GELU in place of ReLU", "gelu")
_variant("diff-vocab", "an embedding for each operand", "separate-vocabularies", released=True)
_item(
    "iso-diffemb",
    "figure",
    "appendix I",
    "Circle isolation where the two tokens have embeddings of their own",
    "network:separate-pizza",
    separate_pizza,
)
_variant("eqn-sign", "the answer read at an equals sign", "equals-sign", released=True)
_item(
    "clock-training",
    "figure",
    "appendix J",
    "a Pizza early in the training of a Clock, and how it dissolves",
    "network:early-clock moments:clock-training",
    clock_training,
)
_item(
    "accompanying-pizza",
    "figure",
    "appendix K",
    "a rate-0 network after 600 epochs, and what its accompanying circle is worth",
    "network:early-pizza moments:pizza-training",
    accompanying_pizza,
)
_item(
    "pcaeu",
    "figure",
    "Appendix L.2",
    "Circles of embedding and unembedding",
    _BETA,
    matching_circles,
)
_item(
    "aligned", "figure", "Appendix L.3", "Aligned weights of a linear Pizza", _BETA, aligned_weights
)
_item("approx2", "figure", "Appendix L.4", "The readout of a linear Pizza", _BETA, readout)
_item("settings", "text", "appendix F", "Settings, sizes and cost", _FIXED, settings)
_item("text", "text", "sections 1 to 4", "What the text says beside the figures", _FIXED, words)


def find_items(labels: list[str]) -> list[Item]:
    """The items of these labels, or of all with "all"."""
    if "all" in labels:
        return list(ITEMS.values())
    unknown = [label for label in labels if label not in ITEMS]
    if unknown:
        raise InputError(
            f"the paper has no item {', '.join(unknown)}; choose from all, {', '.join(ITEMS)}"
        )
    return [ITEMS[label] for label in dict.fromkeys(labels)]
