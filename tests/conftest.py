import os
from pathlib import Path

import pytest
import torch
from hypothesis import settings

# Without a GPU, kernels run in Triton's interpreter; it must be chosen before Triton is first imported.
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

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
