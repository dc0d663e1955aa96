"""Notebooks 09 and 10 on Arm: layout and data type, as oneDNN's lines show them."""

import pytest
import torch

from helpers import cells, proof
from helpers.drift import drift
from helpers.proof import Witness

BUILDS = ["channels_last", "bf16_autocast", "bf16_open", "bf16_model"]


@pytest.fixture(scope="module")
def taught():
    return cells.load("10_graviton_memory_and_precision", *BUILDS, "settings")


@pytest.fixture
def plain(model, batch):
    """A witness of the model as it is: what no proof of a setting may hold for."""
    eager = cells.load("07_graviton_baseline", "eager").eager
    return Witness(eager(model, batch))


def test_eager_runs_its_convolutions_in_the_compute_library(plain):
    finding = proof.onednn()(plain)
    assert finding.holds, finding.saw
    assert "acl" in finding.saw


def test_no_setting_is_proven_for_the_plain_model(plain, taught):
    for name in ("turned", "bf16", "math", "cache", "tcmalloc"):
        finding = getattr(taught, name)(plain)
        assert not finding.holds, f"{finding.proof}: {finding.saw}"


def test_channels_last_spares_the_reorders(model, batch, taught, plain):
    # looked at first: channels_last turns the very model that `plain` calls
    before = taught.turned(plain)
    assert not before.holds
    assert "20 of 20 read acdb" in before.saw  # the library's kernels read no other
    assert ", 0 activation reorders" not in before.saw
    finding = taught.turned(Witness(taught.channels_last(model, batch)))
    assert finding.holds, finding.saw
    assert "20 of 20 read acdb, 0 activation reorders" in finding.saw


@pytest.mark.parametrize(("build", "kept"), [("bf16_autocast", 0), ("bf16_model", 1)])
def test_bf16_reaches_every_layer(model, batch, taught, exact, needs_bf16, build, kept):
    fn = getattr(taught, build)(model, batch)
    finding = taught.bf16(Witness(fn))
    assert finding.holds, finding.saw
    assert "21 of 21 weights bf16" in finding.saw
    assert 15 < drift(fn().float().numpy(), exact).sqnr_db < 80
    casts = taught.kept(Witness(fn))
    assert casts.holds == bool(kept), casts.saw


def test_without_bf16_in_hardware_onednn_is_not_asked(model, batch, taught, bf16):
    if bf16:
        pytest.skip("this chip has bf16")
    finding = taught.bf16(Witness(taught.bf16_model(model, batch)))
    assert not finding.holds
    assert finding.saw == "oneDNN ran no layer"


def test_autocast_that_stays_open_keeps_the_weights(model, batch, taught):
    cached = torch.is_autocast_cache_enabled()
    autocast = torch.autocast("cpu", torch.bfloat16)
    with autocast:
        model(batch)
        finding = taught.kept(Witness(lambda: model(batch)))
    # autocast caches only weights that want gradients; the models' do
    assert cached
    assert "22 weight casts" in finding.saw or finding.holds, finding.saw
