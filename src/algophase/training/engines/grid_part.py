"""Some networks of a grid ensemble whose tables are made together: one network, or several so small
that each alone would mostly be overhead."""

from collections.abc import Callable
from functools import partial
from typing import Any

from algophase.core.settings import TaskSettings
from algophase.training.engines.flat import Flat
from algophase.training.engines.grid_tables import TableMaker, Tables, Terms


class Part:
    def __init__(
        self, task: TaskSettings, parameters: Flat, gradients: Flat, maker: TableMaker
    ) -> None:
        """Parameters and their gradients: of these networks alone."""
        self.parameters, self.gradients, self.maker = parameters, gradients, maker
        self.terms, self.d_terms = Terms.like(task, parameters), Terms.like(task, parameters)
        self.d_terms.coefficients.zero_()  # and it stays so at pairs that are not trained on

    def first_halves(self) -> list[Callable[[], Any]]:
        """What an epoch begins with, for two threads: the tables' halves, which `second_halves`
        makes terms of.
        """
        return [
            partial(half, self.parameters, self.terms)
            for half in (self.maker.attend, self.maker.project)
        ]

    def second_halves(self, tables: Tables) -> list[Callable[[], None]]:
        return [
            partial(half, tables, self.terms)
            for half in (self.maker.complete_first, self.maker.complete_second)
        ]

    def backward_halves(self, tables: Tables) -> list[Callable[[], None]]:
        arguments = (self.parameters, tables, self.d_terms, self.gradients)
        return [
            partial(self.maker.backward_inputs, *arguments),
            partial(self.maker.backward_projection, *arguments),
        ]
