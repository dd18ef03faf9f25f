"""Asks how much of a PyTorch training step is lost to its DataLoader, and compares a generator.

    python python/examples/torch_diagnosis.py --seconds 60
"""

import argparse
import itertools
from collections.abc import Iterator

import torch
from torch import nn
from torch.utils.dlpack import from_dlpack

import wellspring as ws

SIZE, BATCH = 32, 64


class Disks(torch.utils.data.Dataset[tuple[torch.Tensor, int]]):
    """Disks of two sizes, drawn with PyTorch: a data set as one writes it at first."""

    def __len__(self) -> int:
        return 50 * BATCH

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        random = torch.Generator().manual_seed(index)
        label = index % 2
        centre = SIZE * torch.rand(2, generator=random)
        rows, columns = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
        inside = (rows - centre[0]) ** 2 + (columns - centre[1]) ** 2 < (6 + 6 * label) ** 2
        return inside.float().expand(3, SIZE, SIZE) + 0.1 * torch.randn(3, SIZE, SIZE, generator=random), label


def shapes() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Batches of a generator, in the same form."""
    generator = ws.Generator("shapes", size=SIZE, classes=2)
    for step in itertools.count():
        batch = generator.batch(step * BATCH, BATCH, layout="NCHW")
        yield from_dlpack(batch.x), from_dlpack(batch.label).long()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=30)
    seconds: float = parser.parse_args().seconds
    model = nn.Sequential(nn.Conv2d(3, 16, 3, 2), nn.ReLU(), nn.Conv2d(16, 32, 3, 2), nn.ReLU(), nn.Flatten(),
                          nn.LazyLinear(2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step(batch: tuple[torch.Tensor, torch.Tensor]) -> None:
        images, labels = batch
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    model(torch.zeros(1, 3, SIZE, SIZE))  # gives the last layer its size
    loader = torch.utils.data.DataLoader(Disks(), BATCH)
    print(ws.diagnose(step, loader, seconds=seconds, name="DataLoader"))
    print(ws.diagnose(step, shapes, samples=BATCH, seconds=seconds, name="wellspring.Generator"))


if __name__ == "__main__":
    main()
