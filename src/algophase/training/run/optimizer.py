"""AdamW for many networks at once, each with its own learning rate, decay, betas and warm-up.

    theta <- theta (1 - r lambda);  m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2
    theta <- theta - r / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps)
    r = rate * min((t - 1) / warmup, 1)

with t counted from 1: the first update of a warmed-up network has rate zero. The step count lives
on the device, so that a whole epoch can be captured in a CUDA graph.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from algophase.core.settings import RunSettings, TrainingSettings
from algophase.core.threads import one_thread
from algophase.training.engines.flat import Flat


class AdamW:
    def __init__(
        self,
        parameters: Flat,
        runs: Sequence[RunSettings],
        *,
        fused: bool = False,
        two_launches: bool = False,
    ) -> None:
        """fused: one Triton kernel instead of torch operations; the same formula. two_launches: in
        `epoch` a second one for everything else, which otherwise takes about thirty."""
        self.fused, self.two_launches = fused, two_launches
        self.parameters = parameters.flat
        self.first_moment = torch.zeros_like(self.parameters)
        self.second_moment = torch.zeros_like(self.parameters)
        device = self.parameters.device
        self.alike: dict[TrainingSettings, list[int]] = {}
        for index, run in enumerate(runs):
            self.alike.setdefault(run.training, []).append(index)

        def column(name: str) -> Tensor:
            return torch.tensor(
                [[getattr(run.training, name)] for run in runs], dtype=torch.float64, device=device
            )

        self.rate, self.decay = column("learning_rate"), column("weight_decay")
        self.beta1, self.beta2, self.epsilon = column("beta1"), column("beta2"), column("epsilon")
        self.warmup = column("warmup_steps")
        self.steps = torch.zeros((), dtype=torch.float64, device=device)
        # 1 for a network in training, 0 for one that is frozen because it diverged.
        self.alive = torch.ones(len(runs), 1, dtype=torch.float64, device=device)
        self.settings = torch.cat(
            [self.rate, self.decay, self.beta1, self.beta2, self.epsilon, self.warmup], dim=1
        )
        self.held = torch.zeros(len(runs), 7, device=device)

    def coefficients(self) -> tuple[Tensor, Tensor, Tensor]:
        """Advance the step count; per network (n, 1): shrink factor, step size over 1 - b1^t,
        and 1 / sqrt(1 - b2^t).
        """
        warm = torch.where(
            self.warmup > 0, (self.steps / self.warmup.clamp_min(1)).clamp_max(1), 1.0
        )
        rate = self.rate * warm * self.alive
        self.steps += 1
        step_size = rate / (1 - self.beta1**self.steps)
        correction = torch.rsqrt(1 - self.beta2**self.steps)
        return 1 - rate * self.decay, step_size, correction

    @torch.no_grad()
    def epoch(self, gradients: Flat, loss: Tensor, diverged_at: Tensor) -> None:
        """A step that first freezes networks whose loss (n,) is not finite, and notes the step
        count in diverged_at (n,).
        """
        if self.two_launches:
            from algophase.training.kernels.adamw import adamw, coefficients

            coefficients(loss, self.settings, self.steps, self.alive, diverged_at, self.held)
            adamw(
                self.parameters,
                gradients.flat,
                self.first_moment,
                self.second_moment,
                self.held,
                self.steps,
                count=True,
            )
            return
        if loss.device.type == "cpu" and all(
            map(math.isfinite, loss.tolist())
        ):  # the usual case, in fewer operations
            self.step(gradients)
            return
        diverged = ~torch.isfinite(loss)
        diverged_at.copy_(torch.where(diverged & (diverged_at < 0), self.steps.long(), diverged_at))
        self.freeze(diverged)
        self.step(gradients)

    @torch.no_grad()
    def step(self, gradients: Flat) -> None:
        if self.fused:
            from algophase.training.kernels.adamw import adamw

            columns = [
                *self.coefficients(),
                1 - self.beta1,
                1 - self.beta2,
                self.epsilon,
                self.alive,
            ]
            averages = (self.first_moment, self.second_moment)
            adamw(
                self.parameters,
                gradients.flat,
                *averages,
                torch.cat(columns, dim=1).float(),
                self.steps,
            )
            return
        if self.parameters.device.type == "cpu":
            with one_thread():  # so that no bit depends on how many there are
                self._step_on_cpu(gradients.flat)
            return
        dtype = self.parameters.dtype
        shrink, step_size, correction = (value.to(dtype) for value in self.coefficients())
        gradient = gradients.flat
        self.first_moment.lerp_(gradient, (1 - self.beta1).to(dtype).expand_as(gradient))
        self.second_moment.mul_(self.beta2.to(dtype)).addcmul_(
            gradient, gradient * (1 - self.beta2).to(dtype)
        )
        denominator = self.second_moment.sqrt().mul_(correction).add_(self.epsilon.to(dtype))
        update = torch.div(self.first_moment, denominator, out=denominator).mul_(step_size)
        # A frozen network has step size 0, and 0 * inf would still poison it: leave its numbers as
        # they are.
        moved = torch.where(self.alive > 0, self.parameters * shrink - update, self.parameters)
        self.parameters.copy_(moved)

    def _step_on_cpu(self, gradient: Tensor) -> None:
        """PyTorch's own kernel for a CPU, one pass where the operations of `step` take a dozen;
        the same formula.
        """
        steps_made = float(self.steps)
        self.steps += 1
        alive = self.alive[:, 0].tolist()
        tensors = (self.parameters, gradient, self.first_moment, self.second_moment)
        rows = list(zip(*(tensor.unbind() for tensor in tensors), strict=True))
        for settings, members in self.alike.items():
            training = [rows[index] for index in members if alive[index]]
            if not training:
                continue
            warm = (
                min(steps_made / settings.warmup_steps, 1.0) if settings.warmup_steps > 0 else 1.0
            )
            parameters, gradients, first, second = map(list, zip(*training, strict=True))
            torch._fused_adamw_(
                parameters,
                gradients,
                first,
                second,
                [],
                [self.steps] * len(training),
                lr=settings.learning_rate * warm,
                beta1=settings.beta1,
                beta2=settings.beta2,
                weight_decay=settings.weight_decay,
                eps=settings.epsilon,
                amsgrad=False,
                maximize=False,
            )

    def freeze(self, diverged: Tensor) -> None:
        """Stop the networks marked in (n,) booleans."""
        self.alive.masked_fill_(diverged[:, None], 0.0)

    def state(self) -> dict[str, Tensor]:
        return {
            "first_moment": self.first_moment,
            "second_moment": self.second_moment,
            "steps": self.steps,
            "alive": self.alive,
        }
