"""Group composition via representations (Chughtai et al. 2023): the network multiplies matrices of
its key representations, and its logits are their characters,

    Q_xyz = sum over rho of c_rho chi_rho(x + y - z)

Published for S5: 0.31 to 0.86 of the logits, median 0.59; the authors draw no line.

Their causal evidence is on logits: the characters alone answer (*restricted*), and without them
nothing does (*excluded*). Both are shown.

Logits alone do not make this account: a lookup table that writes 1 on the answer and 0 elsewhere
writes the sum of all characters. So key representations must also work alone as in the network.
"""

import numpy as np
import torch
from torch import Tensor

from algophase.analysis.rivals.account import Account, Measure
from algophase.analysis.rivals.evidence import EXPLAINED, INSTANCES, NAMED, Evidence
from algophase.analysis.rivals.outcomes import Answers
from algophase.core.fourier import Array

SOURCE = "Chughtai et al. 2023"


def characters(evidence: Evidence) -> Account:
    shares = evidence.class_shares
    part = CharacterPart(evidence.answers)
    restricted, excluded = evidence.answers.outcomes([part.alone, part.left_out])
    measures = (
        Measure(
            "logits that are characters of x y z^-1",
            shares.characters,
            evidence.thresholds.program,
            why=EXPLAINED,
        ),
        Measure(INSTANCES, evidence.named_share, evidence.thresholds.named, why=NAMED),
        Measure("accuracy of the characters alone", restricted.accuracy),
        Measure("accuracy without them", excluded.accuracy),
        Measure("logits that are functions of (x y, z)", shares.readout),
        Measure("logits that are functions of x^-1 z y^-1", shares.bi_equivariant),
    )
    notes = []
    if evidence.group.commutes:
        notes.append(
            "the group commutes: every function of x + y - z is a sum of characters, those of "
            "Clocks and of most Pizzas alike"
        )
    predicts = "the logits are characters of x y z^-1, from products of matrices"
    return Account("characters (GCR)", SOURCE, predicts, measures, tuple(notes))


class CharacterPart:
    """The part of a network's logits that is a sum of characters: a class function F of
    -x + z - y, the mean of the centered logits over all triples with a w in the same class.
    """

    def __init__(self, answers: Answers) -> None:
        self.answers, self.group = answers, answers.group
        self.values = torch.from_numpy(self._class_means()).to(answers.first.device)

    def _classes(self, rows: slice) -> Tensor:
        """(rows, n, n): the class of -x + z - y at [x, y, z]."""
        group = self.group
        differences = group.table[group.inverses[rows]]  # -x + z at [x, z]
        triples = group.table[differences[:, None, :], group.inverses[None, :, None]]
        return torch.from_numpy(group.class_of[triples])

    @torch.no_grad()
    def _class_means(self) -> Array:
        """(classes,)"""
        sums = np.zeros(len(self.group.class_members))
        for rows in self.answers.strips:
            logits = self.answers.own(rows)
            centered = (logits - logits.mean(dim=-1, keepdim=True)).cpu().numpy()
            classes = self._classes(rows).numpy()
            sums += np.bincount(classes.ravel(), weights=centered.ravel(), minlength=len(sums))
        class_sizes = np.bincount(self.group.class_of)
        return np.asarray(sums / (class_sizes * self.group.order**2))

    def alone(self, rows: slice) -> Tensor:
        """Logits (rows, n, n) of the characters."""
        return self.values[self._classes(rows).to(self.values.device)]

    def left_out(self, rows: slice) -> Tensor:
        """Logits (rows, n, n) without them."""
        return self.answers.own(rows) - self.alone(rows)
