"""Where lines are drawn: between learned and not, between Clock and Pizza, and from where on a
network has an algorithm.
"""

from dataclasses import dataclass, fields

from algophase.core.errors import InputError
from algophase.core.settings import check_number


@dataclass(frozen=True)
class Thresholds:
    """The lines between one verdict and the next, and between one label of the paper and the next.

    Arguments:
        accuracy: from here on a network has learned. The paper removed runs below 100% (appendix
            F.1).
        hybrid_share: ours. The lesser algorithm's share from which a network is a hybrid: of the
            logit variance of all circles for the paper's label, of the logits for the verdict. A
            fifth means circles at least half as strong as the others'.
        circularity: the paper's label. "We consider models with circularity >= 99.5% circular"
            (appendix B).
        pizza_distance_irrelevance: the paper's label. "Typical ... Pizza ranges from 0 to 0.4"
            (section 4.1.2).
        clock_distance_irrelevance: the paper's label. The phase boundary "distance irrelevance <
            0.6" (figure 7).
        gradient_symmetricity: the paper's label. The phase boundary "gradient symmetricity > 98%"
            (figure 7).
        program: ours, as all below. The share of the logits, beyond offsets, that the program must
            explain.
        additivity: the share of the logits that the sum of the instances must explain.
        named: the share of the logits that instances with a form must have.
        kept: the share of what an instance writes alone that must be in the network's logits for it
            to have a form.
        fit: the share of what an instance writes alone that its form must explain.
        pizza_part: the share of its leading circle's amplitude from which an instance is a Pizza.
            From 1 - pizza_part down it is a Clock.

    Raises:
        InputError: a threshold is out of range.

    Example:
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
