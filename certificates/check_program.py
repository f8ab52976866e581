"""The right answers by a certificate's group, and the logits of its distilled program."""

import numpy as np
from arithmetic import fields, floats, require
from flint import arb_mat


def group_of(group):
    """Its table, inverses, and which elements numbers are as operands and as the answer."""
    order, table, elements = fields(group, "order", "table", "elements")
    every = np.arange(order)
    elements = np.array([every] * 3 if elements is None else elements)
    table = np.array(np.add.outer(every, every) % order if table is None else table)
    require(table.dtype == elements.dtype == every.dtype, "elements are not whole numbers")
    is_latin = all((np.sort(side, axis=1) == every).all() for side in (table, table.T, elements))
    require(is_latin and elements.shape == (3, len(every)), "the group is not one")
    require(all((table[table[x]] == table[x][table]).all() for x in every), "not associative")
    one = int(np.flatnonzero((table == every).all(axis=1))[0])
    return table, (table == one).argmax(axis=1), elements


def program_of(terms, table, inverse, elements):
    """A program is a sum of terms (A B)[i, j], with i and j products of x, y and z."""
    require(type(terms) is list and terms, "the program has no terms")
    products = [(name, (floats(left) * floats(right)).tolist()) for name, left, right in terms]

    def of_first(a):
        x, y, z = elements[0][a], elements[1][:, None], elements[2][None]
        after_x, before_y = table[inverse[x], z], table[z, inverse[y]]
        between = table[after_x, inverse[y]]
        places = {"left": (y, after_x), "right": (x, before_y), "readout": (table[x, y], z)}
        places |= {"function": (0, between), "answer": (table[x, inverse[y]], between)}
        total = arb_mat(*between.shape)
        for name, values in products:
            i, j, _ = np.broadcast_arrays(*places[name], between)
            chosen = zip(i.ravel().tolist(), j.ravel().tolist(), strict=True)
            total = total + arb_mat(*between.shape, [values[row][column] for row, column in chosen])
        return total

    return of_first
