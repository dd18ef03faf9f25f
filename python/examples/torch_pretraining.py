"""Pretrains a small vision transformer of PyTorch on generated images, and fine-tunes it on a folder of photographs.

    python python/examples/torch_pretraining.py --steps 500 --photos photos/

Every image of pretraining is new: no file is read, and no worker process is needed. With several processes (torchrun),
each makes its own part of the global batch. The folder has a subfolder of images per class.
"""

import argparse
import pathlib
from typing import Any

import torch
from torch import nn

import wellspring.torch

SIZE, PATCH, WIDTH = 32, 8, 96
# 20 classes of sums of waves on circles, as `wellspring describe visual_atom` explains.
ATOMS = {"name": "atoms", "kind": "generator", "generator": "visual_atom", "params": {"classes": 20}}


def config(source: dict[str, Any], batch: int, steps: int) -> dict[str, Any]:
    return {
        "seed": 1,
        "data": {
            "size": SIZE,
            "normalise": {"mean": [0.5], "std": [0.25]},
            "augment": [{"flip_x": 0.5}],
            "sources": [source],
        },
        "model": {"name": "mlp"},  # not used here; a configuration names one
        "train": {"batch": batch, "steps": steps},
    }


class VisionTransformer(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, PATCH, PATCH)
        self.position = nn.Parameter(torch.randn(1, (SIZE // PATCH) ** 2, WIDTH) * 0.02)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = self.patches(x).flatten(2).transpose(1, 2) + self.position
        logits: torch.Tensor = self.head(self.blocks(tokens).mean(1))
        return logits


def train(network: VisionTransformer, source: dict[str, Any], options: argparse.Namespace) -> None:
    dataset = wellspring.torch.IterableDataset(config(source, options.batch, options.steps), set={"device": options.device})
    loader = torch.utils.data.DataLoader(dataset, batch_size=None)
    network.to(options.device)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    for step, batch in enumerate(loader, 1):
        logits = network(batch["x"])
        loss = nn.functional.cross_entropy(logits, batch["label"])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if step % 20 == 0 or step == options.steps:
            accuracy = (logits.argmax(1) == batch["label"]).float().mean()
            print(f"{source['name']}  step {step}  loss {loss.item():.3f}  accuracy {accuracy.item():.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--device", default="cpu", help="device of the network and of the samples")
    parser.add_argument("--photos", type=pathlib.Path, help="folder with a subfolder of images per class")
    options = parser.parse_args()

    network = VisionTransformer(classes=20)
    train(network, ATOMS, options)
    if options.photos is None:
        return
    network.head = nn.Linear(WIDTH, sum(entry.is_dir() for entry in options.photos.iterdir()))
    train(network, {"name": "photos", "kind": "files", "path": str(options.photos), "resize": SIZE,
                    "on_convert": "convert"}, options)


if __name__ == "__main__":
    main()
