"""How each metric of `catalogue.toml` is computed: one function of a `Subject` per name.

A tensor may stay on the subject's device, so that nothing waits for it. Metrics that are means over
hidden units have no function here: the catalogue names their field of `UnitMeans`.
"""

import math
from collections.abc import Callable, Mapping

from torch import Tensor

from algophase.analysis.hidden.progress_measures import embedding_gini
from algophase.analysis.logits.all_pairs import share_right
from algophase.analysis.logits.metrics import symmetricity_without_equals_sign
from algophase.analysis.subject import Subject

Measure = Callable[[Subject], Tensor | float]


def _circularity(subject: Subject) -> float:
    """Undefined where the operands have tables of their own, as in the paper, and without an
    embedding.
    """
    if subject.shared_table and subject.network.cut == "embedding":
        return subject.operand_circularity[0]
    return math.nan


MEASURES: Mapping[str, Measure] = {
    "accuracy": lambda subject: share_right(subject.right),
    "cross_entropy": lambda subject: subject.mean_losses[0],
    "gradient_symmetricity": lambda subject: subject.symmetricities[0],
    "gradient_symmetricity_exact": lambda subject: subject.symmetricities[1],
    "gradient_symmetricity_without_equals_sign": lambda subject: symmetricity_without_equals_sign(
        subject.network
    ),
    "distance_irrelevance": lambda subject: subject.irrelevances[0],
    "distance_irrelevance_wrong_logit": lambda subject: subject.irrelevances[1],
    "circularity": _circularity,
    "embedding_gini": lambda subject: embedding_gini(subject.components),
    "restricted_loss": lambda subject: subject.mean_losses[1],
    "excluded_loss": lambda subject: subject.mean_losses[2],
}
