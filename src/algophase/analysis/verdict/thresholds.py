"""Where lines are drawn: between learned and not, between Clock and Pizza, and from where on a
network has an algorithm.
"""

from dataclasses import dataclass, fields

from algophase.core.errors import InputError
from algophase.core.settings import check_number


@dataclass(frozen=True)
class Thresholds:
    """The lines of the paper's label and of the verdict.

    Both: accuracy: runs short of 100% were removed (appendix F.1).
    hybrid_share: ours. The lesser algorithm's share from which a network is a hybrid: of the logit
        variance of all circles for the paper's label, of the logits for the verdict; a fifth means
        circles at least half as strong as the others'.

    The paper's label: circularity: "we consider models with circularity >= 99.5% circular"
    (appendix B).
    pizza_distance_irrelevance: "typical ... Pizza ranges from 0 to 0.4" (section 4.1.2).
    clock_distance_irrelevance: the phase boundary's "distance irrelevance < 0.6" (figure 7).
    gradient_symmetricity: the phase boundary's "gradient symmetricity > 98%" (figure 7).

    The verdict, all ours (`verdict` says where they come from): program: share of the logits,
    beyond offsets, that the program explains; additivity: of the sum of the instances; named: share
    of the logits of instances that have a form.
    kept, fit: of an instance, for it to have a form. pizza_part: of its leading circle's amplitude,
        from which it is a Pizza;
    a Clock from 1 - pizza_part down.

    >>> from algophase import Thresholds, analyze, handmade_pizza
    >>> analyze(handmade_pizza(11), Thresholds(accuracy=0.99)).verdict.label
    'Pizza'
    """

    accuracy: float = 1.0
    hybrid_share: float = 0.2
    circularity: float = 0.995
    pizza_distance_irrelevance: float = 0.4
    clock_distance_irrelevance: float = 0.6
    gradient_symmetricity: float = 0.98
    program: float = 0.8
    additivity: float = 2 / 3
    named: float = 0.75
    kept: float = 2 / 3
    fit: float = 0.5
    pizza_part: float = 2 / 3

    def __post_init__(self) -> None:
        for field in fields(self):
            low = {"gradient_symmetricity": -1.0, "pizza_part": 0.5}.get(field.name, 0.0)
            check_number(field.name, getattr(self, field.name), low, 1.0)
        if self.pizza_distance_irrelevance > self.clock_distance_irrelevance:
            raise InputError(
                f"pizza_distance_irrelevance is {self.pizza_distance_irrelevance:g}, above "
                "clock_distance_irrelevance, "
                f"{self.clock_distance_irrelevance:g}; a Pizza's distance irrelevance is the "
                "lower one"
            )
