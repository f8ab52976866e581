"""The README of a network on the Hub: what it is, the verdict with its reasons, the metrics, and
how to load it.
"""

import re

from algophase.analysis.presentation import metric_rows
from algophase.analysis.result import Analysis
from algophase.core.errors import InputError
from algophase.core.settings import ClockSettings, LinearSettings, TransformerSettings
from algophase.core.wording import plural
from algophase.networks import Network
from algophase.pages.network_text import (
    CIRCLE_HEAD,
    GROUP_HEAD,
    INSTANCE_HEAD,
    circle_cells,
    group_rows,
    instance_rows,
)
from algophase.pages.table import Table
from algophase.storage.files import clean_id

PAPER = "https://arxiv.org/abs/2306.17844"
PICTURE_FILE = "correct_logits.png"
TAGS = ("algophase", "modular-addition", "mechanistic-interpretability")


def model_card(
    network: Network, analysis: Analysis, *, license: str | None = None, name: str | None = None
) -> str:
    """Markdown with the Hub's metadata on top. name: the repository's id, to load it by; by
    default a directory's path.
    """
    verdict, paper = analysis.verdict, analysis.paper.title
    record = analysis.to_dict()
    on_group = record.get("on_group")
    head = INSTANCE_HEAD
    instances = instance_rows(record["instances"])
    picture = "Correct logits by a - b and a + b"
    if on_group is not None:
        head = GROUP_HEAD
        instances = group_rows(on_group["instances"])
        picture = "Mean logits, with elements by cosets"
    summary = f"{_what(network)} Verdict of algophase: **{verdict.label}**: {verdict.headline}."
    if not on_group:
        summary += f" By the paper's rules: {paper}."
    lines = [*_metadata(analysis, license), f"# {clean_id(network.id)}: {verdict.label}", ""]
    lines += [summary, "", f"{verdict.confidence}.", ""]
    lines += [*(f"- {reason}" for reason in verdict.general), ""]
    if instances:
        lines.append(Table(head, instances).markdown())
    lines += ["", f"![{picture}]({PICTURE_FILE})", ""]
    metrics = Table(["metric", "value"], _metrics(analysis))
    lines += ["## Metrics", "", metrics.markdown(), ""]
    circles = [[str(circle["frequency"]), *circle_cells(circle)] for circle in record["circles"]]
    if circles:
        table = Table(["frequency", *CIRCLE_HEAD], circles)
        lines += ["## Circles in the embedding", "", table.markdown(), ""]
    repository = name or "path/to/this/directory"
    lines += [
        f"The metrics are those of [The Clock and the Pizza]({PAPER}) (Zhong, Liu, Tegmark and "
        "Andreas, 2023).",
        "",
        "## Load it",
        "",
        "```python",
        "import algophase",
        "",
        f'network = algophase.from_pretrained("{repository}")',
        "print(algophase.analyze(network))",
        "```",
        "",
        "The weights are in `model.safetensors`; `config.json` says what they are, with their "
        "checksum. Loading runs no code.",
    ]
    if network.run is not None:
        lines += ["", "## How it was trained", "", "```json", network.run.to_json(), "```"]
    return "\n".join(lines) + "\n"


def check_license(license: str | None) -> None:
    if license is not None and not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", license):
        raise InputError(
            f"license is {license!r}; give the Hub's name of one, such as mit, apache-2.0 or "
            "cc-by-4.0"
        )


def _metadata(analysis: Analysis, license: str | None) -> list[str]:
    check_license(license)
    chosen = [] if license is None else [f"license: {license}"]
    tags = [*TAGS, analysis.verdict.label.lower().replace(" ", "-")]
    return [
        "---",
        "library_name: algophase",
        *chosen,
        "tags:",
        *(f"- {tag}" for tag in tags),
        "---",
        "",
    ]


def _what(network: Network) -> str:
    settings, task = network.settings, network.task.described
    if isinstance(settings, TransformerSettings):
        layers = f"{settings.layers} {plural(settings.layers, 'layer')}"
        extras = [
            ("separate vocabularies", network.task.separate_vocabularies),
            ("an equals sign", network.task.equals_sign),
        ]
        written = "".join(f", {name}" for name, is_kept in extras if is_kept)
        return (
            f"A transformer for {task}: {layers}, width {settings.width}, {settings.heads} "
            f"heads, {settings.activation}, "
            f"attention rate {settings.attention_rate:g}{written}."
        )
    if isinstance(settings, LinearSettings):
        return (
            f"A linear model {settings.model} for {task}: width {settings.width}, "
            f"{settings.hidden} hidden units."
        )
    if isinstance(settings, ClockSettings):
        return (
            f"A Clock made by hand for {task}: frequencies "
            f"{', '.join(map(str, settings.frequencies))}."
        )
    return f"A network of kind {settings.kind} for {task}."


def _metrics(analysis: Analysis) -> list[list[str]]:
    rows = list[list[str]]()
    name = ""
    for row in metric_rows(analysis, every=True):
        name = row.name or name
        rows.append([f"{name}, {row.which}" if row.which else name, row.value])
    return rows
