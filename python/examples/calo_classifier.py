"""Trains a classifier between two files of calorimeter showers, as the CaloChallenge compares simulations.

    python python/examples/calo_classifier.py geant4.hdf5 fast.hdf5
    python python/examples/calo_classifier.py          of two models of calo_gflash

Both files have the layout of the CaloChallenge (incident_energies and showers, MeV). The result is the area under the
ROC curve on held-out showers: 0.5 if the classifier cannot tell the files apart, 1 if it always can.
"""

import argparse
import pathlib
import tempfile

import numpy as np
import torch
from torch import Tensor, nn

import wellspring as ws


def generated(folder: str, count: int) -> list[pathlib.Path]:
    """Showers of the full and of the simplified model, exported as files."""
    files = []
    for mode in ("gflash", "gflash_lite"):
        files.append(pathlib.Path(folder, f"{mode}.hdf5"))
        ws.export("calo_gflash", files[-1], count=count, seed=len(files), mode=mode)
    return files


def showers(file: pathlib.Path) -> Tensor:
    """log10 of each voxel's share of the incident energy, and of that energy."""
    with tempfile.TemporaryDirectory() as folder:
        ws.export(file, pathlib.Path(folder, "showers.npz"))
        with np.load(pathlib.Path(folder, "showers.npz")) as arrays:
            x, energy = torch.from_numpy(arrays["x"]), torch.from_numpy(arrays["latents"][:, :1])
    return torch.cat([torch.log10(x / energy + 1e-6), torch.log10(energy)], 1)


def area_under_curve(scores: Tensor, labels: Tensor) -> float:
    """Probability that a shower of the second file has a larger score than one of the first."""
    ranks = torch.empty(len(scores), dtype=torch.float64)
    ranks[scores.argsort()] = torch.arange(1, len(scores) + 1, dtype=torch.float64)
    second = labels > 0.5
    count = int(second.sum())
    return float((ranks[second].sum() - count * (count + 1) / 2) / (count * (len(scores) - count)))


def main() -> None:
    parser = argparse.ArgumentParser(description="Area under the ROC curve of a classifier between two files of showers.")
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="two files of showers; default: generated ones")
    parser.add_argument("--count", type=int, default=20_000, help="showers per generated file")
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()
    if len(options.files) not in (0, 2):
        parser.error("give two files, or none")

    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        first, second = map(showers, options.files or generated(folder, options.count))
    x = torch.cat([first, second])
    labels = torch.cat([torch.zeros(len(first)), torch.ones(len(second))])
    x = (x - x.mean(0)) / (x.std(0) + 1e-6)
    order = torch.randperm(len(x))
    held_out, used = order[: len(x) // 5], order[len(x) // 5 :]

    network = nn.Sequential(nn.Linear(x.shape[1], 256), nn.GELU(), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 1))
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    for epoch in range(options.epochs):
        for rows in torch.split(used[torch.randperm(len(used))], 256):
            loss = nn.functional.binary_cross_entropy_with_logits(network(x[rows])[:, 0], labels[rows])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        with torch.no_grad():
            area = area_under_curve(network(x[held_out])[:, 0], labels[held_out])
        print(f"epoch {epoch + 1}  loss {loss.item():.3f}  area under the curve {area:.3f}", flush=True)


if __name__ == "__main__":
    main()
