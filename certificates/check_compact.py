"""The proof for less than brute force: how many pairs follow from a certificate's advice. The
theorem is in docs/certificates.md; its letters are used here.
"""

from arithmetic import (
    ACTIVATIONS,
    WORK,
    activated,
    distances,
    dot,
    fields,
    floats,
    integers,
    mapped,
    matrix,
    norm,
    require,
    root,
    sparse,
    times,
)
from flint import arb_mat
from numpy import eye

MOST_ENTRIES = 10_000_000  # of a matrix that the advice asks for


class Merged:
    """Units of a transformer, read through few directions of its stream, and joined."""

    def __init__(self, reading, form):
        self.share, self.even, self.slope = ACTIVATIONS[form.activation]
        names = ("subspace", "back", "reads", "owners", "factors", "groups")
        subspace, back, reads, owners, factors, groups = fields(reading, *names)
        subspace, back = floats(subspace), floats(back)  # Q, Y
        q, units = subspace.ncols(), form.readout.nrows()
        count = max(integers(owners)) + 1
        require(min(owners) >= 0 and count <= units, "merged units are not numbered")
        numbered = sorted(set(integers(groups))) == [*range(max(groups) + 1)]
        require(numbered and len(groups) == units, "groups are not numbered")
        require((max(groups) + 1) * (q + 1) ** 2 <= MOST_ENTRIES, "too many directions or groups")
        homogeneous = form.activation == "relu" or {abs(factor) for factor in factors} == {1.0}
        require(homogeneous and len(owners) == len(factors) == units, "units are joined otherwise")
        joins = sparse((count, units), list(zip(owners, range(units), factors, strict=True)))[0]
        self.reads = sparse((q + 1, count), reads)  # C
        kept = times(back, form.into)
        through = times(matrix(2 * eye(q)) - times(back, subspace), kept)  # A
        missed = (form.into - times(subspace, kept)).transpose().tolist()  # N, by unit
        own = arb_mat(through.tolist() + form.biases.tolist())
        WORK["operations"] += own.nrows() * units
        apart = (own - self.reads[0] * joins).transpose().tolist()  # K, by unit
        writes = form.readout.tolist()
        self.squares, self.missed, self.gaps = [], [], []
        for group in sorted(set(groups)):
            chosen = [unit for unit, of in enumerate(groups) if of == group]
            part = arb_mat([apart[unit] for unit in chosen])
            self.squares.append(times(part.transpose(), part))
            self.missed.append(norm([x for unit in chosen for x in missed[unit]]))
            self.gaps.append(distances([writes[unit] for unit in chosen]))
        WORK["operations"] += units * form.readout.ncols()
        self.writes = mapped(abs, joins) * form.readout
        self.z = form.written(lambda rows: times(rows, subspace), arb_mat(1, q))

        def outside(rows):  # x'
            return rows - times(times(rows, subspace), back)

        self.outside = form.written(outside, arb_mat(1, 1), lambda row: [norm(row)])
        linear = times(subspace, times(through, form.readout)) * self.share
        bias = form.past_bias + times(form.biases, form.readout) * self.share
        self.past = form.written(lambda rows: times(rows, form.unembed + linear), bias)

    def of_first(self, a):
        """What merged units give, how far the units of each group can be, and what goes past."""
        z = arb_mat([[*row, 1] for row in self.z(a).tolist()])
        far, rows = self.outside(a).entries(), z.tolist()
        bounds = [[] for _ in rows]
        for square, missed in zip(self.squares, self.missed, strict=True):
            size = square.nrows()
            products = times(z, square, size * (size + 1) // 2).tolist()  # it is symmetric
            for bound, product, row, x in zip(bounds, products, rows, far, strict=True):
                inside = self.slope * root(dot(product, row))
                bound.append(inside + (self.slope + self.share) * x * missed)
        return mapped(self.even, times(z, *self.reads)), bounds, self.past(a)


class AsTheyAre:
    """Units of a network without a stream. What is linear in them goes past."""

    def __init__(self, form):
        self.form, self.writes, self.gaps = form, form.readout, []
        self.share, self.even, _ = ACTIVATIONS[form.activation]
        if form.reads_sums:
            self.first = (times(form.first, form.readout) * self.share).tolist()
            self.second = times(form.second, form.readout) * self.share

    def of_first(self, a):
        read, bounds = self.form.read(a), [[] for _ in range(self.form.n)]
        if not self.form.reads_sums:
            return activated(read, self.form.activation), bounds, self.form.past(a)
        return mapped(self.even, read), bounds, arb_mat([self.first[a]] * len(bounds)) + self.second


class Compact:
    def __init__(self, advice, form):
        names = ("reading", "rank", "writes", "basis", "center", "scales", "contested")
        reading, rank, writes, basis, center, scales, contested = fields(advice, *names)
        integers([rank])
        self.units = AsTheyAre(form) if reading is None else Merged(reading, form)
        written, self.form = self.units.writes, form
        count, outputs = written.nrows(), written.ncols()
        require(0 < rank <= MOST_ENTRIES // max(count, outputs), "the rank is out of reach")
        require(reading is None or not contested, "merged units leave no answers open")
        self.writes = sparse((count, rank), writes)  # S
        self.basis = sparse((rank, outputs), basis)  # B
        WORK["operations"] += self.writes[1] * outputs
        left = written - self.writes[0] * self.basis[0]  # R
        self.center, self.scales = floats(center).entries(), floats(scales).entries()
        require(all(scale > 0 for scale in self.scales), "scales are not positive")
        self.offset = times(arb_mat([self.center]), left)
        rows = zip(self.scales, left.tolist(), strict=True)
        left_gaps = distances([[scale * x for x in row] for scale, row in rows])
        gaps = [*self.units.gaps, left_gaps]
        self.gaps = [arb_mat([gap[answer] for gap in gaps]) for answer in range(outputs)]
        self.contested = {}
        for a, b, answers in contested:
            require((a, b) not in self.contested, "a pair is left open twice")
            self.contested[tuple(integers([a, b]))] = set(integers(answers))

    def proved(self, a, right, logits):
        """How many of the pairs (a, b) are right. logits: the network's own, for answers that the
        advice leaves open.
        """
        hidden, bounds, past = self.units.of_first(a)
        short = times(times(hidden, *self.writes), *self.basis) + past
        proved, offset = 0, self.offset.entries()
        for b, (row, units) in enumerate(zip(short.tolist(), hidden.tolist(), strict=True)):
            far = zip(units, self.center, self.scales, strict=True)
            bounds[b].append(norm([(x - middle) / scale for x, middle, scale in far]))
            bound = times(arb_mat([bounds[b]]), self.gaps[right[b]]).entries()
            row = [x + y for x, y in zip(row, offset, strict=True)]
            left_open = self.contested.get((a, b), set())
            WORK["operations"] += len(units) * (len(left_open) + 1) * bool(left_open)
            is_right = True
            for answer in set(range(len(row))) - {right[b]}:
                if answer in left_open:
                    is_right = is_right and logits[b][right[b]] > logits[b][answer]
                else:
                    is_right = is_right and row[right[b]] - row[answer] > bound[answer]
            proved += is_right
        return proved
