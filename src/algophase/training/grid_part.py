"""Some networks of a grid ensemble whose tables are made together: one network, or several so small that each alone would
mostly be overhead."""

from collections.abc import Callable
from functools import partial

from torch import Tensor

from algophase.settings import TaskSettings
from algophase.training.flat import Flat
from algophase.training.grid_tables import TableGradients, TableMaker, Tables


class Part:
    def __init__(self, task: TaskSettings, parameters: Flat, gradients: Flat, weights: Tensor, maker: TableMaker) -> None:
        """Parameters, their gradients and the pairs' weights (n, a, b): of these networks alone."""
        self.parameters, self.gradients, self.weights, self.maker = parameters, gradients, weights, maker
        self.count, p, heads = len(weights), task.modulus, parameters["O"].shape[1]
        width, hidden = parameters["IU"].shape[2], parameters["b_in"].shape[1]

        def zeros(*shape: int) -> Tensor:
            return parameters.flat.new_zeros(self.count, *shape)

        self.table_gradients = TableGradients(
            attention_1=zeros(heads, p, p),
            attention_2=zeros(heads, p, p) if task.equals_sign else None,
            tables=zeros(heads, 2 * p, width),
            base=zeros(1 if task.equals_sign else p, width),
            readout=zeros(hidden, width - hidden),
        )

    def backward_halves(self, tables: Tables) -> list[Callable[[], None]]:
        arguments = (self.parameters, tables, self.table_gradients, self.gradients)
        return [partial(self.maker.backward_inputs, *arguments), partial(self.maker.backward_projection, *arguments)]
