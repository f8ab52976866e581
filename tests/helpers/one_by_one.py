"""The stages of an analysis one by one, each awaited: program and instances without the metrics.
Networks in float64.
"""

from torch import Tensor

from algophase.analysis.circles.principal import PrincipalComponents, network_components
from algophase.analysis.device import in_float64
from algophase.analysis.logits.sums import LogitSums
from algophase.analysis.logits.sums import logit_sums as pending_sums
from algophase.analysis.program.adding import measure_adding
from algophase.analysis.program.instances import (
    Instances,
    candidates,
    circles_alone,
    grouped,
    isolate,
    isolated_tables,
    stands_out,
    weigh_instances,
)
from algophase.analysis.program.read import Program, program_of_sums
from algophase.analysis.verdict.decide import Findings, Verdict, decide, findings
from algophase.networks import Network


def logit_sums(network: Network, first: Tensor, second: Tensor) -> LogitSums:
    """Of operand tables (n, p, width), with the means over (s, c)."""
    return pending_sums(network, first, second, with_sums=True).get()


def program(network: Network) -> Program:
    first, second = network.operand_tables()
    return program_of_sums(logit_sums(network, first.detach()[None], second.detach()[None]))


def instances(network: Network, found: Program, components: PrincipalComponents) -> Instances:
    frequencies = candidates(found, components)
    sums_alone = isolate(network, components, [[k] for k in frequencies]).get()
    circles = circles_alone(sums_alone, frequencies, components)
    groups = grouped(found, circles, stands_out(components))
    sums = isolate(network, components, groups, groups).get()
    first, second = isolated_tables(network, components, groups)
    adding = measure_adding(network, first[1:], second[1:]).get()
    return weigh_instances(found, components, circles, groups, sums, adding, network.normalizes)


def found_in(network: Network) -> tuple[Instances, Findings]:
    network = in_float64(network)
    components, inside = network_components(network), program(network)
    found = instances(network, inside, components)
    return found, findings(inside, found)


def answer_of(network: Network) -> Verdict:
    return decide(found_in(network)[1])
