# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""Symmetries of robots: which there are, what they do to numbers, and networks that see one view of each moment."""

from dataclasses import replace

import pytest
import torch

from nerd_core import checkpoint
from nerd_core.contact.contacts import ContactModel, distinct_slots
from nerd_core.contact.grounds import PlaneGround
from nerd_core.network.architectures.residual import ResidualMlpCfg
from nerd_core.network.architectures.transformer import TransformerCfg
from nerd_core.network.symmetry import SignedPermutation, Views, change_view, image, symmetries_of
from nerd_core.network.token_config import TokenCfg
from nerd_core.predictor.config import PredictorCfg
from nerd_core.predictor.predictor import Predictor
from nerd_core.robot.frames import ChangeCodec
from nerd_core.robot.spec import RobotSpec
from support.robots import cartpole, cube, random_state, random_tree, symmetric_ant

SMALL = ResidualMlpCfg(width=12, hidden=12, kinks=4, layers=2)


def near_ground(spec: RobotSpec, count: int, seed: int = 5) -> torch.Tensor:
    """States with some slots near a level ground, in poses without ties between views."""
    state = random_state(spec, count, seed, spread=0.3)
    if spec.floating_base:
        above = torch.tensor([1.0, -2.0, 0.35 if spec.joints else 0.08])
        state[:, spec.state.root_pos] = above + 0.05 * state[:, spec.state.root_pos]
    return state


def shaken(spec: RobotSpec, cfg: PredictorCfg, dtype: torch.dtype = torch.float64) -> Predictor:
    """A predictor with weights that are not zero anywhere and normalisers that have seen data."""
    torch.manual_seed(1)
    predictor = Predictor(spec, cfg)
    if dtype == torch.float64:
        predictor = predictor.double()
    with torch.no_grad():
        for weight in predictor.network.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    state, ground = near_ground(spec, 256, seed=9).to(dtype), PlaneGround.flat()
    control = torch.randn(256, spec.control_dim).to(dtype)
    predictor.update_statistics(
        state, control, state + 0.01 * torch.randn_like(state), predictor.contacts(state, ground)
    )
    predictor.finalise_statistics()
    return predictor


@pytest.mark.parametrize(("spec", "count"), [(symmetric_ant(), 8), (random_tree(3), 1), (cube(), 48)])
def test_the_symmetries_of_a_robot_are_found(spec, count):
    """Four legs on the diagonals make eight, a tree with frames turned anyhow has but the identity, which is first, a
    cube without joints has all that permute and reflect three axes.
    """
    found = symmetries_of(spec)
    assert len(found) == count
    assert found[0].axes == SignedPermutation.unsigned(range(3))
    assert found[0].joints == SignedPermutation.unsigned(range(len(spec.joints)))


def test_a_cart_has_a_mirror_image():
    """A pole that falls to the left falls as one to the right: cart, pole and effort change signs."""
    signs = {(each.joints.sign, each.controls.sign) for each in symmetries_of(cartpole())}
    assert signs == {((1, 1), (1, 1)), ((-1, -1), (-1, -1))}


@pytest.mark.parametrize(
    "change",
    [
        lambda joint: replace(joint, upper=joint.upper + 0.1),
        lambda joint: replace(joint, damping=joint.damping + 0.1),
        lambda joint: replace(joint, effort_limit=3.0),
    ],
)
def test_one_leg_that_differs_takes_symmetries_away(change):
    """A limit, a drive or a strength of one leg's own leaves only the reflection that keeps that leg in its place."""
    spec = symmetric_ant()
    spec = replace(spec, joints=(*spec.joints[:4], change(spec.joints[4]), *spec.joints[5:]))
    assert len(symmetries_of(spec)) == 2


def test_a_body_that_hangs_elsewhere_takes_symmetries_away():
    """Joints in the same places do not do: one foot's slot that is shorter leaves only the reflection through it."""
    spec = symmetric_ant()
    x, y, z = spec.slots[-1].point
    spec = replace(spec, slots=(*spec.slots[:-1], replace(spec.slots[-1], point=(0.9 * x, 0.9 * y, z))))
    assert len(symmetries_of(spec)) == 2


def test_symmetries_carry_slots_and_changes_along():
    """In the image of a state each slot is where the image of another is, and the change between the images of two
    states is the image of the change between them.
    """
    spec = symmetric_ant()
    state, after = near_ground(spec, 16).double(), near_ground(spec, 16, seed=6).double()
    points, codec = ContactModel(spec).double().slot_points(state), ChangeCodec(spec)
    for each in symmetries_of(spec):
        moved = ContactModel(spec).double().slot_points(image(spec, each, state))
        torch.testing.assert_close(moved, each.axes(points[:, list(each.slots.source)]), rtol=0, atol=1e-6)
        change = codec.encode(image(spec, each, state), image(spec, each, after))
        torch.testing.assert_close(change, change_view(codec, each)(codec.encode(state, after)), rtol=0, atol=1e-6)


def test_an_inverse_undoes():
    """A signed permutation and its inverse leave numbers as they were, also joined with others and among some only."""
    first, second = SignedPermutation((2, 0, 1), (1, -1, 1)), SignedPermutation((1, 0), (-1, 1))
    joined = SignedPermutation.joined([first, second])
    x = torch.randn(7, 5)
    assert torch.equal(joined(x), torch.cat((first(x[:, :3]), second(x[:, 3:])), -1))
    assert torch.equal(joined.inverse()(joined(x)), x)
    assert joined.among([3, 4]) == second
    with pytest.raises(ValueError, match=r"expected their images \[2\] among them"):
        joined.among([0, 1])


def test_views_are_those_of_the_table():
    """Each row is rearranged as its own view says, and the view in which the largest numbers come first is found."""
    views = [SignedPermutation((0, 1, 2), (1, 1, 1)), SignedPermutation((2, 1, 0), (-1, 1, -1))]
    table, x = Views(views), torch.tensor([[3.0, 0.0, 1.0], [-1.0, 0.0, -3.0], [0.0, 0.0, 0.0]])
    assert table.canonical(x).tolist() == [0, 1, 0]
    assert torch.equal(table(x, torch.tensor([0, 1, 1])), torch.stack((x[0], views[1](x[1]), views[1](x[2]))))
    assert torch.equal(table.all(x), torch.stack([view(x) for view in views]))


@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("motion", [False, True])
@pytest.mark.parametrize("spec", [symmetric_ant(), cartpole(), cube()], ids=["ant", "cartpole", "cube"])
def test_the_image_of_a_motion_is_predicted_as_the_image(spec, motion, distinct):
    """On level ground the prediction for the image of a state, under the image of a control, is the image of the
    prediction, whatever the weights are; with the heads for variance and forces as well.
    """
    fine = motion and distinct
    token = TokenCfg(symmetric=True, limits=True, contact_motion=motion, contact_fine=fine, distinct_slots=distinct)
    predictor = shaken(spec, PredictorCfg(network=SMALL, token=token, variance_head=True, force_head=True))
    state, ground = near_ground(spec, 64).double(), PlaneGround.flat()
    control = torch.randn(64, spec.control_dim).double()

    def say(state, control):
        said, _ = predictor.extend(state, control, predictor.contacts(state, ground))
        return predictor.next_state(state, said), said

    after, said = say(state, control)
    assert (after - state).abs().mean() > 1e-3
    upright = [each for each in symmetries_of(spec) if each.axes.source[2] == 2 and each.axes.sign[2] == 1]
    assert len(upright) == (8 if spec.floating_base else 2)  # others would turn the ground over, too
    for each in upright:
        other, mirrored = say(image(spec, each, state), each.controls(control))
        expected = image(spec, each, after)
        if spec.floating_base:
            turned = (other[:, spec.state.root_quat] * expected[:, spec.state.root_quat]).sum(-1).abs()
            torch.testing.assert_close(turned, torch.ones_like(turned), rtol=0, atol=1e-6)
            other[:, spec.state.root_quat] = expected[:, spec.state.root_quat]
        torch.testing.assert_close(other, expected, rtol=0, atol=1e-5)
        assert said.force is not None and said.log_var is not None
        force = each.axes(said.force[:, list(each.bodies.source)])
        torch.testing.assert_close(mirrored.force, force, rtol=1e-3, atol=1e-4)
        source = list(change_view(predictor.codec, each).source)
        torch.testing.assert_close(mirrored.log_var, said.log_var[:, source], rtol=1e-3, atol=1e-4)


def test_a_network_that_is_told_its_view_may_differ_between_views():
    """With told_view the image of a state may be predicted otherwise, for solvers that are not symmetric themselves."""
    spec = symmetric_ant()
    predictor = shaken(spec, PredictorCfg(network=SMALL, token=TokenCfg(symmetric=True, told_view=True)))
    state, control = near_ground(spec, 16).double(), torch.zeros(16, spec.control_dim).double()
    each = symmetries_of(spec)[1]
    after = [
        predictor.next_state(s, predictor.extend(s, control, predictor.contacts(s, PlaneGround.flat()))[0])
        for s in (state, image(spec, each, state))
    ]
    assert (image(spec, each, after[0]) - after[1])[:, spec.state.joint_vel].abs().max() > 1e-2
    with pytest.raises(ValueError, match="told_view without symmetric"):
        Predictor(spec, PredictorCfg(network=SMALL, token=TokenCfg(told_view=True)))


def test_views_need_a_network_without_memory():
    """What a transformer remembers was seen in other views: it is refused, and so is the root's published pose."""
    with pytest.raises(ValueError, match="without memory"):
        Predictor(symmetric_ant(), PredictorCfg(network=TransformerCfg(), token=TokenCfg(symmetric=True)))
    with pytest.raises(ValueError, match="expected the minimal root"):
        Predictor(symmetric_ant(), PredictorCfg(network=SMALL, token=TokenCfg(symmetric=True, root="published")))


def test_a_symmetric_model_survives_a_checkpoint(tmp_path):
    """What is loaded predicts what was saved, to the last bit."""
    token = TokenCfg(symmetric=True, told_view=True, distinct_slots=True)
    predictor = shaken(symmetric_ant(), PredictorCfg(network=SMALL, token=token), torch.float32)
    again = checkpoint.load(checkpoint.save(tmp_path / "model", predictor))
    state = near_ground(predictor.spec, 8)
    control, ground = torch.randn(8, predictor.spec.control_dim), PlaneGround.flat()
    said = [each.extend(state, control, each.contacts(state, ground))[0].change for each in (predictor, again)]
    assert torch.equal(*said)


def test_slots_in_one_place_are_seen_once():
    """Of an Ant's 25 slots eleven always are where another of their size is; the others are told as before."""
    spec = symmetric_ant()
    kept = distinct_slots(spec)
    assert len(kept) == 14
    assert distinct_slots(random_tree(3)) == list(range(len(random_tree(3).slots)))
    predictor = Predictor(spec, PredictorCfg(network=SMALL, token=TokenCfg(distinct_slots=True)))
    whole = Predictor(spec, PredictorCfg(network=SMALL, token=TokenCfg()))
    state = near_ground(spec, 8)
    control, contacts = torch.randn(8, spec.control_dim), whole.contacts(state, PlaneGround.flat())
    few, all_of_them = predictor.encode(state, control, contacts).tokens, whole.encode(state, control, contacts).tokens
    for name, where in predictor.residual.tokenizer.slices.items():
        theirs = all_of_them[:, whole.residual.tokenizer.slices[name]]
        if name.startswith("contact"):
            theirs = theirs.unflatten(-1, (len(spec.slots), -1))[:, kept].flatten(1)
        assert torch.equal(few[:, where], theirs)


def test_symmetries_of_a_robot_with_many_parts_are_not_looked_for():
    """The search takes longer than in proportion to the slots: beyond a bound it is refused at once, with advice."""
    spec = replace(symmetric_ant(), slots=symmetric_ant().slots * 30)
    with pytest.raises(ValueError, match=r"slots of .*symmetric=False"):
        symmetries_of(spec)
