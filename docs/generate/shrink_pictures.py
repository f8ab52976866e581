"""Store the pictures of the docs with 256 colors each, so that a clone stays small.

    python docs/generate/shrink_pictures.py

Our pictures have few colors. A palette shows the same at a third of the size.
"""

from io import BytesIO
from pathlib import Path

from PIL import Image

DOCS = Path(__file__).parents[1]
COLORS = 256


def shrink(path: Path) -> int:
    """Write a picture with a palette if that is smaller. Returns the bytes saved."""
    before = path.stat().st_size
    picture = Image.open(path)
    if picture.mode == "P":
        return 0
    opaque = picture.convert("RGB")
    content = BytesIO()
    opaque.quantize(COLORS, dither=Image.Dither.NONE).save(content, "PNG", optimize=True)
    after = content.tell()
    if after >= before:
        return 0
    path.write_bytes(content.getvalue())
    return before - after


def main() -> None:
    saved = sum(shrink(path) for path in sorted(DOCS.rglob("*.png")))
    print(f"{saved / 1e6:.1f} MB saved")


if __name__ == "__main__":
    main()
