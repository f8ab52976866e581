"""Imports point one way through the folders, and plotting stays in `report`, `explore` and `paper`."""

import ast
from pathlib import Path

import algophase

ROOT = Path(algophase.__file__).parent
ORDER = [
    "errors",
    "interrupts",
    "threads",
    "wording",
    "waves",
    "seeding",
    "settings",
    "task",
    "networks",
    "training",
    "analysis",
    "storage",
    "runs",
    "sweeps",
    "report",
    "explore",
    "interop",
    "paper",
    "cli_output",
    "cli_train",
    "cli_check",
    "cli_sweep",
    "cli_runs",
    "cli_retrain",
    "cli_compare",
    "cli_paper",
    "cli_report",
    "cli_explore",
    "cli",
    "__main__",
]


def imported(path: Path) -> list[str]:
    modules = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules.append(node.module or "")
    return modules


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def test_a_room_imports_only_earlier_rooms() -> None:
    for path in ROOT.rglob("*.py"):
        if path == ROOT / "__init__.py":
            continue
        for module in imported(path):
            parts = module.split(".")
            if parts[0] == "algophase" and len(parts) > 1:
                assert ORDER.index(parts[1]) <= ORDER.index(room(path)), f"{path} imports {module}"


def test_only_report_explore_and_paper_draw() -> None:
    for path in ROOT.rglob("*.py"):
        if room(path) not in ("report", "explore", "paper"):
            assert not any(module.startswith(("matplotlib", "plotly")) for module in imported(path)), path


def test_files_fit_in_one_sitting() -> None:
    for path in ROOT.rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 350, path
