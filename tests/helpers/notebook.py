"""Run a notebook's code cells in order, as Jupyter would. It needs no Jupyter, so neither do the
tests.

    python tests/helpers/notebook.py examples/quickstart.ipynb             runs it and writes its outputs into it
    python tests/helpers/notebook.py examples/quickstart.ipynb PICTURES    runs it and writes its pictures into a directory

Outputs are what a notebook shows: what is printed, figures at `plt.show()`, and the value of a
cell's last line.
"""

import ast
import base64
import contextlib
import hashlib
import io
import json
import pprint
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

Output = dict[str, Any]
DIGEST = "sources_sha256"  # in a notebook's metadata: of the code that its outputs come from


def read(notebook: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(notebook.read_text(encoding="utf-8"))
    return content


def code_cells(content: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in content["cells"] if cell["cell_type"] == "code"]


def digest(content: dict[str, Any]) -> str:
    """Changes when any code of the notebook does."""
    sources = ["".join(cell["source"]) for cell in code_cells(content)]
    return hashlib.sha256(json.dumps(sources).encode()).hexdigest()


def run_cell(source: str, name: str, names: dict[str, Any]) -> Any:
    """Run a cell and return the value of its last line, None where that is no expression."""
    tree = ast.parse(source, name)
    last = tree.body[-1]
    if isinstance(last, ast.Expr):
        tree.body.pop()
    exec(compile(tree, name, "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), name, "eval"), names)


def png_data(content: bytes) -> str:
    return base64.b64encode(content).decode()


def shown_value(value: Any) -> dict[str, Any]:
    """A value in every form that a notebook can show."""
    data: dict[str, Any] = {"text/plain": lines(pprint.pformat(value, sort_dicts=False))}
    html = (
        value._repr_html_() if hasattr(value, "_repr_html_") else None
    )  # None: a figure without a browser
    if html is not None:
        data["text/html"] = lines(html)
    if hasattr(value, "_repr_png_"):
        data["image/png"] = png_data(value._repr_png_())
    return data


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def execute(content: dict[str, Any], name: str) -> None:
    """Run all cells and put their outputs into them."""
    outputs: list[Output] = []

    def show() -> None:
        for number in plt.get_fignums():
            file = io.BytesIO()
            plt.figure(number).savefig(file, format="png", dpi=80)
            picture = {"image/png": png_data(file.getvalue()), "text/plain": ["<Figure>"]}
            outputs.append({"output_type": "display_data", "data": picture, "metadata": {}})
        plt.close("all")

    setattr(plt, "show", show)  # noqa: B010
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(code_cells(content), 1):
        outputs.clear()
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = run_cell("".join(cell["source"]), f"{name}, code cell {number}", names)
        if printed.getvalue():
            stream = {"output_type": "stream", "name": "stdout", "text": lines(printed.getvalue())}
            outputs.insert(0, stream)
        if value is not None:
            result = {"output_type": "execute_result", "execution_count": number, "metadata": {}}
            outputs.append({**result, "data": shown_value(value)})
        cell["outputs"] = list(outputs)
        cell["execution_count"] = number
    content["metadata"][DIGEST] = digest(content)


def pictures(content: dict[str, Any]) -> list[bytes]:
    """All pictures among the outputs of a notebook."""
    every = [output.get("data", {}) for cell in code_cells(content) for output in cell["outputs"]]
    return [base64.b64decode(data["image/png"]) for data in every if "image/png" in data]


def main(notebook: Path, directory: Path | None) -> None:
    content = read(notebook)
    execute(content, notebook.name)
    if directory is None:
        notebook.write_text(
            json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        return
    for number, picture in enumerate(pictures(content), 1):
        (directory / f"{number}.png").write_bytes(picture)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
