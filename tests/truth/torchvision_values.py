#!/usr/bin/env python3
"""Prints tests/kernels/torchvision_values.h: torchvision's results for an image computed by a formula.

Only this script needs torchvision, so tests read the printed values. Geometry is measured on two ramps: a
bilinear read of a ramp in x gives the x at which a pixel was read.
"""
import math

import torch
import torchvision
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

HEIGHT, WIDTH = 36, 40
PROBE = 163  # distance between the probed values of an image, in NHWC order


def levels():
    index = torch.arange(HEIGHT * WIDTH * 3)
    return ((index * index * 7 + index * 13) % 151 + 30 * (index % 3)).reshape(HEIGHT, WIDTH, 3)


def image():
    return (levels().to(torch.float32) / 255).permute(2, 0, 1)


def probes(x):
    return x.permute(1, 2, 0).reshape(-1)[::PROBE]


def apply(x, name, magnitude):
    mode = v2.InterpolationMode.BILINEAR
    return v2.RandAugment()._apply_image_or_video_transform(x, name, magnitude, mode, {type(x): 0.0})


def magnitude(name, sign=1, height=HEIGHT, width=WIDTH, level=9):
    values, signed = v2.RandAugment._AUGMENTATION_SPACE[name]
    values = values(31, height, width)
    return 0.0 if values is None else float(values[level]) * (sign if signed else 1)


def chain(steps, x):
    for name, sign in steps:
        x = apply(x, name, magnitude(name, sign, x.shape[-2], x.shape[-1]))
    return x


def ramps(height, width):
    y, x = torch.meshgrid(torch.arange(height) + 0.5, torch.arange(width) + 0.5, indexing="ij")
    return torch.stack((x, y)).to(torch.float32)


def places(make):
    """Source locations of the pixels (40, 30), (50, 36) and (36, 44) of 80 x 64."""
    seen = make(ramps(64, 80))
    return torch.stack([seen[:, row, column] for column, row in ((40, 30), (50, 36), (36, 44))])


def table(name, values):
    numbers = [f"{float(v):.9g}" for v in values.reshape(-1)]
    numbers = [n + ("f" if "." in n or "e" in n else ".f") for n in numbers]
    print(f"inline constexpr float {name}[] = {{{', '.join(numbers)}}};")


def main():
    print("// torchvision's results for the test image and for ramps, printed by")
    print(f"// tests/truth/torchvision_values.py with torchvision {torchvision.__version__}.")
    print("// For the kernel tests; host only.\n#pragma once\n\nnamespace wellspring::test::torchvision {\n")
    table("kImage", probes(image()))
    table("kPosterise", probes(F.posterize(image(), 3)))
    table("kSolarise", probes(F.solarize(image(), 0.4)))
    table("kContrast", probes(F.adjust_contrast(image(), 1.6)))
    table("kAutocontrast", probes(F.autocontrast(image())))
    table("kEqualise", probes(F.equalize(image())))
    table("kSharpen", probes(F.adjust_sharpness(image(), 1.8)))
    table("kSmooth", probes(F.adjust_sharpness(image(), 0.2)))
    for name, steps in {
        "kEqualiseThenSharpen": (("Equalize", 1), ("Sharpness", 1)),
        "kSharpenThenAutocontrast": (("Sharpness", -1), ("AutoContrast", 1)),
        "kContrastThenSolarise": (("Contrast", -1), ("Solarize", 1)),
        "kColourThenPosterise": (("Color", 1), ("Posterize", 1)),
        "kBrightnessThenEqualise": (("Brightness", -1), ("Equalize", 1)),
    }.items():
        table(name, probes(chain(steps, image())))
    for op, name in {
        "ShearX": "kShearX", "ShearY": "kShearY", "TranslateX": "kTranslateX",
        "TranslateY": "kTranslateY", "Rotate": "kRotate",
    }.items():
        table(name, places(lambda x: chain(((op, 1),), x)))
        table(name + "Back", places(lambda x: chain(((op, -1),), x)))
    table("kRotateThenShearX", places(lambda x: chain((("Rotate", 1), ("ShearX", -1)), x)))
    table("kShearXThenRotate", places(lambda x: chain((("ShearX", -1), ("Rotate", 1)), x)))
    table("kAffine", places(lambda x: F.affine(
        x, angle=20.0, translate=[3, -2], scale=1.3, shear=[10.0, -15.0],
        interpolation=v2.InterpolationMode.BILINEAR)))
    table("kMagnitudes", torch.tensor([magnitude(op, level=level) for op in (
        "Brightness", "Posterize", "Solarize") for level in range(31)]))
    mode = v2.InterpolationMode.BICUBIC
    larger = F.resize(image(), [2 * HEIGHT, 2 * WIDTH], interpolation=mode, antialias=True)
    smaller = F.resize(image(), [HEIGHT // 2, WIDTH // 2], interpolation=mode, antialias=True)
    # Away from the border, because torchvision drops values beyond the border.
    table("kLarger", larger[:, 16:20, 18:20].permute(1, 2, 0).clamp(0, 1))
    table("kSmaller", smaller[:, 3:6, 4:6].permute(1, 2, 0).clamp(0, 1))
    print("\n}  // namespace wellspring::test::torchvision")


if __name__ == "__main__":
    main()
