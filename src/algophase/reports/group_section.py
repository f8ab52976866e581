"""The section of a page on a network on a group that is not cyclic: the group, its representations,
the instances, and what its logits are functions of.
"""

from algophase.analysis.presentation import group_program_panels
from algophase.analysis.program.by_representation import OnGroup
from algophase.analysis.result import Analysis
from algophase.analysis.specimen import Specimen
from algophase.pages.network_text import GROUP_HEAD, group_rows
from algophase.pages.table import Table
from algophase.pages.text import percent
from algophase.reports.group_panels import MOST_INSTANCES, instance_panels, whole_panels
from algophase.reports.page import Page, paragraph

GROUP_MEANING = {
    "adding": "It learned the group by adding: hidden units read a sum of a function of x and one "
    "of y, as a Pizza's do, and the layer above finds the product.",
    "multiplying": "It learned the group by multiplying: hidden units read products of both "
    "operands, as a Clock's do.",
    "hybrid": "It is a hybrid: some of its representations add, others multiply, and both "
    "contribute to its answers.",
    "lookup": "It answers every pair right, as a lookup table does: no representation works by "
    "itself.",
}
ABOUT_GROUP_INSTANCES = (
    "A network runs a few small algorithms side by side, one per irreducible representation that "
    "it uses. Share: the part of the network's logits that the instance accounts for. In tables: "
    "its share of the operand tables, of an MLP as hidden units read them. Without interactions: "
    "what is left of the logits that it writes alone when hidden units read only sums of a "
    "function of x and one of y. All is left of an instance that adds; one that multiplies loses "
    "its logits."
)
ABOUT_CLASSES = (
    "For a product xy = z, three changes of all three elements keep it true: (gx, y, gz), "
    "(xh⁻¹, hy, z) and (x, yk, zk). The logits fall into orthogonal classes by which of them "
    "leave a part unchanged. Bi-equivariant parts are functions of u = x⁻¹zy⁻¹, and characters "
    "are those that are constant on conjugacy classes."
)
ABOUT_MEANS = (
    "First, mean logits F(u) of u = x⁻¹zy⁻¹, by conjugacy class; the right answer is at the "
    "identity, and lines are class means. Then mean logits over each of the three changes. Rows "
    "and columns are ordered by the cosets of the subgroup that F follows best (white lines), so "
    "right answers are on the diagonal."
)
# What a class holds: itself and those with more conditions
CLASSES = {
    "bi_equivariant": "functions of x⁻¹zy⁻¹ (bi-equivariant)",
    "characters": "class functions of x⁻¹zy⁻¹ (characters)",
    "left": "functions of (y, x⁻¹z) (left)",
    "right": "functions of (x, zy⁻¹) (right)",
    "readout": "functions of (xy, z) (read-out)",
    "offsets": "functions of z alone (offsets)",
}


def group_sentence(on_group: OnGroup) -> str:
    """S5, a group of order 120 with 7 conjugacy classes."""
    name = f"{on_group.name}, a" if on_group.name else "A"
    return f"{name} group of order {on_group.order} with {on_group.classes} conjugacy classes."


def group_instance_table(analysis: Analysis) -> list[list[str]]:
    """The rows of a table of instances under `GROUP_HEAD`."""
    return group_rows(analysis.to_dict()["on_group"]["instances"])


def class_rows(on_group: OnGroup) -> list[list[str]]:
    """Shares of the logits by class, then the rest."""
    rows = [[words, percent(getattr(on_group.shares, name))] for name, words in CLASSES.items()]
    return [*rows, ["none of these (rest)", percent(on_group.shares.exclusive["rest"])]]


def add_group(page: Page, item: Specimen) -> None:
    """The group, its representations, the instances, the classes, and the logits."""
    analysis = item.analysis
    on_group = analysis.on_group
    assert on_group is not None
    page.heading(3, "Group")
    page.add(paragraph(group_sentence(on_group)))
    page.heading(3, "Instances")
    if on_group.instances:
        table = Table(GROUP_HEAD, group_instance_table(analysis), numbers=range(4, 9))
        page.add(paragraph(ABOUT_GROUP_INSTANCES), table.html("Instances of the network"))
    else:
        page.add(paragraph("No representation works by itself.", "note"))
    page.add(paragraph(f"{analysis.verdict.confidence}.", "note"))
    *representations, shares = group_program_panels(analysis)
    page.pictures(representations, "wide")
    page.heading(3, "What the logits are functions of")
    classes = Table(["class", "share of the logits"], class_rows(on_group), numbers=(1,))
    page.add(paragraph(ABOUT_CLASSES), classes.html("Classes of the logits"))
    page.pictures([shares], "wide")
    page.heading(3, "Mean logits")
    page.add(paragraph(ABOUT_MEANS))
    page.pictures(whole_panels(item), "wide")
    alone = instance_panels(item)
    if alone:
        page.heading(3, "Mean logits of each instance alone")
        page.pictures(alone, "wide")
    left = len(on_group.instances) - MOST_INSTANCES
    if left > 0:
        page.add(paragraph(f"{left} more instances are in the table but not drawn.", "note"))
