"""The wheel carries the gallery's tables, a Clock and a Pizza: an installed package has something
to analyze and to compare with. Other networks stay behind, and so do runs along training, but for
three tables: `algophase paper` reads those of two, and `emergence` is about nothing else."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The networks are those of `algophase.core.gallery.NETWORKS`; a test compares the two.
PATTERNS = (
    "runs.parquet",
    "clock-training/*/moments.parquet",
    "emergence/*/moments.parquet",
    "pizza-training/*/moments.parquet",
    "sweep.json",
    "exhibits.toml",
    "fixed-width/networks/5ed1f0b86c80.*",
    "fixed-width/networks/da98a6312948.*",
)


class GalleryTables(BuildHookInterface):  # type: ignore[misc]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        root = Path(self.root)
        for pattern in PATTERNS:
            for path in sorted((root / "gallery").rglob(pattern)):
                build_data["force_include"][str(path)] = (
                    f"algophase/{path.relative_to(root).as_posix()}"
                )
