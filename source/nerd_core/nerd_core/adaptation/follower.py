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

LEAST_AT_ONCE = 64
"""Environments that are looked at together where there are so many to look at: fewer take as long."""

BATCH = 64
"""What a batch of the model's steps costs beside its rows, in rows: measured for ANYmal on a processor."""

MOST_SHARE = 0.2
"""Largest share that one look has in the judgement of an estimate, however long the last one is ago."""

MOST_GAIN = 1.0
"""What is kept of how much better an estimate was: an old success does not speak for it for long."""

SURPRISE_SECONDS, SURPRISING, ATTENTIVE = 0.2, 2.0, 1.3
"""Over how long errors are called surprising [s], how many times the usual ones they are then, and from how many on an
environment is looked at before others."""

ATTENTION_SECONDS = 3.0
"""How long an environment that was surprising is looked at before others [s]."""

FIRST = 4.0
"""How many times longer a calm environment waits than one that surprises."""


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
        self._dt = predictor.spec.control_dt
        device, dim = predictor.device, self.directions.dim
        self.numbers = torch.zeros(num_envs, dim, device=device)
        """The estimates, shape (N, P)."""
        self.covariance = torch.zeros(num_envs, dim, dim, device=device)
        """Their covariances, shape (N, P, P)."""
        self.gain = torch.zeros(num_envs, device=device)
        """By how much the estimate has predicted better than the specification lately, shape (N,)."""
        self.used = torch.zeros(num_envs, dtype=torch.bool, device=device)
        """Whether an estimate is used, shape (N,)."""
        self.looks = torch.zeros(num_envs, dtype=torch.int64, device=device)
        """How often each environment was looked at, shape (N,)."""
        self.rejected = torch.zeros(num_envs, dtype=torch.int64, device=device)
        """How often an estimate was thrown away, shape (N,)."""
        self.usual: Tensor | None = None
        """The model's usual error of each velocity, shape (V,); None until it is known."""
        self.surprise = torch.zeros(num_envs, device=device)
        """How badly the estimate has predicted in the last tenths of a second, shape (N,), one as usual."""
        self.attention = torch.zeros(num_envs, device=device)
        """For how long an environment is still looked at before others [s], shape (N,)."""
        self._waited = torch.zeros(num_envs, device=device)
        """Control steps since the last look at each environment, shape (N,)."""
        self._credit = 0.0
        """Steps of the model that looks may take now."""
        self._level = 1.0
        self._seen: list[Tensor] = []
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
    def look(self, state: Tensor, control: Tensor, measured: Tensor, predicted: Tensor | None = None) -> None:
        """Takes in one control step: notices which environments surprise, and looks at as many as the budget allows.

        Args:
            state: States before the step, shape (N, S).
            control: Controls held over it, shape (N, C).
            measured: States after it, shape (N, S). The two belong to the same motion: no reset lies between.
            predicted: What the model said of the step with the estimates in use, shape (N, S), where somebody has asked
                it; None to ask it here.
        """
        everyone = torch.arange(self.num_envs, device=self.numbers.device)
        if predicted is None:
            said = self._velocity_after(everyone, state, control, everyone, self.estimate)
        else:
            said = predicted[:, self._velocities]
        missing = measured[:, self._velocities] - said
        if self.usual is None:
            self._learn_usual(missing[missing.isfinite().all(-1)])
            return
        self._notice(missing / self.usual)
        self._waited += 1.0
        rows = self._whose_turn()
        if len(rows):
            self._look(rows, state[rows], control[rows], measured[rows])
            self.looks[rows] += 1
            self._waited[rows] = 0.0

    def _notice(self, missing: Tensor) -> None:
        """Follows how surprising each environment is, by errors in usual ones, shape (N, V)."""
        sane = missing.isfinite().all(-1)
        loss = _robust(torch.where(sane[:, None], missing, 0.0), self.cfg.outlier).mean(-1)
        short = min(1.0, self._dt / SURPRISE_SECONDS)
        surprise = (1.0 - short) * self.surprise + short * loss / self._level
        self.surprise = torch.where(sane, surprise, self.surprise)
        left = (self.attention - self._dt).clamp(min=0.0)
        self.attention = torch.where(self.surprise > SURPRISING, ATTENTION_SECONDS, left)

    def _whose_turn(self) -> Tensor:
        """Environments to look at now, shape (M,): those that have waited longest, those that surprise before others;
        none while the budget does not allow a batch that is worth it.
        """
        each, everyone = 2 + self.directions.dim, BATCH + self.num_envs * (2 + self.directions.dim)
        self._credit = min(self._credit + self.cfg.budget * self.num_envs, everyone)
        waiting = self._waited >= self.cfg.every
        surprises = waiting & ((self.surprise > ATTENTIVE) | (self.attention > 0.0))
        urgent, ready = int(surprises.sum()), int(waiting.sum())
        affordable = int((self._credit - BATCH) // each)
        if affordable < max(1, min(LEAST_AT_ONCE, urgent or ready)) or not ready:
            return waiting.nonzero()[:0, 0]
        patience = torch.where(waiting, self._waited * torch.where(surprises, FIRST, 1.0), -1.0)
        rows = patience.argsort(descending=True, stable=True)[: min(affordable, ready)]
        self._credit -= BATCH + each * len(rows)
        return rows

    def _look(self, rows: Tensor, state: Tensor, control: Tensor, measured: Tensor) -> None:
        """One look at some environments: with the specification, the estimate, and each number moved."""
        assert self.usual is not None
        numbers, everyone = self.numbers[rows], torch.arange(len(rows), device=rows.device)
        steps = self._steps_from(numbers)  # (M, P)
        moved = numbers + torch.diag_embed(steps).transpose(0, 1)  # (P, M, P): the p-th number is moved
        which = everyone.repeat(2 + len(moved))
        tried = torch.cat((torch.zeros_like(numbers), numbers, moved.flatten(0, 1)))
        said = self._velocity_after(rows, state, control, which, tried).unflatten(0, (-1, len(rows)))
        missing = (measured[:, self._velocities] - said) / self.usual
        sane = missing.isfinite().all(-1).all(0)
        missing = torch.where(sane[:, None], missing, 0.0)
        nominal, own, beside = missing[0], missing[1], missing[2:]  # (M, V), (M, V), (P, M, V)
        slope = (own - beside) / steps.t()[..., None]
        waited = self._dt * self._waited[rows]
        self._follow(rows, own, slope.permute(1, 2, 0), sane, waited)
        self._judge(rows, nominal, own, sane, waited)

    def _steps_from(self, numbers: Tensor) -> Tensor:
        """How far numbers are moved for differences, away from the end of their range, shape (F, P)."""
        steps = self.directions.steps
        return torch.where(numbers + steps > self.directions.upper, -steps, steps)

    def _follow(self, rows: Tensor, own: Tensor, slope: Tensor, sane: Tensor, waited: Tensor) -> None:
        """Brings the numbers of environments nearer to what was measured.

        Args:
            rows: Environments, shape (M,).
            own: Errors of their estimates, in usual ones, shape (M, V).
            slope: How predictions change with the numbers, shape (M, V, P).
            sane: Where all of that was finite, shape (M,).
            waited: Time since the last look [s], shape (M,).
        """
        before = self._wandered(rows, waited)
        weight = (self.cfg.outlier / own.abs().clamp(min=self.cfg.outlier)) / self.cfg.inflation**2
        weighted = slope.transpose(1, 2) * weight[:, None]
        covariance = torch.linalg.inv(torch.linalg.inv(before) + weighted @ slope)
        covariance = 0.5 * (covariance + covariance.transpose(1, 2))
        change = (covariance @ (weighted @ own[..., None]))[..., 0]
        numbers = (self.numbers[rows] + change).clamp(self.directions.lower, self.directions.upper)
        self.numbers[rows] = torch.where(sane[:, None], numbers, self.numbers[rows])
        self.covariance[rows] = covariance

    def _wandered(self, rows: Tensor, waited: Tensor) -> Tensor:
        """Covariances after the time between two looks, none larger than at first."""
        eye = torch.eye(self.directions.dim, device=rows.device)
        wander = torch.where(self.surprise[rows] > SURPRISING, self.cfg.leap, self.cfg.wander)
        grown = self.covariance[rows] + (wander.square() * waited)[:, None, None] * eye
        size = grown.diagonal(dim1=1, dim2=2) / self.cfg.doubt**2
        shrink = size.clamp(min=1.0).rsqrt()
        return grown * shrink[:, :, None] * shrink[:, None, :]

    def _judge(self, rows: Tensor, nominal: Tensor, own: Tensor, sane: Tensor, waited: Tensor) -> None:
        """Decides which estimates are used; those that have predicted worse for long are thrown away."""
        share = (waited / self.cfg.memory).clamp(max=MOST_SHARE)
        better = (_robust(nominal, self.cfg.outlier) - _robust(own, self.cfg.outlier)).mean(-1)
        gain = torch.where(sane, (1.0 - share) * self.gain[rows] + share * better, self.gain[rows])
        gain = gain.clamp(max=MOST_GAIN)
        self.gain[rows] = gain
        self.used[rows] = gain > torch.where(self.used[rows], 0.5, 1.0) * self.cfg.evidence
        worse = rows[gain < -self.cfg.evidence]
        if len(worse):
            self.forget(worse)
            self.rejected[worse] += 1

    def _learn_usual(self, missing: Tensor) -> None:
        """Takes the usual error from the first steps."""
        self._seen.append(missing.abs())
        if len(self._seen) < self.cfg.settle:
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
