"""Optimizers for many networks at once, each network with its own settings. They take gradients of
any engine.

AdamW, with r the learning rate of a step and t the step, counted from 1:

    theta <- theta (1 - r lambda);  m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2
    theta <- theta - r / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps)
    r = rate * min((t - 1) / warmup, 1)

so the first update of a warmed-up network has rate zero. Muon, SGD, the cosine schedule, weight
decay for some of the epochs and the fixed norm: formulas in engines/plain.py. The step count lives
on the device, so that a whole epoch can be captured in a CUDA graph.
"""

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from algophase.core.settings import RunSettings, TrainingSettings
from algophase.core.threads import one_thread
from algophase.networks import template
from algophase.training.engines.engine import Engine, missing_triton
from algophase.training.engines.flat import Flat
from algophase.training.engines.plain import (
    as_matrix,
    from_matrix,
    is_hidden_matrix,
    learning_rate,
    orthogonalized,
    weight_decay,
)


class Optimizer:
    """What all optimizers share. The runs have one `TrainingSettings.method`."""

    def __init__(self, parameters: Flat, runs: Sequence[RunSettings]) -> None:
        self.parameters = parameters.flat
        device = self.parameters.device
        self.published = all(run.training.is_published_update for run in runs)

        def column(name: str) -> Tensor:
            values = [[getattr(run.training, name)] for run in runs]
            return torch.tensor(values, dtype=torch.float64, device=device)

        self.rate = column("learning_rate")
        self.decay = column("weight_decay")
        self.warmup = column("warmup_steps")
        self.epochs = column("epochs")
        self.momentum = column("momentum")
        self.decay_from = column("decay_from")
        self.decay_until = column("decay_until")
        self.fixed_norm = column("fixed_norm")
        is_cosine = [[run.training.schedule == "cosine"] for run in runs]
        self.is_cosine = torch.tensor(is_cosine, device=device)
        self.fixes_norms = any(run.training.fixed_norm > 0 for run in runs)
        self.steps = torch.zeros((), dtype=torch.float64, device=device)
        # 1 for a network in training, 0 for one that is frozen because it diverged.
        self.alive = torch.ones(len(runs), 1, dtype=torch.float64, device=device)

    def rates(self) -> Tensor:
        """The learning rate of the next step, (n, 1); 0 for a frozen network."""
        risen = (self.steps / self.warmup.clamp_min(1)).clamp_max(1)
        warm = torch.where(self.warmup > 0, risen, 1.0)
        rates = self.rate * warm * self.alive
        if self.published:
            return rates
        steps_after_warmup = (self.epochs - self.warmup).clamp_min(1)
        progress = (self.steps - self.warmup) / steps_after_warmup
        cosine = 0.5 * (1 + torch.cos(torch.pi * progress.clamp(0, 1)))
        return torch.where(self.is_cosine, rates * cosine, rates)

    def decays(self) -> Tensor:
        """The weight decay of the next step, (n, 1)."""
        if self.published:
            return self.decay
        has_begun = self.steps >= self.decay_from
        has_ended = (self.decay_until > 0) & (self.steps >= self.decay_until)
        return torch.where(has_begun & ~has_ended, self.decay, 0.0)

    @torch.no_grad()
    def epoch(self, gradients: Flat, loss: Tensor, diverged_at: Tensor) -> None:
        """A step that first freezes networks whose loss (n,) is not finite, and notes the step
        count in diverged_at (n,).
        """
        # all finite is the usual case, on a CPU in fewer operations
        is_finite = loss.device.type == "cpu" and all(map(math.isfinite, loss.tolist()))
        if not is_finite:
            diverged = ~torch.isfinite(loss)
            is_new = diverged & (diverged_at < 0)
            diverged_at.copy_(torch.where(is_new, self.steps.long(), diverged_at))
            self.freeze(diverged)
        self.step(gradients)
        if self.fixes_norms:
            self._scale_to_norms()

    def step(self, gradients: Flat) -> None:
        """Update the parameters of all networks that are not frozen."""
        raise NotImplementedError

    def _scale_to_norms(self) -> None:
        squares = self.parameters.double().square()
        norms = row_sums(squares).sqrt()[:, None]
        is_fixed = (self.fixed_norm > 0) & (self.alive > 0)
        factors = torch.where(is_fixed, self.fixed_norm / norms, 1.0)
        self.parameters.mul_(factors.to(self.parameters.dtype))

    def freeze(self, diverged: Tensor) -> None:
        """Stop the networks marked in (n,) booleans."""
        self.alive.masked_fill_(diverged[:, None], 0.0)

    def state(self) -> dict[str, Tensor]:
        """Every tensor that a step changes beside the parameters."""
        return {"steps": self.steps, "alive": self.alive}


def row_sums(rows: Tensor) -> Tensor:
    """(n,): each row's sum, halves added onto each other. On a GPU the order of `sum` depends on
    how many rows there are, and a network's numbers must not depend on its company."""
    while rows.shape[1] > 1:
        half = rows.shape[1] // 2
        folded = rows[:, :half] + rows[:, half : 2 * half]
        rows = torch.cat([folded, rows[:, 2 * half :]], 1)
    return rows[:, 0]


class AdamW(Optimizer):
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
        super().__init__(parameters, runs)
        self.fused, self.two_launches = fused, two_launches
        self.first_moment = torch.zeros_like(self.parameters)
        self.second_moment = torch.zeros_like(self.parameters)
        self.alike: dict[TrainingSettings, list[int]] = {}
        for index, run in enumerate(runs):
            self.alike.setdefault(run.training, []).append(index)
        rows = [[run.training.beta1, run.training.beta2, run.training.epsilon] for run in runs]
        constants = torch.tensor(rows, dtype=torch.float64, device=self.parameters.device)
        self.beta1, self.beta2, self.epsilon = constants.split(1, dim=1)
        self.settings = torch.cat([self.rate, self.decay, constants, self.warmup], dim=1)
        self.coefficient_columns = torch.zeros(len(runs), 7, device=self.parameters.device)

    def coefficients(self) -> tuple[Tensor, Tensor, Tensor]:
        """Advance the step count; per network (n, 1): shrink factor, step size over 1 - b1^t,
        and 1 / sqrt(1 - b2^t).
        """
        rate = self.rates()
        decay = self.decays()
        self.steps += 1
        step_size = rate / (1 - self.beta1**self.steps)
        correction = torch.rsqrt(1 - self.beta2**self.steps)
        return 1 - rate * decay, step_size, correction

    @torch.no_grad()
    def epoch(self, gradients: Flat, loss: Tensor, diverged_at: Tensor) -> None:
        if not self.two_launches:
            super().epoch(gradients, loss, diverged_at)
            return
        from algophase.training.kernels.adamw import adamw, coefficients

        columns = self.coefficient_columns
        coefficients(loss, self.settings, self.steps, self.alive, diverged_at, columns)
        averages = (self.first_moment, self.second_moment)
        adamw(self.parameters, gradients.flat, *averages, columns, self.steps, count=True)

    @torch.no_grad()
    def step(self, gradients: Flat) -> None:
        if self.fused:
            self._step_in_a_kernel(gradients.flat)
        elif self.parameters.device.type == "cpu":
            with one_thread():  # so that no bit depends on how many there are
                self._step_on_cpu(gradients.flat)
        else:
            self._step_in_torch(gradients.flat)

    def _step_in_a_kernel(self, gradient: Tensor) -> None:
        from algophase.training.kernels.adamw import adamw

        fresh = (1 - self.beta1, 1 - self.beta2)  # the share of a gradient in each average
        columns = [*self.coefficients(), *fresh, self.epsilon, self.alive]
        together = torch.cat(columns, dim=1).float()
        averages = (self.first_moment, self.second_moment)
        adamw(self.parameters, gradient, *averages, together, self.steps)

    def _step_in_torch(self, gradient: Tensor) -> None:
        dtype = self.parameters.dtype
        shrink, step_size, correction = (value.to(dtype) for value in self.coefficients())
        fresh = (1 - self.beta1).to(dtype).expand_as(gradient)
        self.first_moment.lerp_(gradient, fresh)
        fresh_square = gradient * (1 - self.beta2).to(dtype)
        self.second_moment.mul_(self.beta2.to(dtype)).addcmul_(gradient, fresh_square)
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
        steps_made = int(self.steps)
        self.steps += 1
        alive = self.alive[:, 0].tolist()
        tensors = (self.parameters, gradient, self.first_moment, self.second_moment)
        rows = list(zip(*(tensor.unbind() for tensor in tensors), strict=True))
        for settings, members in self.alike.items():
            training = [rows[index] for index in members if alive[index]]
            if not training:
                continue
            parameters, gradients, first, second = map(list, zip(*training, strict=True))
            torch._fused_adamw_(
                parameters,
                gradients,
                first,
                second,
                [],
                [self.steps] * len(training),
                lr=learning_rate(settings, steps_made),
                beta1=settings.beta1,
                beta2=settings.beta2,
                weight_decay=weight_decay(settings, steps_made),
                eps=settings.epsilon,
                amsgrad=False,
                maximize=False,
            )

    def state(self) -> dict[str, Tensor]:
        moments = {"first_moment": self.first_moment, "second_moment": self.second_moment}
        return {**moments, **super().state()}


class SGD(Optimizer):
    """Gradient descent with momentum; its weight decay is part of the gradient."""

    def __init__(self, parameters: Flat, runs: Sequence[RunSettings]) -> None:
        super().__init__(parameters, runs)
        self.average = torch.zeros_like(self.parameters)

    @torch.no_grad()
    def step(self, gradients: Flat) -> None:
        dtype = self.parameters.dtype
        rates = self.rates().to(dtype)
        decays = self.decays().to(dtype)
        self.steps += 1
        self.average.mul_(self.momentum.to(dtype))
        self.average.add_(gradients.flat + decays * self.parameters)
        moved = self.parameters - rates * self.average
        self.parameters.copy_(torch.where(self.alive > 0, moved, self.parameters))

    def state(self) -> dict[str, Tensor]:
        return {"average": self.average, **super().state()}


class Muon(AdamW):
    """Muon for hidden matrices, AdamW for all other parameters. Matrices of one shape are made
    orthogonal together, those of all networks and layers in one batch.

    AdamW moves the hidden matrices too, as part of the flat buffer; they are then set from what
    they were before.
    """

    def __init__(self, engine: Engine, runs: Sequence[RunSettings], *, fused: bool = False) -> None:
        super().__init__(engine.parameters, runs, fused=fused)
        self.engine = engine
        self.averages = engine.parameters.like()
        self.tall = set()  # names of matrices with more rows than columns
        sizes: dict[str, list[float]] = {}
        for name, weights in self._hidden(engine.parameters).items():
            sizes[name] = []
            _, rows, columns = as_matrix(name, weights).shape
            if rows > columns:
                self.tall.add(name)
        for run in runs:  # by a network's own shape, not by the one it is padded to
            own = dict(template(run.task, run.network).named_parameters())
            for name, of_networks in sizes.items():
                longest = max(as_matrix(name, own[name]).shape)
                of_networks.append(0.2 * math.sqrt(longest))
        self.sizes = {
            name: torch.tensor(of_networks, dtype=torch.float64, device=engine.device)[:, None]
            for name, of_networks in sizes.items()
        }

    def _hidden(self, values: Flat) -> dict[str, Tensor]:
        """The hidden matrices under the specification's names, (n, *shape)."""
        exported = self.engine.export(values)
        return {
            name: value
            for name, value in exported.items()
            if is_hidden_matrix(name, value.ndim - 1)
        }

    @torch.no_grad()
    def step(self, gradients: Flat) -> None:
        dtype = self.parameters.dtype
        hidden = self._hidden(self.engine.parameters)
        at_start = {name: value.clone() for name, value in hidden.items()}
        rates = self.rates()
        shrink = 1 - rates * self.decays()
        fresh = (1 - self.momentum).to(dtype)
        self.averages.flat.lerp_(gradients.flat, fresh.expand_as(gradients.flat))
        super().step(gradients)
        moved = {}
        for name, update in self._updates(gradients):
            axes = [1] * (update.ndim - 1)
            factor = (rates * self.sizes[name]).to(dtype).view(-1, *axes)
            kept = at_start[name] * shrink.to(dtype).view(-1, *axes)
            is_alive = (self.alive > 0).view(-1, *axes)
            moved[name] = torch.where(is_alive, kept - factor * update, at_start[name])
        self.engine.overwrite(moved)

    def _updates(self, gradients: Flat) -> Iterator[tuple[str, Tensor]]:
        """The orthogonal update of each hidden matrix, (n, *shape)."""
        averages = self._hidden(self.averages)
        momentum = self.momentum.to(self.parameters.dtype)
        own_gradients = self._hidden(gradients)
        by_shape: dict[tuple[int, ...], dict[str, Tensor]] = {}
        for name, gradient in own_gradients.items():
            axes = [1] * (gradient.ndim - 1)
            of_average = momentum.view(-1, *axes).expand_as(gradient)
            ahead = as_matrix(name, gradient.lerp(averages[name], of_average))
            wide = ahead.mT if name in self.tall else ahead
            by_shape.setdefault(tuple(wide.shape[1:]), {})[name] = wide
        for matrices in by_shape.values():
            together = orthogonalized(torch.cat(list(matrices.values())))
            for name, wide in zip(matrices, together.chunk(len(matrices)), strict=True):
                update = wide.mT if name in self.tall else wide
                yield name, from_matrix(name, update, own_gradients[name].shape)

    def state(self) -> dict[str, Tensor]:
        return {"averages": self.averages.flat, **super().state()}


def make_optimizer(engine: Engine, runs: Sequence[RunSettings]) -> Optimizer:
    """The optimizer of an ensemble, with kernels of ours where they take its updates."""
    on_gpu = engine.device.type == "cuda"
    has_kernel = on_gpu and engine.dtype == torch.float32 and missing_triton() is None
    name = runs[0].training.optimizer
    if name == "muon":
        return Muon(engine, runs, fused=has_kernel)
    if name == "sgd":
        return SGD(engine.parameters, runs)
    published = all(run.training.is_published_update for run in runs)
    # other engines' bits stay as they were
    two_launches = has_kernel and engine.precision == "half" and published
    return AdamW(engine.parameters, runs, fused=has_kernel, two_launches=two_launches)
