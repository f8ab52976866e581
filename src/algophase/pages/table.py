"""One table for every place that prints one: a terminal, an HTML page, a Markdown file."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from algophase.pages.text import escaped

GAP = "  "  # between two columns of text


@dataclass(frozen=True)
class Link:
    """A cell that leads to a place on the same page. target: the id of that place."""

    target: str
    label: object

    def __str__(self) -> str:
        return str(self.label)


@dataclass(frozen=True)
class Table:
    """Rows of cells under a head. A cell is anything with a `str`, or a `Link`.

    columns: the head of each column. rows: as many cells in each as there are columns.
    numbers: the columns, counted from 0, that line up on the right.

    >>> table = Table(["network", "accuracy"], [["clock", "100%"], ["x", "9%"]], numbers=[1])
    >>> print(table.text())
    network  accuracy
    clock        100%
    x              9%
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    numbers: Collection[int] = ()

    def lines(self, indent: int = 0) -> list[str]:
        """Text for a terminal, line by line. Columns are as wide as their widest cell.

        Lines are never cut or wrapped, so that they can be searched in a log; this is why `rich`,
        which fits a table to the terminal, does not print them.
        """
        texts = [[str(cell) for cell in row] for row in (self.columns, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        return [" " * indent + text_line(row, widths, self.numbers) for row in texts]

    def text(self, indent: int = 0) -> str:
        return "\n".join(self.lines(indent))

    def html(self, label: str | None = None) -> str:
        """A table element, with every cell escaped.

        label: what a screen reader calls the table. With it, the table is a region of the page
            that scrolls by itself where it is too wide.
        """
        scope = "" if label is None else ' scope="col"'
        head = self._html_row(self.columns, "th", scope)
        body = "".join([self._html_row(row, "td") for row in self.rows])
        table = f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
        if label is None:
            return table
        region = f'class="table" tabindex="0" role="region" aria-label="{escaped(label)}"'
        return f"<div {region}>{table}</div>"

    def _html_row(self, row: Sequence[object], tag: str, attributes: str = "") -> str:
        cells = []
        for column, cell in enumerate(row):
            number = ' class="number"' if column in self.numbers else ""
            cells.append(f"<{tag}{attributes}{number}>{_html_cell(cell)}</{tag}>")
        return f"<tr>{''.join(cells)}</tr>"

    def markdown(self, rule: str = " --- ") -> str:
        """A Markdown table. rule: what stands under each head."""
        rules = "|".join([rule] * len(self.columns))
        lines = [_markdown_line(self.columns), f"|{rules}|"]
        lines += [_markdown_line(row) for row in self.rows]
        return "\n".join(lines)


def text_line(
    cells: Sequence[str], widths: Sequence[int], numbers: Collection[int] = (), gap: str = GAP
) -> str:
    """One line of a table of text; a longer cell than its width pushes the others to the right.

    For a table whose rows are printed as they come, before the widest is known.
    """
    padded = []
    for column, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        padded.append(cell.rjust(width) if column in numbers else cell.ljust(width))
    return gap.join(padded).rstrip()


def _html_cell(cell: object) -> str:
    if isinstance(cell, Link):
        return f'<a href="#{escaped(cell.target)}">{escaped(cell.label)}</a>'
    return escaped(cell)


def _markdown_line(row: Sequence[object]) -> str:
    cells = [str(cell).replace("|", "\\|") for cell in row]
    return f"| {' | '.join(cells)} |"
