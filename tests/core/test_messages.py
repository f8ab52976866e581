import logging
import subprocess
import sys

from algophase.core.messages import listening

LOG = logging.getLogger("algophase.training.run.plan")


def test_messages_are_heard_meanwhile_and_the_level_is_put_back() -> None:
    logger, heard = logging.getLogger("algophase"), list[tuple[int, str]]()
    before = logger.level, list(logger.handlers)
    with listening(lambda level, text: heard.append((level, text))):
        LOG.info("%d networks", 3)
        LOG.warning("instead")
        LOG.debug("unheard")
    LOG.error("after")
    assert heard == [(logging.INFO, "3 networks"), (logging.WARNING, "instead")]
    assert (logger.level, list(logger.handlers)) == before


def test_a_python_program_sees_warnings_and_nothing_else() -> None:
    code = (
        "import torch; torch.cuda.is_available = lambda: False\n"
        "from algophase import RunSettings, TaskSettings, TrainingSettings, "
        "TransformerSettings, train\n"
        "train([RunSettings(TaskSettings(5), TransformerSettings(8), "
        "TrainingSettings(epochs=1))], device='cuda')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (
        "",
        "no GPU was found for device cuda: using the CPU instead\n",
    )
