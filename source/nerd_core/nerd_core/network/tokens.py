# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""What a network is given for one control step, a *token*: state, contacts, control and gravity in the robot's frame.

The frame is that of the root link, so a token does not change when the whole scene is moved, or turned about gravity.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

import torch
from torch import Tensor, nn

from ..contact.contacts import ContactModel, Contacts, distinct_slots
from ..robot.frames import ChangeCodec, consecutive, into_frame, rotation_matrix, wrap_to_pi
from ..robot.spec import RobotSpec
from ..robot.stops import LEANING, Stops
from .symmetry import SignedPermutation, Symmetry
from .token_config import FINE_SCALE, GAP_BAND, TokenCfg

CONTACT_REACH = 0.005
"""Gap between a slot and the ground, now or where the prior leads, above which they do not touch in a control step [m].
In data of PhysX they do not touch above a gap of zero; the rest is for errors of the prior."""

JOINT_SCORE_WEIGHT = 0.01
"""Weight of a joint's position, or of a distant slot's nearness, when one of several equivalent views is chosen."""


class Tokenizer(nn.Module):
    """Tokens from states, controls and contacts. Has no parameters; does not normalise."""

    dim: int
    """Length of a token."""
    slices: dict[str, slice]
    """Where each part stands in a token. Parts, in order: root_pos, root_quat, joint_pos, joint_sin, joint_cos,
    root_lin_vel, root_ang_vel, joint_vel, limit_now, limit_next, contact_normal, contact_point, contact_distance,
    contact_motion, contact_gap, contact_gap_next, contact_slide, contact_sink, contact_touch, contact_active, control,
    gravity; those that a robot or a configuration does not have are missing. The three numbers of a contact's normal,
    point, motion and slide stand together, slot by slot."""
    _gravity_dir: Tensor
    _root_quat: Tensor
    _root_pos: Tensor
    _radius: Tensor
    _gate: Tensor
    _fall: Tensor
    _picked: Tensor

    def __init__(self, spec: RobotSpec, cfg: TokenCfg | None = None, hidden: Collection[str] = ()):
        """Lays out the token.

        Args:
            spec: The robot.
            cfg: What the token holds.
            hidden: Parts that are left out whatever ``cfg`` says by default: some of root_pos, root_quat,
                root_lin_vel and gravity.
        """
        super().__init__()
        self.spec = spec
        self.cfg = cfg = cfg or TokenCfg()
        self.visible = spec
        """The robot with those of its slots that are seen."""
        places = distinct_slots(spec) if cfg.distinct_slots else list(range(len(spec.slots)))
        if len(places) < len(spec.slots):
            self.visible = replace(spec, slots=tuple(spec.slots[index] for index in places))
        self.register_buffer("_picked", torch.tensor(places, dtype=torch.long), persistent=False)
        if cfg.told_view and not cfg.symmetric:
            raise ValueError("token: got told_view without symmetric, expected both: there is but one view to tell of")
        if cfg.contact_fine and not cfg.contact_motion:
            raise ValueError("token: got contact_fine without contact_motion, expected both: it refines that motion")
        unknown = sorted(set(cfg.ignored_joint_pos) - set(spec.joint_names))
        if unknown:
            raise ValueError(
                f"token: got the unknown joints {unknown} in ignored_joint_pos, "
                f"expected some of {list(spec.joint_names)}"
            )
        self.has_contacts = cfg.contacts and bool(spec.slots)
        self.has_contact_bit = self.has_contacts and (
            cfg.root == "minimal" if cfg.contact_bit is None else cfg.contact_bit
        )
        if (cfg.gravity and "gravity" in hidden) or (cfg.root == "published" and "root_pos" in hidden):
            raise ValueError(
                f"token: got gravity={cfg.gravity} and root={cfg.root!r} with a prior that hides {sorted(hidden)}, "
                "expected neither to be seen"
            )
        by_default = spec.floating_base and "gravity" not in hidden
        self.has_gravity = by_default if cfg.gravity is None else cfg.gravity
        self.has_root_pose = spec.floating_base and cfg.root == "published"
        self._has_lin_vel = "root_lin_vel" not in hidden

        seen = [index for index, name in enumerate(spec.joint_names) if name not in cfg.ignored_joint_pos]
        circular = [index for index in seen if spec.joints[index].wraps]
        split = circular if cfg.angles == "sincos" else []
        self._plain, self._split = [index for index in seen if index not in split], split
        # Runs of columns instead of an index tensor: the module then needs none of its own on the device.
        self._plain_runs = _runs(self._plain, circular)
        self._circle_runs = _runs(split, [])

        lengths = {"root_pos": 3, "root_quat": 4} if self.has_root_pose else {}
        lengths |= {"joint_pos": len(seen) - len(split), "joint_sin": len(split), "joint_cos": len(split)}
        lengths |= {"root_lin_vel": 3 if self._has_lin_vel else 0, "root_ang_vel": 3} if spec.floating_base else {}
        lengths |= {"joint_vel": len(spec.joints)}
        self.stops = Stops(spec)
        self._codec = ChangeCodec(spec)
        limited = len(self.stops.joints) if cfg.limits else 0
        lengths |= {"limit_now": 2 * limited, "limit_next": 2 * limited}
        if self.has_contacts:
            slots = len(self.visible.slots)
            lengths |= {"contact_normal": 3 * slots, "contact_point": 3 * slots, "contact_distance": slots}
            if cfg.contact_motion:
                lengths |= {"contact_motion": 3 * slots, "contact_gap": slots, "contact_gap_next": slots}
            if cfg.contact_fine:
                lengths |= {"contact_slide": 3 * slots, "contact_sink": slots, "contact_touch": slots}
        lengths |= {"contact_active": len(self.visible.slots)} if self.has_contact_bit else {}
        lengths |= {"control": spec.control_dim} | ({"gravity": 3} if self.has_gravity else {})
        self.slices, self.dim = consecutive({name: length for name, length in lengths.items() if length})

        # A fall from rest in one control step, as a solver integrates it that changes velocities first.
        fall = 0.5 * (spec.control_dt + spec.physics_dt) * spec.control_dt
        self.register_buffer("_fall", fall * torch.tensor(spec.gravity), persistent=False)
        length = math.hypot(*spec.gravity) or 1.0
        gravity_dir = torch.tensor([value / length for value in spec.gravity])
        self.register_buffer("_gravity_dir", gravity_dir, persistent=False)
        self.register_buffer("_root_quat", torch.tensor(spec.root_quat), persistent=False)
        self.register_buffer("_root_pos", torch.tensor(spec.root_pos), persistent=False)
        radius = torch.tensor([slot.radius for slot in self.visible.slots])
        self.register_buffer("_radius", radius, persistent=False)
        self.register_buffer("_gate", torch.tensor([slot.gate for slot in self.visible.slots]), persistent=False)
        self.contact_model = ContactModel(self.visible) if self.has_contacts and cfg.contact_motion else None

    @property
    def groups(self) -> list[slice]:
        """Features of one unit that should be scaled with an eye on each other, for a normaliser."""
        apart = [name for name in ("control", "root_pos", "root_quat", "contact_active") if name in self.slices]
        columns = [index for name in apart for index in range(self.slices[name].start, self.slices[name].stop)]
        singles = [slice(index, index + 1) for index in columns]
        return [where for name, where in self.slices.items() if name not in apart] + singles

    @property
    def least_units(self) -> Tensor:
        """Smallest unit of each feature, for a normaliser, shape (dim,): a fine feature is at most one by definition,
        and one of a slot that hardly ever touches must not become huge when it does.
        """
        least = torch.zeros(self.dim)
        for name in ("contact_slide", "contact_sink", "contact_touch"):
            if name in self.slices:
                least[self.slices[name]] = 0.3
        return least

    def forward(
        self,
        state: Tensor,
        control: Tensor,
        contacts: Contacts | None = None,
        gravity_dir: Tensor | None = None,
        ahead: Tensor | None = None,
        ahead_knows_stops: bool = True,
        ahead_falls: bool = True,
    ) -> Tensor:
        """Tokens of one or more steps.

        Args:
            state: States, shape (..., S).
            control: Controls that are held over the step, shape (..., C).
            contacts: Contacts of ``state``, with the same leading dimensions. None only if the token has no contacts.
            gravity_dir: Direction of gravity, environment axes, unit length, shape (..., 3); by default as in the
                robot's specification.
            ahead: States after the control step by a prior, shape (..., S); by default those at the present velocities.
            ahead_knows_stops: Whether ``ahead`` already respects the joints' stops.
            ahead_falls: Whether ``ahead`` may be below the ground.

        Returns:
            Tokens, shape (..., dim), not normalised; features of contacts that are not active are exactly zero.
        """
        at = self.spec.state
        floating = self.spec.floating_base
        joint_pos = state[..., at.joint_pos]
        parts: list[Tensor] = []
        if self.has_root_pose:
            zero = torch.zeros_like(state[..., at.root_pos])
            parts += [zero, zero, torch.ones_like(zero[..., :1])]
        parts += [wrap_to_pi(joint_pos[..., run]) if wraps else joint_pos[..., run] for run, wraps in self._plain_runs]
        parts += [joint_pos[..., run].sin() for run, _ in self._circle_runs]
        parts += [joint_pos[..., run].cos() for run, _ in self._circle_runs]

        # All vectors are turned into the root's frame at once.
        vectors: list[Tensor] = []
        if floating:
            root_pos = state[..., at.root_pos].unsqueeze(-2)
            turn = rotation_matrix(state[..., at.root_quat]).unsqueeze(-3)
            vectors += [state[..., at.root_lin_vel].unsqueeze(-2), state[..., at.root_ang_vel].unsqueeze(-2)]
        else:
            root_pos = self._root_pos
            turn = rotation_matrix(self._root_quat)
        slots, motion, fine = len(self.visible.slots), None, None
        if self.has_contacts:
            contacts = self._require(contacts)
            vectors += [contacts.normal, contacts.point - root_pos]
            if self.contact_model is not None:
                points = self.contact_model.slot_points(self._extrapolated(state) if ahead is None else ahead)
                motion = points - contacts.point - contacts.normal * contacts.distance.unsqueeze(-1)
                motion = motion.masked_fill(~contacts.active.unsqueeze(-1), 0.0)
                vectors.append(motion)
                if self.cfg.contact_fine:
                    falls = ahead is not None and ahead_falls
                    fine = self._fine_features(motion - self._fall if falls else motion, contacts)
                    vectors.append(fine[0])
        if self.has_gravity:
            gravity_dir = self._gravity_dir if gravity_dir is None else gravity_dir
            vectors.append(gravity_dir.expand(*state.shape[:-1], 3).unsqueeze(-2))
        turned = into_frame(turn, torch.cat(vectors, dim=-2)) if vectors else None

        done = 0
        if turned is not None and floating:
            parts.append(turned[..., 0 if self._has_lin_vel else 1 : 2, :].flatten(-2))
            done = 2
        joint_vel = state[..., at.joint_vel]
        parts.append(joint_vel)
        if "limit_now" in self.slices:
            parts += self.stops.beyond(joint_pos)
            if ahead is None or ahead_knows_stops:
                parts += self.stops.beyond(joint_pos + self.spec.control_dt * joint_vel)
            else:
                parts += self.stops.beyond(ahead[..., at.joint_pos])
        if turned is not None and self.has_contacts and contacts is not None:
            far = ~contacts.active.unsqueeze(-1)
            point = turned[..., done + slots : done + 2 * slots, :].masked_fill(far, 0.0)
            parts += [turned[..., done : done + slots, :].flatten(-2), point.flatten(-2), contacts.distance]
            if motion is not None:
                gap = contacts.distance - self._radius
                gap_next = gap + (motion * contacts.normal).sum(-1)
                parts.append(turned[..., done + 2 * slots : done + 3 * slots, :].flatten(-2))
                parts += [value.clamp(max=GAP_BAND).masked_fill(far.squeeze(-1), 0.0) for value in (gap, gap_next)]
            if fine is not None:
                parts += [turned[..., done + 3 * slots : done + 4 * slots, :].flatten(-2), *fine[1:]]
            if self.has_contact_bit:
                parts.append(contacts.active.to(state.dtype))
        parts.append(control)
        if turned is not None and self.has_gravity:
            parts.append(turned[..., -1, :])
        return torch.cat(parts, dim=-1)

    def visible_contacts(self, contacts: Contacts | None) -> Contacts | None:
        """The contacts of the slots that are seen, which the other methods take.

        Args:
            contacts: Contacts of all slots of the robot.
        """
        if contacts is None or self.visible is self.spec:
            return contacts
        dim, picked = len(contacts.lead), self._picked
        return contacts.map(lambda tensor: tensor.index_select(dim, picked))

    def mask(self, contacts: Contacts | None) -> Tensor | None:
        """Which features are defined: all but those of contacts that are not active.

        Args:
            contacts: Contacts that the tokens were made from.

        Returns:
            Shape (..., dim), bool, or None when the token has no contacts and all features are always defined.
        """
        if not self.has_contacts:
            return None
        active = self._require(contacts).active
        where = self.slices
        before = active.new_ones(*active.shape[:-1], where["contact_normal"].start)
        vector = active.repeat_interleave(3, dim=-1)
        inside = [vector, vector, active] + [vector, active, active] * (
            ("contact_motion" in where) + self.cfg.contact_fine
        )
        first = where["contact_normal"].start
        after = active.new_ones(*active.shape[:-1], self.dim - first - sum(part.shape[-1] for part in inside))
        return torch.cat((before, *inside, after), dim=-1)

    def near_contact(
        self, tokens: Tensor, state: Tensor, ahead: Tensor, contacts: Contacts | None, stops: bool
    ) -> Tensor:
        """Whether there is anything to touch, now or after the step: ground, or the stop of a joint. The range is
        narrow: where the prior is right to five digits, a network can only add errors. Shape (...,), bool.

        Args:
            tokens: Tokens of the states, not normalised, shape (..., dim).
            state: States, shape (..., S).
            ahead: States after the step by the prior, shape (..., S).
            contacts: Contacts of ``state``; None counts as none.
            stops: Whether stops count.
        """
        near = torch.zeros(state.shape[:-1], dtype=torch.bool, device=state.device)
        if contacts is not None and self.spec.slots:
            near_slots = contacts.active
            if self.contact_model is not None:
                gaps = [tokens[..., self.slices[name]] for name in ("contact_gap", "contact_gap_next")]
                near_slots = near_slots & (torch.minimum(*gaps) < CONTACT_REACH)
            near = near_slots.any(-1)
        if stops:
            for each in (state, ahead):
                near = near | self.stops.near(each[..., self.spec.state.joint_pos], LEANING)
        return near

    def view(self, symmetry: Symmetry) -> SignedPermutation:
        """What a symmetry of the robot does to a token.

        Args:
            symmetry: The symmetry.
        """
        if self.has_root_pose:
            raise ValueError("got tokens with the root's published pose, expected the minimal root for symmetric views")
        polar, joints, slots = symmetry.axes, symmetry.joints, symmetry.slots
        split, vectors = joints.among(self._split), slots.of_vectors(polar)
        sides = joints.among(self.stops.joints).of_sides()
        parts = {
            "joint_pos": joints.among(self._plain),
            "joint_sin": split,
            "joint_cos": SignedPermutation.unsigned(split.source),
            "root_lin_vel": polar,
            "root_ang_vel": symmetry.axial,
            "joint_vel": joints,
            "limit_now": sides,
            "limit_next": sides,
            "contact_normal": vectors,
            "contact_point": vectors,
            "contact_motion": vectors,
            "contact_slide": vectors,
            "control": symmetry.controls,
            "gravity": polar,
        }
        return SignedPermutation.joined([parts.get(name, slots) for name in self.slices])

    def view_scores_of(self, symmetry: Symmetry) -> SignedPermutation:
        """What a symmetry does to :meth:`view_scores`."""
        joints = symmetry.joints.among([*self._plain, *self._split])
        return SignedPermutation.joined([symmetry.slots, joints] if self.has_contacts else [joints])

    def view_scores(self, tokens: Tensor, contacts: Contacts | None) -> Tensor:
        """The scores by which the canonical view is chosen, shape (..., K): how near each slot is to the ground, and
        with little weight the positions of the joints, of those that wrap the sines.

        Args:
            tokens: Tokens that are not normalised, shape (..., dim).
            contacts: Contacts that they were made from.
        """
        names = [name for name in ("joint_pos", "joint_sin") if name in self.slices]
        joints = [JOINT_SCORE_WEIGHT * tokens[..., self.slices[name]] for name in names]
        if not self.has_contacts:
            return torch.cat(joints or [tokens[..., :0]], dim=-1)
        contacts = self._require(contacts)
        if self.contact_model is not None:
            near = 1.0 - tokens[..., self.slices["contact_gap_next"]] / GAP_BAND
            if not joints:  # nothing else decides between slots beyond that band
                near = near + JOINT_SCORE_WEIGHT * (1.0 - contacts.distance / self._gate)
        else:
            near = 1.0 - contacts.distance / self._gate
        return torch.cat((near.masked_fill(~contacts.active, 0.0), *joints), dim=-1)

    def _extrapolated(self, state: Tensor) -> Tensor:
        """The state after a control step at the present velocities."""
        return self._codec.apply(state, state.new_zeros(*state.shape[:-1], self._codec.dim))

    def _fine_features(self, motion: Tensor, contacts: Contacts) -> tuple[Tensor, Tensor, Tensor]:
        """How slots would slide, shape (..., K, 3), sink, and how deep they are, shape (..., K), in units that grow no
        more from :data:`FINE_SCALE` on. Zero where nothing is near.

        Args:
            motion: Where each slot would go in one control step beside a fall, shape (..., K, 3).
            contacts: The contacts.
        """
        sink = (motion * contacts.normal).sum(-1)
        slide = motion - contacts.normal * sink.unsqueeze(-1)
        slide = slide * (slide.square().sum(-1, keepdim=True) + FINE_SCALE**2).rsqrt()
        gap = contacts.distance - self._radius
        far = ~contacts.active
        sink, gap = ((x * (x.square() + FINE_SCALE**2).rsqrt()).masked_fill(far, 0.0) for x in (sink, gap))
        return slide.masked_fill(far.unsqueeze(-1), 0.0), sink, gap

    def _require(self, contacts: Contacts | None) -> Contacts:
        if contacts is None:
            raise ValueError(
                f"token of '{self.spec.name}': got no contacts, expected those of its {len(self.spec.slots)} slots "
                "(pass contacts, or a ground to compute them from, or set contacts=False in the token's configuration)"
            )
        return contacts


def _runs(columns: list[int], circular: list[int]) -> list[tuple[slice, bool]]:
    """Columns as runs of neighbours that all wrap or all do not, each with whether it wraps."""
    runs: list[tuple[slice, bool]] = []
    for column in columns:
        wraps = column in circular
        if runs and runs[-1][0].stop == column and runs[-1][1] == wraps:
            runs[-1] = (slice(runs[-1][0].start, column + 1), wraps)
        else:
            runs.append((slice(column, column + 1), wraps))
    return runs
