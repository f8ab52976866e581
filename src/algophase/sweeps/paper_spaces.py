"""The paper's experiments as spaces. `paper_runs` counts runs with metrics in the released
table, where it has any.
"""

from algophase.core.settings import LINEAR_MODELS, LinearSettings
from algophase.sweeps.distributions import Distribution, Fixed, Uniform
from algophase.sweeps.spaces import Space

# Dense early, where the paper looks, and sparse later.
_ALONG = (100, 200, 300, 400, 600, 800, 1000, 1500, 2000, 3000, 5000, 10_000)
_RATE: dict[str, Distribution] = {"network.attention_rate": Uniform(0.0, 1.0)}

_SPACES = [
    Space(
        "fixed-width",
        _RATE,
        title="one layer, width 128, attention rate uniform in [0, 1]",
        runs=4000,
        figures=("onelayer", "metricvs", "noncirc", "noncirc2"),
        paper_runs=2385,
    ),
    Space(
        "varying-width",
        {"network.width": Uniform(32, 512, integer=True, logarithmic=True), **_RATE},
        title="one layer, width log-uniform in [32, 512], attention rate uniform in [0, 1]",
        runs=2000,
        figures=("variouswidth", "noncirc2"),
    ),
    *(
        Space(
            f"layers-{layers}",
            {"network.layers": Fixed(layers), **_RATE},
            title=f"{layers} layers, width 128, attention rate uniform in [0, 1]",
            runs=300,
            figures=("multilayers",),
            paper_runs=paper_runs,
        )
        for layers, paper_runs in ((2, 846), (3, 807), (4, 824))
    ),
    Space(
        "gelu",
        {"network.activation": Fixed("gelu"), **_RATE},
        title="one layer, width 128, GELU, attention rate uniform in [0, 1]",
        runs=500,
        figures=("gelu",),
    ),
    Space(
        "separate-vocabularies",
        {"task.separate_vocabularies": Fixed(True), **_RATE},
        title="one layer, width 128, an embedding for each operand, attention rate uniform in "
        "[0, 1]",
        runs=500,
        figures=("diff-vocab", "iso-diffemb"),
        paper_runs=460,
    ),
    Space(
        "equals-sign",
        {"task.equals_sign": Fixed(True), **_RATE},
        title="one layer, width 128, the answer read at an equals sign, attention rate uniform "
        "in [0, 1]",
        runs=500,
        figures=("eqn-sign",),
        paper_runs=461,
    ),
    *(
        Space(
            f"linear-{model}",
            {"network.model": Fixed(model)},
            kind=LinearSettings.kind,
            title=f"linear model {model}, width and hidden layer 256",
            runs=300,
            figures=("lineararchs",),
        )
        for model in LINEAR_MODELS
    ),
    Space(
        "wide",
        {"network.width": Fixed(1024), "network.attention_rate": Fixed(1.0)},
        title="one layer, width 1024, attention rate 1",
        runs=48,
        figures=("widepizza",),
    ),
    *(
        Space(
            name,
            {"network.attention_rate": Fixed(rate)},
            title=f"one layer, width 128, attention rate {rate:g}, followed along training",
            runs=256,
            figures=(figure,),
            snapshots=_ALONG,
        )
        for name, rate, figure in (
            ("clock-training", 1.0, "clock-training"),
            ("pizza-training", 0.0, "accompanying-pizza"),
        )
    ),
]
PAPER_SPACES = {space.name: space for space in _SPACES}
