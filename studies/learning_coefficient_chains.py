"""Draw the chains behind two networks' local learning coefficients, at several settings: none of
them is a number to trust.

    python studies/learning_coefficient_chains.py    # docs/images/llc.png

It computes 9,000 gradients, which takes some minutes on a CPU.
"""

import math
from pathlib import Path

import numpy

from algophase import Sampling, learning_coefficients, load
from algophase.core.palette import VERDICTS
from algophase.pictures.style import house_style, new_figure
from algophase.reports.save_figure import save_figure

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "llc.png"
NETWORKS = {"Clock": "da98a6312948", "Pizza": "5ed1f0b86c80"}  # attention rates 0.89 and 0.25
PAIRS = 2784  # trained on
SETTINGS = {
    "$\\beta = 1/\\log n$, $\\gamma$ = 1000": Sampling(
        3, 60, 140, localization=1000.0, plateau=False
    ),
    "$\\beta = 1/\\log n$, $\\gamma$ = 300": Sampling(
        3, 150, 150, localization=300.0, plateau=False
    ),
    "$\\beta = 1/\\log n$, $\\gamma$ = 100": Sampling(
        3, 300, 200, localization=100.0, plateau=False
    ),
    "$n\\beta$ = 10, $\\gamma$ = 100, no burn-in": Sampling(
        3, 0, 500, localization=100.0, inverse_temperature=10 / PAIRS, plateau=False
    ),
}


def main() -> None:
    networks = [
        load(ROOT / "gallery" / "fixed-width" / "networks" / f"{name}.safetensors")
        for name in NETWORKS.values()
    ]
    with house_style():
        figure = new_figure(9.6, 2.8)
        for axes, (title, sampling) in zip(
            figure.subplots(1, len(SETTINGS), sharey=True), SETTINGS.items(), strict=True
        ):
            for verdict, coefficient in zip(
                NETWORKS, learning_coefficients(networks, sampling, device="cpu"), strict=True
            ):
                print(
                    f"{title}; {verdict}: {coefficient.value:.1f}, distance "
                    f"{coefficient.distance:.2f}; {'; '.join(coefficient.warnings)}",
                    flush=True,
                )
                label = f"{verdict}: λ {coefficient.value:.1f}"
                for number, chain in enumerate(coefficient.trace - coefficient.loss):
                    color = VERDICTS[verdict][0]
                    axes.plot(
                        chain,
                        color=color,
                        linewidth=0.7,
                        alpha=0.8,
                        label=label if number == 0 else None,
                    )
            axes.axvspan(0, sampling.burn_in, color="0.9", linewidth=0)
            axes.axhline(math.log(59), color="0.3", linewidth=0.8, linestyle=":")
            axes.set(title=title, xlabel="step")
            axes.set_yscale("symlog", linthresh=0.01)
            axes.legend(frameon=False, loc="best")
            axes.set_yticks([0, *10.0 ** numpy.arange(-2, 1)])
        figure.axes[0].set_ylabel("rise of the loss")
        save_figure(figure, PICTURE)


if __name__ == "__main__":
    main()
