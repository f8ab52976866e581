"""Imports point one way through the folders and never in a circle, and plotting stays in
`pictures`, `reports`, `explore` and `paper`.
"""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import algophase

ROOT = Path(algophase.__file__).parent
ORDER = [
    "core",
    "record",
    "pictures",
    "pages",
    "networks",
    "training",
    "analysis",
    "certificates",
    "storage",
    "runs",
    "sweeps",
    "surveys",
    "reports",
    "explore",
    "interop",
    "paper",
    "cli",
    "__main__",
]


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All but what stands under `if TYPE_CHECKING`, which a running program does not import."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield child
            yield from statements(child)


def imported(path: Path, checked_types: bool = True) -> tuple[str, ...]:
    return imported_by(path.read_text(), checked_types)


@cache
def imported_by(code: str, checked_types: bool) -> tuple[str, ...]:
    tree = ast.parse(code)
    modules: list[str] = []
    for node in ast.walk(tree) if checked_types else statements(tree):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules += [f"{node.module}.{alias.name}" for alias in node.names]
    return tuple(modules)


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def test_a_room_imports_only_earlier_rooms() -> None:
    for path in ROOT.rglob("*.py"):
        for module in imported(path):
            parts = module.split(".")
            if parts[0] == "algophase" and parts[1] != "__version__":
                assert ORDER.index(parts[1]) <= ORDER.index(room(path)), f"{path} imports {module}"


def test_a_module_with_an_underscore_is_imported_by_its_own_folder_alone() -> None:
    for path in ROOT.rglob("*.py"):
        importer = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
        for module in imported(path):
            folder, underscore, _ = module.partition("._")
            if module.startswith("algophase.") and underscore and "__" not in module:
                assert importer.startswith(f"{folder}."), f"{path} imports {module}"


def graph(root: Path) -> dict[str, set[str]]:
    """The modules that each module of a package imports, anywhere in its file."""
    files = {
        ".".join(path.relative_to(root.parent).with_suffix("").parts): path
        for path in root.rglob("*.py")
    }
    files = {name.removesuffix(".__init__"): path for name, path in files.items()}
    return {
        name: {
            module if module in files else module.rpartition(".")[0]
            for module in imported(path, checked_types=False)
        }
        & files.keys()
        for name, path in files.items()
    }


def test_no_module_imports_itself_by_way_of_others() -> None:
    imports = graph(ROOT)
    list(TopologicalSorter(imports).static_order())


def test_a_circle_of_imports_is_found(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "first.py").write_text("from package.second import name\n")
    (package / "second.py").write_text("if TYPE_CHECKING:\n    from package.first import other\n")
    list(TopologicalSorter(graph(package)).static_order())
    (package / "second.py").write_text("def late():\n    from package import first\n")
    with pytest.raises(CycleError):
        list(TopologicalSorter(graph(package)).static_order())


def classes_tested(code: str) -> list[str]:
    """What code compares the class of a value with: by isinstance, issubclass, type(...) or a
    pattern.
    """
    names: list[str] = []
    for node in ast.walk(ast.parse(code)):
        tested: list[ast.expr] = []
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kinds]):
                tested = [kinds]
            case ast.Compare() if "type(" in ast.unparse(node):
                tested = [node.left, *node.comparators]
            case ast.MatchClass(cls=kind):
                tested = [kind]
        for kind in tested:
            names += [part.id for part in ast.walk(kind) if isinstance(part, ast.Name)]
    return names


def test_an_analysis_knows_no_architecture() -> None:
    """A network answers for its own: `jacobians`, `pair_logits`, `hidden_layer` and so on. Whether
    something is a network at all may be asked.
    """
    for path in (ROOT / "analysis").rglob("*.py"):
        modules = {module.rpartition(".")[2]: module for module in imported(path)}
        for name in classes_tested(path.read_text()):
            architecture = modules.get(name, "").startswith("algophase.networks")
            asked = architecture and name != "Network"
            assert not asked, f"{path} tests for {name}"
            assert not (name.endswith("Settings") and name in modules), f"{path} tests for {name}"


def test_a_test_for_an_architecture_is_found() -> None:
    assert classes_tested("isinstance(network, Linear | Clock)") == ["Linear", "Clock"]
    assert "Clock" in classes_tested("kind = type(network) in (Linear, Clock)")
    assert classes_tested("match network:\n    case Linear():\n        pass") == ["Linear"]
    assert not classes_tested("name = type(network).__name__")


def test_only_four_rooms_draw() -> None:
    for path in ROOT.rglob("*.py"):
        if room(path) not in ("pictures", "reports", "explore", "paper"):
            for module in imported(path):
                assert not module.startswith(("matplotlib", "plotly")), path


def test_no_room_imports_another_by_its_name_in_a_string() -> None:
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            function = ast.unparse(node.func).rpartition(".")[2]
            arguments = ", ".join(map(ast.unparse, node.args))
            if function in ("import_module", "__import__"):
                assert "algophase" not in arguments, path
