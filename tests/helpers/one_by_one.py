"""The rounds of an analysis one by one, each awaited: program and instances without the metrics.
Networks in float64.
"""

from torch import Tensor

from algophase.analysis.circles.principal import PrincipalComponents
from algophase.analysis.logits.sums import LogitSums, launch_sums, read_sums
from algophase.analysis.program.instances import (
    Instances,
    candidates,
    grouped,
    launch_groups,
    read_circles,
    read_instances,
    stands_out,
)
from algophase.analysis.program.read import Program, program_of_sums
from algophase.networks import Network


def logit_sums(network: Network, first: Tensor, second: Tensor) -> LogitSums:
    """Of operand tables (n, p, width), with the means over (s, c)."""
    numbers = launch_sums(network, first, second, with_sums=True)
    return read_sums(numbers.numpy(), network.task.modulus, len(first), with_sums=True)


def program(network: Network) -> Program:
    first, second = network.operand_tables()
    return program_of_sums(logit_sums(network, first.detach()[None], second.detach()[None]))


def instances(network: Network, found: Program, components: PrincipalComponents) -> Instances:
    looked_at = candidates(found, components)
    alone = launch_groups(network, components, [[k] for k in looked_at])
    circles = read_circles(
        read_sums(alone.numpy(), found.modulus, 1 + len(looked_at)), looked_at, components
    )
    groups = grouped(found, circles, stands_out(components))
    sums = read_sums(
        launch_groups(network, components, groups, groups).numpy(),
        found.modulus,
        1 + 2 * len(groups),
    )
    return read_instances(found, components, circles, groups, sums, network.normalises)
