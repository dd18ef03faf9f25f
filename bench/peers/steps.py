"""Training steps on a CPU in PyTorch and in `wellspring bench train`, alternately, on a resident batch.

Both train the same networks with SGD and momentum. PyTorch uses channels_last and the fastest of several numbers of
threads; in bf16 it uses autocast, with weights in f32. Wellspring stores weights and activations in bf16.

    python bench/peers/steps.py WELLSPRING [--networks NAME,...] [--precisions f32,bf16] [--seconds 5] [--turns 3]

Prints one JSON object: images/s of both for each network and precision, medians and extremes of the turns. Needs torch,
torchvision and timm.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import torch
from torch_step import make_step

# Network of torch_step.py: model here, image side, batch.
NETWORKS = {
    "cnn": ("{name: cnn, widths: [32, 64, 128], blocks: [0, 0, 0], pool: [1, 1, 1], norm: none}", 32, 128),
    "resnet18": ("{name: resnet18, stem: cifar}", 32, 32),
    "resnet50": ("{name: resnet50}", 64, 32),
    "vit_tiny": ("{name: vit, preset: tiny, patch: 4}", 32, 64),
}
NAMES = {"cnn": "three convolutions", "vit_tiny": "vit-tiny, patch 4"}


def torch_rate(step, batch, threads, seconds):
    torch.set_num_threads(threads)
    for _ in range(2):
        step()
    steps, begin = 0, time.perf_counter()
    while (now := time.perf_counter()) < begin + seconds or steps < 3:
        step()
        steps += 1
    return batch * steps / (now - begin)


def our_rate(program, config, precision):
    """The rate on a resident batch, from pairs of windows with and without drawing the images."""
    out = config.with_suffix(".json")
    subprocess.run([program, "bench", "train", config, "--device", "cpu", f"precision={precision}", "--json", out],
                   check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    return json.loads(out.read_text())["rows"][0]["ceiling"]["rate"]


def summary(rates):
    return {"images_per_second": round(statistics.median(rates), 1), "lowest": round(min(rates), 1),
            "highest": round(max(rates), 1)}  # fmt: skip


def compare(arguments, network, precision, folder):
    model, side, batch = NETWORKS[network]
    config = folder / f"{network}.yaml"
    config.write_text(f"""name: {network}
data: {{size: {side}, sources: [{{name: shapes, generator: shapes}}]}}
model: {model}
optimizer: {{kind: sgd, momentum: 0.9, lr: 0.01}}
train: {{batch: {batch}, steps: 1000000, clip: 0}}
""")
    usable = len(os.sched_getaffinity(0))
    step = make_step(network, batch, "cpu", False, side, precision == "bf16")
    ours, theirs = [], {threads: [] for threads in sorted({1, usable, 2 * usable})}
    for _ in range(arguments.turns):
        ours.append(our_rate(arguments.wellspring, config, precision))
        for threads, rates in theirs.items():
            rates.append(torch_rate(step, batch, threads, arguments.seconds))
    best = max(theirs, key=lambda threads: statistics.median(theirs[threads]))
    return {
        "network": NAMES.get(network, network), "side": side, "batch": batch, "precision": precision,
        "wellspring": summary(ours), "pytorch": {"threads": best, **summary(theirs[best])},
        "ratio": round(statistics.median(a / b for a, b in zip(ours, theirs[best])), 2),
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("wellspring", type=pathlib.Path, help="the program")
    parser.add_argument("--networks", default=",".join(NETWORKS), help=f"of {', '.join(NETWORKS)}")
    parser.add_argument("--precisions", default="f32,bf16")
    parser.add_argument("--seconds", type=float, default=5.0, help="duration of each of PyTorch's turns")
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    arguments.wellspring = arguments.wellspring.resolve()
    networks = arguments.networks.split(",")
    if unknown := sorted(set(networks) - set(NETWORKS)):
        parser.error(f"--networks {','.join(unknown)}: choose from {', '.join(NETWORKS)}")
    with tempfile.TemporaryDirectory() as name:
        rows = [compare(arguments, network, precision, pathlib.Path(name))
                for network in networks for precision in arguments.precisions.split(",")]  # fmt: skip
    print(json.dumps({"peer": "PyTorch", "version": torch.__version__, "processors": len(os.sched_getaffinity(0)),
                      "rows": rows}, indent=2))  # fmt: skip


if __name__ == "__main__":
    main()
