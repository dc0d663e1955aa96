"""The models: seeded, small and real."""

import pytest
import torch

from helpers import models


@pytest.mark.parametrize("name", ["resnet18_64px", "vit_tiny_64px"])
def test_a_model_is_the_same_every_time(name):
    with torch.no_grad():
        first = models.make(name)(models.images(name, 2))
        again = models.make(name)(models.images(name, 2))
    assert torch.equal(first, again)
    assert first.shape == (2, 1000)
    assert torch.isfinite(first).all()


def test_images_look_like_normalised_photographs():
    batch = models.images("resnet18_64px", 4)
    assert batch.shape == (4, 3, 64, 64)
    assert batch.mean().abs() < 0.05
    assert 0.9 < batch.std() < 1.1
    neighbours = (batch[..., 1:] - batch[..., :-1]).abs().mean()
    assert neighbours < 0.6  # white noise has 1.13


def test_a_larger_batch_begins_with_the_smaller_one():
    few, more = models.images("resnet50", 2), models.images("resnet50", 3)
    assert more.shape == (3, 3, 224, 224)
    assert torch.equal(more[:2], few)
    assert not torch.equal(more[0], more[1])


def test_smoke_takes_the_small_model():
    assert models.pick("resnet50", "smoke") == "resnet18_64px"
    assert models.pick("resnet50", "quick") == "resnet50"


def test_an_unknown_model_is_an_error_that_lists_the_known():
    with pytest.raises(ValueError, match="resnet50"):
        models.make("resnet51")


def test_batch_norm_statistics_are_settled():
    def deviation(module):
        seen = {}
        module.layer4.register_forward_hook(lambda m, i, o: seen.update(out=o))
        with torch.no_grad():
            module(models.images("resnet18_64px", 4))
        return seen["out"].std()

    settled = deviation(models.make("resnet18_64px"))
    assert 0.3 < settled < 3


def test_images_like_a_batch_are_those_of_its_size_and_seed():
    batch = models.images("resnet18_64px", 2)
    like = models.images_like(batch, 3, seed=7)
    assert torch.equal(like, models.images("resnet18_64px", 3, seed=7))
    assert not torch.equal(like[:2], batch)
