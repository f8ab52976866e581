"""One network's analysis as text a person reads in a terminal: the verdict, why, its instances, its
program, the metrics.
"""

from collections.abc import Sequence

from algophase.pages.network_text import (
    GROUP_HEAD,
    INSTANCE_HEAD,
    NetworkText,
    Record,
    group_lines,
    group_rows,
    instance_rows,
    number,
    program_lines,
)
from algophase.pages.table import Table
from algophase.pages.text import accuracy_text, percent


def summary(network: NetworkText, name: str = "") -> str:
    """name: what to call the network, where its id does not say which one it is."""
    record = network.record
    title = f"{name or record['id']}: {network.headline}"
    lines = [title, "=" * len(title), *_listed(network.reasons)]
    if network.instances:
        lines += ["", *_instance_lines(network)]
    if "on_group" in record:
        return "\n".join([*lines, *_group_lines(network)])
    if network.has_verdict:
        program = program_lines(record["program"])
        lines += ["", *_paragraph("program", program), f"  {network.certainty}"]
    lines += ["", f"  by the paper's rules: {network.paper_title}"]
    lines += _listed(record["paper_reasons"])
    lines.append("")
    for row in network.metrics:
        which = f"   ({row.which})" if row.which else ""
        lines.append(f"  {row.name:<22} {row.value}{which}")
    lines += [f"  note: {caution}" for caution in record["cautions"]]
    if record["anatomy"] is not None:
        lines += ["", "  inside the linear network:", *_anatomy_lines(record["anatomy"])]
    return "\n".join(lines)


def _group_lines(network: NetworkText) -> list[str]:
    """What is said of a network on a group that is not cyclic."""
    group = network.record["on_group"]
    lines = []
    if group["instances"]:
        lines += ["", *Table(GROUP_HEAD, group_rows(group["instances"])).lines(indent=2)]
    lines += ["", *_paragraph("logits", group_lines(group)), f"  {network.certainty}", ""]
    lines += [f"  {row.name:<22} {row.value}" for row in network.metrics]
    return [*lines, *(f"  note: {caution}" for caution in network.record["cautions"])]


def _listed(reasons: Sequence[str]) -> list[str]:
    return [f"  - {reason}" for reason in reasons]


def _paragraph(name: str, lines: Sequence[str]) -> list[str]:
    """The name before the first line, the others below it."""
    first, *rest = lines
    return [f"  {name:<9} {first}", *(f"  {'':<9} {line}" for line in rest)]


def _instance_lines(network: NetworkText) -> list[str]:
    """The table of instances, with what they leave of the logits as its last line."""
    remainder = round(100 * network.remainder, 1)
    last = ["remainder", "", f"{remainder + 0.0:.1f}%", "", "", "", ""]  # + 0.0: no minus zero
    rows = [*instance_rows(network.instances), last]
    lines = Table(INSTANCE_HEAD, rows, numbers=(2, 3, 4, 5, 6)).lines(indent=2)
    if remainder < 0:
        lines[-1] += " (instances overlap)"
    return lines


def _anatomy_lines(anatomy: Record) -> list[str]:
    """What a linear network's layers do: its second ReLU, and the Pizzas that its unembedding
    reads.
    """
    lines = []
    relu = anatomy["second_relu"]
    if relu is not None:
        accuracy = accuracy_text(relu["accuracy"])
        without = accuracy_text(relu["accuracy_without"])
        loss = number(relu["cross_entropy"])
        loss_without = number(relu["cross_entropy_without"])
        lines.append(
            f"    without the second ReLU: accuracy {accuracy} -> {without}, "
            f"cross-entropy {loss:.3g} -> {loss_without:.3g}"
        )
    for pizza in anatomy["pizzas"]:
        readout = _readout_text(pizza["readouts"][0])
        lines.append(
            f"    circle {pizza['frequency']}: matches the unembedding, {pizza['rows']} hidden "
            f"units, readout {readout}"
        )
    unmatched = anatomy["unmatched_frequencies"]
    if unmatched:
        frequencies = ", ".join(map(str, unmatched))
        lines.append(f"    circles with another role, or not in the unembedding: {frequencies}")
    exclusive_share = anatomy["exclusive_share"]
    if exclusive_share is not None:
        lines.append(
            f"    {percent(exclusive_share)} of the hidden units in use read one of these circles "
            "alone"
        )
    return lines


def _readout_text(readout: Record) -> str:
    """A cos(2t + phase), what a Pizza reads off its circle (appendix L)."""
    amplitude = number(readout["amplitude"])
    phase = number(readout["phase"])
    sign = "+" if phase >= 0 else "-"
    explained = percent(readout["variance_explained"])
    return f"{amplitude:.2f} cos(2t {sign} {abs(phase):.2f}), {explained} of its variance"
