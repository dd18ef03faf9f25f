"""The images of `shapes` on a CPU, as a user would otherwise write them, to compare with `wellspring bench generators`.

NumPy and PyTorch draw a batch with whole-array operations, one class after another; JAX compiles the drawing of one image
for a batch (vmap); Numba compiles a loop over pixels. All use every processor that they can, in f32.

    python bench/peers/generate.py WELLSPRING [--side 224] [--batch 64] [--seconds 3] [--turns 3]

Prints one JSON object: for each peer and for Wellspring the median, lowest and highest rate of the turns. Packages that
are missing are listed in `absent`.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import tempfile
import time

import numpy
import shapes
from rates import summary


def of_arrays(xp, batch, side, uniform, labels, at):
    """Draws a batch; each class has its own rows, so that only its distance is computed."""
    scale, place, angle, front, back = shapes.parameters(uniform)
    u, v = shapes.local(xp, at, scale, place, angle)
    distance = u * 0
    for label in range(shapes.CLASSES):
        rows = labels == label
        distance[rows] = shapes.DISTANCES[label](xp, abs(u[rows]), v[rows])
    return shapes.paint(xp, distance, scale, front, back)


def numpy_peer(batch, side):
    draw = numpy.random.default_rng(1)
    at = (numpy.arange(side, dtype=numpy.float32) + 0.5) / side

    def uniform(columns, low, high):
        return low + (high - low) * draw.random((batch, columns), dtype=numpy.float32)

    return numpy.__version__, lambda: of_arrays(numpy, batch, side, uniform, draw.integers(0, shapes.CLASSES, batch), at)


def torch_peer(batch, side, with_labels=False):
    import torch

    draw = torch.Generator().manual_seed(1)
    at = (torch.arange(side) + 0.5) / side

    def uniform(columns, low, high):
        return low + (high - low) * torch.rand(batch, columns, generator=draw)

    def run():
        labels = torch.randint(0, shapes.CLASSES, (batch,), generator=draw)
        images = of_arrays(torch, batch, side, uniform, labels, at)
        return (images, labels) if with_labels else images

    return torch.__version__, run


def jax_peer(batch, side):
    import jax
    from jax_step import image

    jax.config.update("jax_platforms", "cpu")
    draw = jax.jit(lambda step: jax.vmap(lambda row: image(jax.random.fold_in(jax.random.key(step), row), side))(
        jax.numpy.arange(batch)))  # fmt: skip
    steps = iter(range(1 << 30))
    return jax.__version__, lambda: jax.block_until_ready(draw(next(steps)))


def numba_peer(batch, side):
    import numba

    @numba.njit(fastmath=True)
    def length(a, b):
        return math.sqrt(a * a + b * b)

    @numba.njit(fastmath=True)
    def signed_distance(label, x, y):
        ax, ay = abs(x), abs(y)
        if label == 0:
            return length(x, y) - 1
        if label == 1:
            return abs(length(x, y) - 1) - 0.25
        if label == 2:
            return max(length(x, y) - 1.3973045, 1.1178436 - length(x, y - 0.76851746))
        if label == 3:
            return max(-y, 0.8660254 * ax + 0.5 * y) - 0.77756015
        if label == 4:
            return max(ax, ay) - 0.88622693
        if label == 5:
            return max(0.58778525 * ax + 0.80901699 * y, 0.95105652 * ax - 0.30901699 * y, -y) - 0.92994960
        if label == 6:
            return max(ax, 0.5 * ax + 0.8660254 * ay) - 0.95231281
        if label == 7:
            first, second = y, y - 1e9
            for other in (0.58778525 * ax - 0.80901699 * y, -0.58778525 * ax - 0.80901699 * y,
                          0.95105652 * ax + 0.30901699 * y, -0.95105652 * ax + 0.30901699 * y):  # fmt: skip
                second = max(second, min(first, other))
                first = max(first, other)
            return second - 0.51695245
        if label == 8:
            return max(max(ax, ay) - 1.1889982, min(ax, ay) - 0.39633273)
        square = 0.70710678 * (ax + ay) - 0.66325021
        return min(square, length(ax - 0.46898872, y - 0.46898872) - 0.66325021)

    @numba.njit(fastmath=True, parallel=True)
    def draw(out, labels, scale, place, angle, front, back):
        side = out.shape[1]
        for i in numba.prange(out.shape[0]):
            cos, sin = math.cos(angle[i, 0]) / scale[i, 0], math.sin(angle[i, 0]) / scale[i, 0]
            for row in range(side):
                dy = place[i, 1] - numpy.float32((row + 0.5) / side)
                for column in range(side):
                    dx = numpy.float32((column + 0.5) / side) - place[i, 0]
                    d = signed_distance(labels[i], cos * dx + sin * dy, cos * dy - sin * dx)
                    cover = min(max(0.5 - d * scale[i, 0] * side, 0), 1)
                    for c in range(3):
                        out[i, row, column, c] = back[i, c] + cover * (front[i, c] - back[i, c])

    random = numpy.random.default_rng(1)
    out = numpy.empty((batch, side, side, 3), numpy.float32)

    def uniform(columns, low, high):
        return low + (high - low) * random.random((batch, columns), dtype=numpy.float32)

    return numba.__version__, lambda: draw(out, random.integers(0, shapes.CLASSES, batch), *shapes.parameters(uniform))


PEERS = {"NumPy": numpy_peer, "PyTorch": torch_peer, "JAX": jax_peer, "Numba": numba_peer}


def rate(run, batch, seconds):
    calls, begin = 0, time.perf_counter()
    while (now := time.perf_counter()) < begin + seconds or calls == 0:
        run()
        calls += 1
    return batch * calls / (now - begin)


def our_rate(program, batch, side):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([program, "bench", "generators", "--filter", "^shapes$", "--size", str(side), "--batch", str(batch),
                        "--device", "cpu", "--repeats", "6", "--json", file.name],
                       check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        return json.load(file)["rows"][0]["rate"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("wellspring", type=pathlib.Path, help="the program")
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=3.0, help="duration of each turn")
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    peers, absent = {}, {}
    for name, make in PEERS.items():
        try:
            peers[name] = make(arguments.batch, arguments.side)
            peers[name][1]()  # compiles
        except ImportError as error:
            absent[name] = str(error)
    ours, rates = [], {name: [] for name in peers}
    for _ in range(arguments.turns):
        ours.append(our_rate(arguments.wellspring, arguments.batch, arguments.side))
        for name, (_, run) in peers.items():
            rates[name].append(rate(run, arguments.batch, arguments.seconds))
    print(json.dumps({
        "work": f"shapes {arguments.side}x{arguments.side}x3, f32, batches of {arguments.batch}",
        "processors": len(os.sched_getaffinity(0)),
        "wellspring": summary(ours),
        "peers": [{"peer": name, "version": peers[name][0], **summary(seen)} for name, seen in rates.items()],
        "absent": absent,
    }, indent=2))  # fmt: skip


if __name__ == "__main__":
    main()
