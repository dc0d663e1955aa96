"""The models of the series: seeded, without downloads, at full and small size.

First used in notebook 07_graviton_baseline.
"""

import contextlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch


@dataclass(frozen=True)
class Model:
    """How to make one model.

    `build(pretrained)` returns the module, `image` is the side of its square input
    in pixels, `title` its name in prose and plots.
    """

    title: str
    image: int
    build: Callable[[bool], torch.nn.Module]


def _torchvision(name: str) -> Callable[[bool], torch.nn.Module]:
    def build(pretrained: bool) -> torch.nn.Module:
        import torchvision

        weights = "DEFAULT" if pretrained else None
        return torchvision.models.get_model(name, weights=weights)

    return build


def _timm(name: str, image: int) -> Callable[[bool], torch.nn.Module]:
    def build(pretrained: bool) -> torch.nn.Module:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a progress bar that Jupyter cannot show
            import timm

        return timm.create_model(name, pretrained=pretrained, img_size=image)

    return build


MODELS = {
    "resnet50": Model("ResNet-50", 224, _torchvision("resnet50")),
    "vit": Model("ViT-B/16", 224, _timm("vit_base_patch16_224", 224)),
    "resnet18_64px": Model("ResNet-18 (64 px)", 64, _torchvision("resnet18")),
    "vit_tiny_64px": Model("ViT-Ti/16 (64 px)", 64, _timm("vit_tiny_patch16_224", 64)),
}
# what the smoke profile runs instead of the real model
SMALL = {"resnet50": "resnet18_64px", "vit": "vit_tiny_64px"}


def pick(model: str, profile: str) -> str:
    """The name of the model that stands for `model` in a profile."""
    _known(model)
    return SMALL.get(model, model) if profile == "smoke" else model


def make(name: str, *, weights: str = "random", seed: int = 0) -> torch.nn.Module:
    """A model in evaluation mode.

    Parameters
    ----------
    name : str
        A key of `MODELS`.
    weights : {"random", "default"}
        "random" is seeded, and its batch-norm statistics come from one pass over
        seeded images: without them activations leave the range that a trained
        network has, and drift of bf16 or INT8 would say nothing. "default" loads the
        library's pretrained weights and may need the network.
    """
    model = _known(name)
    if weights == "default":
        return model.build(True).eval()
    torch.manual_seed(seed)
    module = model.build(False)
    return _settle_batch_norm(module, image=min(model.image, 64), seed=seed)


def images(name: str, batch_size: int, *, seed: int = 1) -> torch.Tensor:
    """Seeded smooth images, float32 of shape (batch_size, 3, side, side).

    Normalised per channel as ImageNet images are (mean 0, deviation about 1), with
    structure at several scales: white noise would look like no photograph. The images
    of a batch are the first ones of any larger batch.
    """
    return _images(batch_size, _known(name).image, seed)


def images_like(batch: torch.Tensor, count: int, *, seed: int) -> torch.Tensor:
    """Seeded images as `images` makes them, of the size of a batch's: to calibrate."""
    return _images(count, batch.shape[-1], seed)


def _images(count: int, side: int, seed: int) -> torch.Tensor:
    return torch.stack([_image(side, seed=seed * 100_003 + i) for i in range(count)])


def _image(side: int, *, seed: int) -> torch.Tensor:
    """One image; seeded by itself, so that a batch begins like any larger batch."""
    generator = torch.Generator().manual_seed(seed)
    total = torch.zeros(1, 3, side, side)
    for cells in (2, 4, 8, 16, 32):
        coarse = torch.randn(1, 3, cells, cells, generator=generator)
        total += torch.nn.functional.interpolate(
            coarse, size=(side, side), mode="bilinear", align_corners=False
        )
    mean = total.mean(dim=(2, 3), keepdim=True)
    return ((total - mean) / total.std(dim=(2, 3), keepdim=True))[0]


def _settle_batch_norm(module: torch.nn.Module, *, image: int, seed: int):
    norms = [m for m in module.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    if norms:
        for norm in norms:
            norm.momentum = None  # a plain average over what is seen
        with torch.no_grad(), _one_thread():
            module.train()(_images(8, image, seed))
        for norm in norms:
            norm.momentum = 0.1
    return module.eval()


@contextlib.contextmanager
def _one_thread():
    """The same sums on any number of cores; and many processes do this at once."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def reference(name: str, batch_size: int, *, weights: str = "random") -> np.ndarray:
    """The fp32 eager output that drift is measured from: (batch_size, classes)."""
    with torch.no_grad():
        return make(name, weights=weights)(images(name, batch_size)).numpy()


def _known(name: str) -> Model:
    if name not in MODELS:
        raise ValueError(f"no model named {name!r}; there are {', '.join(MODELS)}")
    return MODELS[name]
