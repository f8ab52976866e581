from pathlib import Path

import pytest
from hypothesis import settings

# Examples are drawn the same way every time, so a failure in CI is a failure here.
settings.register_profile("house", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("house")

RELEASED = Path(__file__).resolve().parents[2] / "shared" / "paper" / "released"


@pytest.fixture(scope="session")
def released() -> Path:
    """The authors' released networks, which are not part of this project."""
    if not RELEASED.is_dir():
        pytest.skip(f"the authors' released networks are not at {RELEASED}")
    return RELEASED
