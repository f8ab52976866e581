"""Lookup: the network stores answers pair by pair, and the group's structure shows nowhere."""

from algophase.analysis.rivals.account import Account, Measure
from algophase.analysis.rivals.evidence import INSTANCES, NAMED, Evidence

SOURCE = "memorization, the null account"


def lookup(evidence: Evidence) -> Account:
    named = evidence.named_share
    shares = evidence.class_shares
    rest = shares.exclusive["rest"]
    measures = (
        Measure(
            INSTANCES,
            named,
            evidence.thresholds.named,
            below=True,
            why=NAMED,
        ),
        Measure("logits that the sum of instances explains", evidence.analysis.additivity),
        Measure("logits that no action of the group leaves alone", rest),
    )
    predicts = "no representation kept alone does what it does in the network"
    return Account("lookup", SOURCE, predicts, measures)
