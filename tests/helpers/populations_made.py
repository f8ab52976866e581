"""Populations of made-up runs that look like the paper's, for tests of comparisons."""

import numpy
import pandas


def made_runs(
    count: int, seed: int, *, shift: float = 0.0, circular: float = 0.4, **settings: object
) -> pandas.DataFrame:
    """Runs with a transition at rate 0.5 + shift, of which so many are circular; settings are
    columns of one value each.
    """
    generator = numpy.random.default_rng(seed)
    rate = generator.uniform(0, 1, count)
    beyond = rate - 0.5 - shift + generator.normal(0, 0.03, count)
    noise = generator.normal(size=(5, count))
    irrelevance = numpy.where(
        beyond < 0.08, 0.2 + 0.05 * numpy.abs(noise[1]), 0.7 + 0.05 * noise[1]
    )
    return pandas.DataFrame(
        {
            "run_id": [f"{seed}-{index}" for index in range(count)],
            "attention_rate": rate,
            "validation_accuracy": numpy.where(generator.uniform(size=count) < 0.98, 1.0, 0.7),
            "gradient_symmetricity": numpy.where(
                beyond < 0, 0.99 + 0.001 * noise[0], 0.97 - beyond.clip(0) + 0.03 * noise[0]
            ),
            "distance_irrelevance": irrelevance + 0.02,
            "distance_irrelevance_wrong_logit": irrelevance,
            "parameter_norm": 23 + rate + noise[2],
            "circularity": numpy.where(generator.uniform(size=count) < circular, 0.998, 0.97)
            + 0.0005 * noise[3],
            "kind": "transformer",
            "modulus": 59,
            "layers": 1,
            "width": 128,
            "activation": "relu",
            **settings,
        }
    )
