"""The wheel carries the gallery's tables: an installed package has populations to compare with. Networks stay behind."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TABLES = ("*.parquet", "sweep.json", "exhibits.toml")


class GalleryTables(BuildHookInterface):  # type: ignore[misc]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        root = Path(self.root)
        for pattern in TABLES:
            for path in sorted((root / "gallery").rglob(pattern)):
                build_data["force_include"][str(path)] = f"algophase/{path.relative_to(root).as_posix()}"
