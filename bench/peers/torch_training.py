"""Trains one network in PyTorch with the same images from files and from generators, for the same number of steps.

The generator `shapes` makes all images: JPEG files (quality 90), read by PyTorch's DataLoader with its best number of
workers and by wellspring.torch.IterableDataset; and new images in every step, drawn by array code of PyTorch
(shapes.py) and by wellspring.torch.IterableDataset. The array code also runs with torch.compile around drawing, network
and loss: the images are made inside the compiled step. Every way starts from the same weights, with the same batch and
optimizer, and is measured on the same held-out images.

    PYTHONPATH=build/release/python python bench/peers/torch_training.py [--images 4000] [--side 32] [--steps 1500]
                                                                         [--turns 3]

Prints one JSON object: for each way images/s (without the first ten steps, and without workers' start) and the accuracy
on 2,000 held-out images, medians of the turns, and `absent`: the ways that do not work here. Needs torch, torchvision,
Pillow and the Python package.
"""

import argparse
import json
import os
import pathlib
import statistics
import tempfile
import time

import generate
import torch
import torchvision
from PIL import Image
from rates import reason
from torch import nn
from torch_step import drawing
from torchvision.transforms import functional

import wellspring as ws
import wellspring.torch

BATCH, HELD_OUT, WARM_UP = 128, 2000, 10
COMPILED = "PyTorch's array code, compiled with the network"


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


def drawn_and_loss(model, side):
    """The loss of a batch that is drawn in the same function."""
    draw = drawing(BATCH, side, "cpu")

    def loss():
        images, labels = draw()
        return nn.functional.cross_entropy(model(images), labels)

    return loss


def losses_of_batches(batches):
    return lambda model: (nn.functional.cross_entropy(model(images), labels) for images, labels in batches)


def losses_compiled(side, steps):
    def losses(model):
        torch.compiler.reset()
        loss = torch.compile(drawn_and_loss(model, side))
        for _ in range(steps):
            yield loss()

    return losses


def train(losses, held_out, steps):
    """Images/s and accuracy. `losses`: a function of the model that yields the loss of each step."""
    model = network()
    optimizer = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=8e-3, total_steps=steps)
    seen, begin = -WARM_UP, 0
    for loss in losses(model):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        seen += 1
        if seen == 0:
            begin = time.perf_counter()
    rate = seen * BATCH / (time.perf_counter() - begin)
    model.eval()
    with torch.no_grad():
        right = (model(held_out.x).argmax(1) == held_out.label).double().mean()
    return {"images_per_second": rate, "accuracy": float(right)}


def ways_of(folder, side, steps):
    """For each way (images, by): a function that makes its losses."""
    processors = len(os.sched_getaffinity(0))

    def files(storage):
        source = {"kind": "files", "path": str(folder), "storage": storage}
        return lambda: losses_of_batches(of_configuration(source, side, steps))

    def loader(workers):
        return lambda: losses_of_batches(of_loader(folder, workers, steps))

    drawn = {"kind": "generator", "generator": "shapes"}
    return {
        **{("JPEG files", f"DataLoader, {count} workers"): loader(count)
           for count in sorted({0, processors, 2 * processors})},
        **{("JPEG files", f"Wellspring, {storage}"): files(storage) for storage in ("streamed", "resident")},
        ("new", "PyTorch's array code"): lambda: losses_of_batches(of_torch(side, steps)),
        ("new", COMPILED): lambda: losses_compiled(side, steps),
        ("new", "Wellspring"): lambda: losses_of_batches(of_configuration(drawn, side, steps)),
    }  # fmt: skip


def measure(ways, turns, held_out, steps):
    """Runs of each way, and the reasons of ways that do not work. Later turns have only the best number of workers."""
    runs, absent = {way: [] for way in ways}, {}
    for turn in range(turns):
        for way, losses in ways.items():
            if way[1] in absent or way not in runs:
                continue
            try:
                runs[way].append(train(losses(), held_out, steps))
            except Exception as error:  # torch.compile needs a C++ compiler
                if way[1] != COMPILED:
                    raise
                absent[way[1]] = reason(error)
        if turn == 0:
            loaders = [way for way in runs if way[1].startswith("DataLoader")]
            best = max(loaders, key=lambda way: runs[way][0]["images_per_second"])
            for way in loaders:
                if way != best:
                    del runs[way]
    return {way: seen for way, seen in runs.items() if way[1] not in absent}, absent


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=4000)
    parser.add_argument("--side", type=int, default=32)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    held_out = ws.Generator("shapes", size=options.side, seed=1).batch(10**9, HELD_OUT, layout="NCHW")
    held_out = ws.Batch(wellspring.torch.tensors(held_out))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write(folder, options.images, options.side)
        runs, absent = measure(ways_of(folder, options.side, options.steps), options.turns, held_out,
                               options.steps)
    rows = []
    for (images, by), seen in runs.items():
        rates = [run["images_per_second"] for run in seen]
        rows.append({"images": images, "by": by, "images_per_second": round(statistics.median(rates), 1),
                     "lowest": round(min(rates), 1), "highest": round(max(rates), 1),
                     "accuracy": round(statistics.median(run["accuracy"] for run in seen), 4)})  # fmt: skip
    work = (f"{options.steps} steps (AdamW, one cycle of the rate) of three convolutions on {options.side}x{options.side} "
            f"images of `shapes`, batches of {BATCH}, f32; {options.images} JPEG files, or new images in every step")
    print(json.dumps({"work": work, "version": torch.__version__, "turns": options.turns, "rows": rows, "absent": absent},
                     indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
