# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Follows a few physical parameters of each environment: an extended Kalman filter whose measurement is one control
step.

State, control and what was measured after the step are compared with what the model predicts. Derivatives of the
prediction are differences: one batch of the model's step holds the specification's robot, the estimated one and one
with each number moved. With ``y`` the velocities that are missing, in units of the model's usual error, and ``H`` their
derivatives::

    C <- min(C + Q, C0)            what may have changed since the last look, never more than before the first
    W  = w / r                     r: inflation; w = min(1, outlier / |y|), which keeps an impact from deciding
    C <- inverse(inverse(C) + H' W H)
    x <- clamp(x + C H' W y)

An estimate is used only while it predicts better than the specification does, both judged on steps that neither has
seen (:attr:`AdaptCfg.evidence`). One that has predicted worse is thrown away.

Example::

    follower = Follower(predictor, AdaptCfg(("payload", "friction")), num_envs=64, ground=ground)
    follower.look(state, control, measured)
    parameters, control = follower.parameters(control)
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..contact.grounds import Ground
from ..predictor.predictor import Predictor
from ..robot.physical_parameters import PhysicalParameters
from .config import AdaptCfg
from .directions import Directions

LEAST_ERROR = 1.0e-4
"""Smallest usual error of a velocity [m/s or rad/s]: below it a model is right."""

LEAST_SHARE = 0.05
"""Smallest usual error of a velocity as a share of that of all."""

USUAL = 0.8
"""Share of the errors that the usual one stays above; normal errors do so at 1.28 standard deviations."""

USUAL_DEVIATIONS = 1.2816

LEAST_AT_ONCE = 32
"""Environments that are looked at together where there are so many: fewer take as long."""

MOST_GAIN = 1.0
"""What is kept of how much better an estimate was: an old success does not speak for it for long."""

SURPRISE_SECONDS, SURPRISING, ATTENTIVE = 0.2, 2.0, 1.3
"""Over how long errors are called surprising [s], how many times the usual ones they are then, and from how many on an
environment is followed in each of its looks."""

ATTENTION_SECONDS = 3.0
"""How long an environment that was surprising is followed in each of its looks [s]."""


class Follower:
    """Estimates for many environments. Nothing of it looks at more than one step."""

    def __init__(self, predictor: Predictor, cfg: AdaptCfg, num_envs: int, ground: Ground | None = None):
        """Begins with the specification.

        Args:
            predictor: The model; its history, if it has one, is not asked.
            cfg: Settings.
            num_envs: Number of environments (N).
            ground: What the robots stand on. None only if the model sees no contacts.
        """
        self.predictor, self.cfg, self.num_envs, self.ground = predictor, cfg, num_envs, ground
        self.directions = Directions(predictor, cfg.words)
        at = predictor.spec.state
        columns = [*range(at.dim)]
        self._velocities = (
            [*columns[at.root_lin_vel], *columns[at.root_ang_vel]] if predictor.spec.floating_base else []
        ) + columns[at.joint_vel]
        self._dt = predictor.spec.control_dt * cfg.every
        device, dim = predictor.device, self.directions.dim
        self.numbers = torch.zeros(num_envs, dim, device=device)
        """The estimates, shape (N, P)."""
        self.covariance = torch.zeros(num_envs, dim, dim, device=device)
        """Their covariances, shape (N, P, P)."""
        self.gain = torch.zeros(num_envs, device=device)
        """By how much the estimate has predicted better than the specification lately, shape (N,)."""
        self.used = torch.zeros(num_envs, dtype=torch.bool, device=device)
        """Whether an estimate is used, shape (N,)."""
        self.looks = 0
        """Looks so far, those of all environments in a turn counted as one."""
        self.rejected = torch.zeros(num_envs, dtype=torch.int64, device=device)
        """How often an estimate was thrown away, shape (N,)."""
        self.usual: Tensor | None = None
        """The model's usual error of each velocity, shape (V,); None until it is known."""
        self.surprise = torch.zeros(num_envs, device=device)
        """How badly the estimate has predicted in the last tenths of a second, shape (N,), one as usual."""
        self.attention = torch.zeros(num_envs, device=device)
        """For how long an environment is still followed in each of its looks [s], shape (N,)."""
        self._level = 1.0
        self._seen: list[Tensor] = []
        self._step = 0
        self.forget()

    def forget(self, env_ids: Tensor | slice | None = None) -> None:
        """Begins anew with the specification, where robots were made anew.

        Args:
            env_ids: Indices or a mask of the environments; None for all.
        """
        which = slice(None) if env_ids is None else env_ids
        self.numbers[which] = 0.0
        self.covariance[which] = self.cfg.doubt**2 * torch.eye(self.directions.dim, device=self.numbers.device)
        self.gain[which] = 0.0
        self.surprise[which] = 1.0
        self.attention[which] = 0.0
        self.used[which] = False

    @property
    def estimate(self) -> Tensor:
        """What is used: the numbers, zero where the specification is trusted more, shape (N, P)."""
        return torch.where(self.used[:, None], self.numbers, 0.0)

    def parameters(self, control: Tensor) -> tuple[PhysicalParameters | None, Tensor]:
        """Physical parameters of all environments, None where all are the specification's, and what arrives of their
        controls.

        Args:
            control: Controls, shape (N, C).
        """
        return self.directions(self.estimate, control) if bool(self.used.any()) else (None, control)

    @torch.no_grad()
    def look(self, state: Tensor, control: Tensor, measured: Tensor) -> None:
        """Looks at one control step of those environments whose turn it is.

        Args:
            state: States before the step, shape (N, S).
            control: Controls held over it, shape (N, C).
            measured: States after it, shape (N, S). The two belong to the same motion: no reset lies between.
        """
        turn = self._step % self.cfg.every
        self._step += 1
        self.looks += turn == 0
        turns = min(self.cfg.every, -(-self.num_envs // LEAST_AT_ONCE))
        if turn < turns:
            rows = torch.arange(turn, self.num_envs, turns, device=self.numbers.device)
            self._look(rows, state[rows], control[rows], measured[rows])

    def _look(self, rows: Tensor, state: Tensor, control: Tensor, measured: Tensor) -> None:
        """One look at some environments: at all of them with the specification and the estimate, and at those that are
        followed in this look with each number moved, too.
        """
        numbers, everyone = self.numbers[rows], torch.arange(len(rows), device=rows.device)
        if self.usual is None:
            missing = measured[:, self._velocities] - self._velocity_after(rows, state, control, everyone, numbers)
            self._learn_usual(missing[missing.isfinite().all(-1)])
            return
        followed = self._followed(rows)
        steps = self._steps_from(numbers[followed])  # (F, P)
        moved = numbers[followed] + torch.diag_embed(steps).transpose(0, 1)  # (P, F, P): the p-th number is moved
        which = torch.cat((everyone, everyone, followed.repeat(len(moved))))
        tried = torch.cat((torch.zeros_like(numbers), numbers, moved.flatten(0, 1)))
        said = self._velocity_after(rows, state, control, which, tried)
        missing = (measured[which][:, self._velocities] - said) / self.usual
        nominal, own, beside = missing.split([len(rows), len(rows), len(which) - 2 * len(rows)])
        beside = beside.unflatten(0, (len(moved), -1))  # (P, F, V)
        sane = (nominal.isfinite() & own.isfinite()).all(-1)
        sane[followed] &= beside.isfinite().all(-1).all(0)
        nominal, own = (torch.where(sane[:, None], each, 0.0) for each in (nominal, own))
        slope = torch.where(sane[followed, None], (own[followed] - beside).nan_to_num() / steps.t()[..., None], 0.0)
        self._follow(rows, followed, own[followed], slope.permute(1, 2, 0), sane[followed])
        self._judge(rows, nominal, own, sane)

    def _followed(self, rows: Tensor) -> Tensor:
        """Places among some environments of those whose numbers are followed in this look, shape (F,): those that
        surprise or have done so lately, and of the calm ones those whose turn it is.
        """
        turn = (rows + self.looks) % self.cfg.calm == 0
        return torch.nonzero(turn | (self.surprise[rows] > ATTENTIVE) | (self.attention[rows] > 0.0))[:, 0]

    def _steps_from(self, numbers: Tensor) -> Tensor:
        """How far numbers are moved for differences, away from the end of their range, shape (F, P)."""
        steps = self.directions.steps
        return torch.where(numbers + steps > self.directions.upper, -steps, steps)

    def _follow(self, rows: Tensor, followed: Tensor, own: Tensor, slope: Tensor, sane: Tensor) -> None:
        """Brings the numbers of the followed environments nearer to what was measured; time passes for all.

        Args:
            rows: All that are looked at, shape (M,).
            followed: Places of the followed ones among them, shape (F,).
            own: Errors of their estimates, in usual ones, shape (F, V).
            slope: How predictions change with the numbers, shape (F, V, P).
            sane: Where all of that is finite, shape (F,).
        """
        eye = torch.eye(self.directions.dim, device=own.device)
        self.covariance[rows] = self._wandered(rows, eye)
        chosen = rows[followed]
        weight = (self.cfg.outlier / own.abs().clamp(min=self.cfg.outlier)) / self.cfg.inflation**2
        weighted = slope.transpose(1, 2) * weight[:, None]
        covariance = torch.linalg.inv(torch.linalg.inv(self.covariance[chosen]) + weighted @ slope)
        covariance = 0.5 * (covariance + covariance.transpose(1, 2))
        change = (covariance @ (weighted @ own[..., None]))[..., 0]
        numbers = (self.numbers[chosen] + change).clamp(self.directions.lower, self.directions.upper)
        self.numbers[chosen] = torch.where(sane[:, None], numbers, self.numbers[chosen])
        self.covariance[chosen] = covariance

    def _wandered(self, rows: Tensor, eye: Tensor) -> Tensor:
        """Covariances after the time between two looks, none larger than at first."""
        wander = torch.where(self.surprise[rows] > SURPRISING, self.cfg.leap, self.cfg.wander)
        grown = self.covariance[rows] + (wander.square() * self._dt)[:, None, None] * eye
        size = grown.diagonal(dim1=1, dim2=2) / self.cfg.doubt**2
        shrink = size.clamp(min=1.0).rsqrt()
        return grown * shrink[:, :, None] * shrink[:, None, :]

    def _judge(self, rows: Tensor, nominal: Tensor, own: Tensor, sane: Tensor) -> None:
        """Decides which estimates are used; those that have predicted worse for long are thrown away."""
        share, loss = min(1.0, self._dt / self.cfg.memory), _robust(own, self.cfg.outlier).mean(-1)
        better = _robust(nominal, self.cfg.outlier).mean(-1) - loss
        short = min(1.0, self._dt / SURPRISE_SECONDS)
        surprise = (1.0 - short) * self.surprise[rows] + short * loss / self._level
        self.surprise[rows] = torch.where(sane, surprise, self.surprise[rows])
        left = (self.attention[rows] - self._dt).clamp(min=0.0)
        self.attention[rows] = torch.where(self.surprise[rows] > SURPRISING, ATTENTION_SECONDS, left)
        gain = torch.where(sane, (1.0 - share) * self.gain[rows] + share * better, self.gain[rows])
        gain = gain.clamp(max=MOST_GAIN)
        self.gain[rows] = gain
        self.used[rows] = gain > torch.where(self.used[rows], 0.5, 1.0) * self.cfg.evidence
        worse = rows[gain < -self.cfg.evidence]
        if len(worse):
            self.forget(worse)
            self.rejected[worse] += 1

    def _learn_usual(self, missing: Tensor) -> None:
        """Takes the usual error from the first looks."""
        self._seen.append(missing.abs())
        if self.looks < self.cfg.settle:
            return
        seen = torch.cat(self._seen)
        self._seen = []
        if not len(seen):
            return
        usual = seen.quantile(USUAL, dim=0) / USUAL_DEVIATIONS
        self.usual = usual.clamp(min=max(LEAST_ERROR, LEAST_SHARE * float(usual.mean())))
        self._level = float(_robust(seen / self.usual, self.cfg.outlier).mean())

    def _velocity_after(self, rows: Tensor, state: Tensor, control: Tensor, which: Tensor, tried: Tensor) -> Tensor:
        """Velocities after a step of robots with some numbers, shape (B, V).

        Args:
            rows: Environments, shape (M,).
            state: Their states, shape (M, S).
            control: Their controls, shape (M, C).
            which: Place among them of each robot that is tried, shape (B,).
            tried: Its numbers, shape (B, P).
        """
        contacts = self.predictor.contacts(state, self.ground, rows)
        touching = None if contacts is None else contacts.map(lambda each: each[which])
        parameters, controls = self.directions(tried, control[which])
        prediction, _ = self.predictor.extend(state[which], controls, touching, None, parameters)
        return self.predictor.next_state(state[which], prediction)[:, self._velocities]


def _robust(missing: Tensor, limit: float) -> Tensor:
    """Half the squares of errors, and straight lines beyond a limit."""
    size = missing.abs()
    return torch.where(size < limit, 0.5 * size.square(), limit * (size - 0.5 * limit))


__all__ = ["Follower"]
