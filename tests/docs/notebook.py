"""Run a notebook's code cells in order, as Jupyter would: `python notebook.py NOTEBOOK PICTURES`.

Each figure that is shown becomes a file in the directory PICTURES, and the value of a cell's last line is printed. It needs no
Jupyter, so neither do the tests.
"""

import ast
import json
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt


def code_cells(notebook: Path) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def run_cell(source: str, name: str, names: dict[str, Any]) -> None:
    tree = ast.parse(source, name)
    last = tree.body[-1]
    if isinstance(last, ast.Expr):
        tree.body.pop()
    exec(compile(tree, name, "exec"), names)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), name, "eval"), names)
        if value is not None:
            print(value)


def main(notebook: Path, pictures: Path) -> None:
    def show() -> None:
        for number in plt.get_fignums():
            plt.figure(number).savefig(pictures / f"{len(list(pictures.iterdir())) + 1}.png")
        plt.close("all")

    setattr(plt, "show", show)  # noqa: B010
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(code_cells(notebook), 1):
        run_cell("".join(cell["source"]), f"{notebook.name}, code cell {number}", names)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
