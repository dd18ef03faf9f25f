"""Training steps on a CPU in PyTorch and in `wellspring bench train`, alternately, on a resident batch.

Both train the same networks with SGD and momentum. PyTorch uses channels_last and the fastest of several numbers of
threads, eagerly and with torch.compile (with the number of threads that is the fastest eagerly); in bf16 it uses autocast,
with weights in f32. Wellspring stores weights and activations in bf16. If a step of PyTorch takes more than --seconds,
only one number of threads is measured; no turn begins when a row has taken --row-seconds.

    python bench/peers/steps.py WELLSPRING [--networks NAME,...] [--precisions f32,bf16] [--seconds 5] [--turns 3]

Prints one JSON object: images/s of both for each network and precision, medians and extremes of the turns; "compiled" has
the rate of torch.compile, or the reason why it does not work here (it needs a C++ compiler); "products" the FLOP/s of a
large matrix product. Needs torch, torchvision and timm.
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
from rates import ratio, reason, summary
from torch_step import make_step

# Network of torch_step.py: model here, image side, batch.
NETWORKS = {
    "cnn": ("{name: cnn, widths: [32, 64, 128], blocks: [0, 0, 0], pool: [1, 1, 1], norm: none}", 32, 128),
    "resnet18": ("{name: resnet18, stem: cifar}", 32, 32),
    "resnet50": ("{name: resnet50}", 64, 32),
    "vit_tiny": ("{name: vit, preset: tiny, patch: 4}", 32, 64),
}
NAMES = {"cnn": "three convolutions", "vit_tiny": "vit-tiny, patch 4"}


def timed(step):
    begin = time.perf_counter()
    step()
    return time.perf_counter() - begin


def torch_rate(step, batch, threads, seconds):
    torch.set_num_threads(threads)
    if timed(step) < seconds:
        step()  # the second step of the warm-up
    steps, begin = 0, time.perf_counter()
    while (now := time.perf_counter()) < begin + seconds or steps == 0:
        step()
        steps += 1
    return batch * steps / (now - begin)


def product_rate(dtype):
    """FLOP/s of PyTorch's product of two large matrices: what the layers of a network cannot exceed."""
    side = 2048
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    left, right = (torch.ones(side, side, dtype=dtype) for _ in range(2))
    torch.mm(left, right)
    return 2 * side**3 / statistics.median(timed(lambda: torch.mm(left, right)) for _ in range(9))


def our_rate(program, config, precision):
    """The rate on a resident batch, from pairs of windows with and without drawing the images."""
    out = config.with_suffix(".json")
    subprocess.run([program, "bench", "train", config, "--device", "cpu", f"precision={precision}", "--json", out],
                   check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    return json.loads(out.read_text())["rows"][0]["ceiling"]["rate"]


def compiled_or_why(network, batch, side, bf16, threads):
    """The step with torch.compile, compiled for this number of threads; or the reason why it does not work here."""
    torch.compiler.reset()  # all steps share one function, and a function is compiled only a few times
    torch.set_num_threads(threads)
    try:
        step = make_step(network, batch, "cpu", True, side, bf16)
        step()
        return step, ""
    except Exception as error:  # the compiler, or what it does not support
        return None, reason(error)


def compare(arguments, network, precision, folder):
    model, side, batch = NETWORKS[network]
    config = folder / f"{network}.yaml"
    config.write_text(f"""name: {network}
data: {{size: {side}, sources: [{{name: shapes, generator: shapes}}]}}
model: {model}
optimizer: {{kind: sgd, momentum: 0.9, lr: 0.01}}
train: {{batch: {batch}, steps: 1000000, clip: 0}}
""")
    end = time.perf_counter() + arguments.row_seconds
    bf16, usable = precision == "bf16", len(os.sched_getaffinity(0))
    step = make_step(network, batch, "cpu", False, side, bf16)
    torch.set_num_threads(usable)
    counts = [usable] if timed(step) > arguments.seconds else sorted({1, usable, 2 * usable})
    ours, eager = [], {threads: [] for threads in counts}
    compiled, compiled_threads, why = [], usable, ""
    for turn in range(arguments.turns):
        if turn > 0 and time.perf_counter() > end:
            break
        ours.append(our_rate(arguments.wellspring, config, precision))
        for threads, rates in eager.items():
            rates.append(torch_rate(step, batch, threads, arguments.seconds))
        if turn == 0:
            compiled_threads = max(eager, key=lambda threads: eager[threads][0])
            compiled_step, why = compiled_or_why(network, batch, side, bf16, compiled_threads)
        if not why:
            compiled.append(torch_rate(compiled_step, batch, compiled_threads, arguments.seconds))
    threads = max(eager, key=lambda threads: statistics.median(eager[threads]))
    best, theirs = {"kind": "eager", "threads": threads}, eager[threads]
    if compiled and statistics.median(compiled) > statistics.median(theirs):
        best, theirs = {"kind": "compiled", "threads": compiled_threads}, compiled
    return {
        "network": NAMES.get(network, network), "side": side, "batch": batch, "precision": precision, "turns": len(ours),
        "wellspring": summary(ours), "pytorch": {**best, **summary(theirs)},
        "eager": {"threads": threads, **summary(eager[threads])},
        "compiled": {"threads": compiled_threads, **summary(compiled)} if compiled else {"why": why},
        "ratio": ratio(ours, theirs),
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("wellspring", type=pathlib.Path, help="the program")
    parser.add_argument("--networks", default=",".join(NETWORKS), help=f"of {', '.join(NETWORKS)}")
    parser.add_argument("--precisions", default="f32,bf16")
    parser.add_argument("--seconds", type=float, default=5.0, help="duration of each of PyTorch's turns")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--row-seconds", type=float, default=90.0, help="no turn begins after this time")
    arguments = parser.parse_args()
    arguments.wellspring = arguments.wellspring.resolve()
    networks = arguments.networks.split(",")
    if unknown := sorted(set(networks) - set(NETWORKS)):
        parser.error(f"--networks {','.join(unknown)}: choose from {', '.join(NETWORKS)}")
    with tempfile.TemporaryDirectory() as name:
        rows = [compare(arguments, network, precision, pathlib.Path(name))
                for network in networks for precision in arguments.precisions.split(",")]  # fmt: skip
    products = {name: product_rate(dtype) for name, dtype in (("f32", torch.float32), ("bf16", torch.bfloat16))}
    print(json.dumps({"peer": "PyTorch", "version": torch.__version__, "processors": len(os.sched_getaffinity(0)),
                      "products": products, "rows": rows}, indent=2))  # fmt: skip


if __name__ == "__main__":
    main()
