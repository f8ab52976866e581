"""Clock and Pizza (Zhong et al. 2023): does the network multiply or add before its hidden units?

On a cyclic group, the verdict reads each instance from its logits: a Clock's do not depend on a - b
and a Pizza's do. On other groups it reads the instance's hidden units. Both accounts also say what
units read: a Clock's need products of both operands, a Pizza's need sums alone. An MLP that is fed
both embeddings side by side reads sums whatever it computes, so it can give a Clock's logits
without a Clock's mechanism.
"""

from algophase.analysis.rivals.account import Account, Measure
from algophase.analysis.rivals.evidence import INSTANCES, NAMED, NO_UNITS, Evidence
from algophase.analysis.verdict.group_verdict import ADDS, MULTIPLIES

SOURCE = "Nanda et al. 2023, Zhong et al. 2023"
NEARLY = "the line of our verdicts between adding and multiplying"
MAJORITY = "the line of our verdicts between one algorithm and a hybrid"
LEFT = "logits left without interactions in what units read"


def clock(evidence: Evidence) -> Account:
    pizza_share = evidence.analysis.verdict.pizza_share
    share = float("nan") if pizza_share is None else 1 - pizza_share
    return _account(
        evidence,
        name="Clock",
        predicts="hidden units read products of the two operands, and need them",
        form="Clock" if evidence.group.is_cyclic else "multiplying",
        share=share,
        left_line=MULTIPLIES,
        left_below=True,
    )


def pizza(evidence: Evidence) -> Account:
    pizza_share = evidence.analysis.verdict.pizza_share
    return _account(
        evidence,
        name="Pizza",
        predicts="hidden units read a sum of a function of each operand, and need no more",
        form="Pizza" if evidence.group.is_cyclic else "adding",
        share=float("nan") if pizza_share is None else pizza_share,
        left_line=ADDS,
        left_below=False,
    )


def _account(
    evidence: Evidence,
    *,
    name: str,
    predicts: str,
    form: str,
    share: float,
    left_line: float,
    left_below: bool,
) -> Account:
    """share: of this form among instances that are either. left_line, left_below: for the logits
    left without interactions.
    """
    thresholds = evidence.thresholds
    named = evidence.named_share
    measures = [
        Measure(INSTANCES, named, thresholds.named, why=NAMED),
        Measure(f"{form} share of these", share, 1 - thresholds.hybrid_share, why=MAJORITY),
    ]
    notes = []
    if evidence.adding is None:
        notes.append(NO_UNITS)
    else:
        left = evidence.adding.adding
        measures += [
            Measure(LEFT, left, left_line, left_below, why=NEARLY),
            Measure("interactions in what units read", evidence.adding.interaction),
        ]
    return Account(name, SOURCE, predicts, tuple(measures), tuple(notes))
