"""Trains one network in PyTorch with the same images from files and from generators, for the same number of steps.

The generator `shapes` makes all images: JPEG files (quality 90), read by PyTorch's DataLoader with its best number of
workers and by wellspring.torch.IterableDataset; and new images in every step, drawn by array code of PyTorch (shapes.py)
and by wellspring.torch.IterableDataset. Every way starts from the same weights, with the same batch and optimizer, and is
measured on the same held-out images.

    PYTHONPATH=build/release/python python bench/peers/torch_training.py [--images 4000] [--side 64] [--steps 400]

Prints one JSON object: for each way images/s (without the first ten steps, and without workers' start) and the accuracy
on 2,000 held-out images. Needs torch, torchvision, Pillow and the Python package.
"""

import argparse
import json
import os
import pathlib
import tempfile
import time

import generate
import torch
import torchvision
from PIL import Image
from torch import nn
from torchvision.transforms import functional

import wellspring as ws
import wellspring.torch

BATCH, HELD_OUT, WARM_UP = 64, 2000, 10


def write(folder, images, side):
    batch = ws.Generator("shapes", size=side, seed=1).batch(0, images, dtype="u8")
    for row, (pixels, label) in enumerate(zip(batch.x, batch.label)):
        path = folder / f"class{label}" / f"{row:06}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path, quality=90)


def network():
    torch.manual_seed(1)
    layers, width = [], 3
    for wider in (16, 32, 64):
        layers += [nn.Conv2d(width, wider, 3, 2, 1), nn.BatchNorm2d(wider), nn.ReLU()]
        width = wider
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))


def of_configuration(source, side, steps):
    """Batches of a configuration with one source."""
    config = {"seed": 1, "device": "cpu", "data": {"size": side, "sources": [{"name": "images", **source}]},
              "model": {"name": "cnn"}, "train": {"batch": BATCH, "steps": steps}}  # fmt: skip
    for batch in wellspring.torch.IterableDataset(config):
        yield batch["x"], batch["label"]


def of_loader(folder, workers, steps):
    images = torchvision.datasets.ImageFolder(folder, functional.to_tensor)
    loader = torch.utils.data.DataLoader(images, BATCH, shuffle=True, drop_last=True, num_workers=workers,
                                         persistent_workers=workers > 0)  # fmt: skip
    while steps > 0:
        for batch, _ in zip(loader, range(steps)):
            steps -= 1
            yield batch


def of_torch(side, steps):
    """The images of shapes.py, in PyTorch's order of axes."""
    _, draw = generate.torch_peer(BATCH, side, with_labels=True)
    for _ in range(steps):
        images, labels = draw()
        yield images.permute(0, 3, 1, 2), labels


def train(batches, held_out):
    """Images/s and accuracy."""
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    seen, begin = -WARM_UP, 0
    for images, labels in batches:
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += 1
        if seen == 0:
            begin = time.perf_counter()
    rate = seen * BATCH / (time.perf_counter() - begin)
    model.eval()
    with torch.no_grad():
        right = (model(held_out.x).argmax(1) == held_out.label).double().mean()
    return {"images_per_second": round(rate, 1), "accuracy": round(float(right), 4)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=4000)
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--steps", type=int, default=400)
    options = parser.parse_args()
    processors = len(os.sched_getaffinity(0))
    held_out = ws.Generator("shapes", size=options.side, seed=1).batch(10**9, HELD_OUT, layout="NCHW")
    held_out = ws.Batch(wellspring.torch.tensors(held_out))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write(folder, options.images, options.side)
        loaders = {count: train(of_loader(folder, count, options.steps), held_out)
                   for count in sorted({0, processors, 2 * processors})}  # fmt: skip
        best = max(loaders, key=lambda count: loaders[count]["images_per_second"])
        rows = [{"images": "JPEG files", "by": f"DataLoader, {best} workers", **loaders[best]}]
        for storage in ("streamed", "resident"):
            source = {"kind": "files", "path": name, "storage": storage}
            rows.append({"images": "JPEG files", "by": f"Wellspring, {storage}",
                         **train(of_configuration(source, options.side, options.steps), held_out)})  # fmt: skip
    drawn = {"kind": "generator", "generator": "shapes"}
    rows += [
        {"images": "new", "by": "PyTorch's array code", **train(of_torch(options.side, options.steps), held_out)},
        {"images": "new", "by": "Wellspring", **train(of_configuration(drawn, options.side, options.steps), held_out)},
    ]  # fmt: skip
    work = (f"{options.steps} steps of three convolutions on {options.side}x{options.side} images of `shapes`, batches of "
            f"{BATCH}, f32; {options.images} JPEG files, or new images in every step")  # fmt: skip
    print(json.dumps({"work": work, "version": torch.__version__, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
