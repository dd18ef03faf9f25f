"""The reference training step in JAX, with image generation fused into the compiled program, to compare with
`wellspring bench train`.

The network is the same as in torch_step.py: three 3x3 convolutions (3-32-64-128 channels, same padding, ReLU, 2x2 max
pooling after each) on 32x32 images, the mean over the remaining pixels, a dense layer to 10 classes, cross-entropy, SGD
with momentum; batch 128, NHWC; on a CPU in f32, on a GPU in bf16 with the weights and the loss in f32. The images
follow the generator shapes with its defaults: one of ten shapes, drawn from its signed distance, with random position,
scale, angle and two colours, on a plain background. There are two measurements: one call per step, and --inner steps
per call with `lax.scan`. The latter excludes the cost of Python, but XLA's CPU convolutions may then use a single
thread.

    python bench/peers/jax_step.py [--device cpu] [--seconds 10] [--side 32] [--batch 128] [--inner N]

--side 224 is the pattern of which a talk reports 40,000 generated and 8,000 trained images/s: 224x224x3 images, made and
trained on in one compiled program. `wellspring bench train --size 224` trains the same network.

Prints one JSON object: median and quartiles of a step with fresh images and of a step on a resident batch, each from
the faster of the two measurements. Exit code 4 if the device cannot be used.
"""

import argparse
import json
import os
import statistics
import sys
import time

import jax
import jax.numpy as jnp
import shapes
from jax import lax

WIDTHS = (3, 32, 64, 128)
NO_DEVICE = 4


def image(key, side):
    """One image [side, side, 3] and its label."""
    keys = iter(jax.random.split(key, 6))
    label = jax.random.randint(next(keys), (), 0, shapes.CLASSES)
    scale, place, angle, front, back = shapes.parameters(
        lambda columns, low, high: jax.random.uniform(next(keys), (columns,), minval=low, maxval=high))
    u, v = shapes.local(jnp, (jnp.arange(side) + 0.5) / side, scale, place, angle)
    distance = jnp.take(jnp.stack([of(jnp, jnp.abs(u), v) for of in shapes.DISTANCES]), label, axis=0)
    return shapes.paint(jnp, distance, scale, front, back), label


def initial(key):
    params = []
    for inputs, outputs in zip(WIDTHS, WIDTHS[1:]):
        key, own = jax.random.split(key)
        weights = jax.random.normal(own, (3, 3, inputs, outputs)) * (2 / (9 * inputs)) ** 0.5
        params.append((weights, jnp.zeros(outputs)))
    params.append((jax.random.normal(key, (WIDTHS[-1], shapes.CLASSES)) * WIDTHS[-1] ** -0.5, jnp.zeros(shapes.CLASSES)))
    return params, jax.tree.map(jnp.zeros_like, params)


def loss(params, images, labels, compute):
    x = images.astype(compute)
    for weights, bias in jax.tree.map(lambda p: p.astype(compute), params[:-1]):
        x = lax.conv_general_dilated(x, weights, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = jax.nn.relu(x + bias)
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    weights, bias = params[-1]
    logits = jnp.mean(x.astype(jnp.float32), (1, 2)) @ weights + bias
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1))


def train_steps(side, batch, inner, fresh, compute):
    """A compiled function of (state, first step) that runs `inner` steps."""
    draw = jax.vmap(lambda step, row: image(jax.random.fold_in(jax.random.fold_in(jax.random.key(1), step), row), side),
                    in_axes=(None, 0))
    resident = jax.jit(draw)(0, jnp.arange(batch))

    def one(state, step):
        params, momentum = state
        images, labels = draw(step, jnp.arange(batch)) if fresh else resident
        value, gradient = jax.value_and_grad(loss)(params, images, labels, compute)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradient)
        params = jax.tree.map(lambda p, m: p - 0.01 * m, params, momentum)
        return (params, momentum), value

    if inner == 1:
        return jax.jit(one, donate_argnums=0)
    return jax.jit(lambda state, first: lax.scan(one, state, first + jnp.arange(inner)), donate_argnums=0)


def measure(side, batch, inner, seconds, fresh, compute):
    run = train_steps(side, batch, inner, fresh, compute)
    state = initial(jax.random.key(0))
    state, _ = jax.block_until_ready(run(state, 0))
    times, steps, end = [], inner, time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 2:
        begin = time.perf_counter()
        state, losses = jax.block_until_ready(run(state, steps))
        times.append(1e3 * (time.perf_counter() - begin) / inner)
        steps += inner
    quartiles = statistics.quantiles(times, n=4)
    return {
        "steps_a_call": inner,
        "steps": steps,
        "median_ms": round(statistics.median(times), 3),
        "quartiles_ms": [round(quartiles[0], 3), round(quartiles[2], 3)],
        "images_per_second": round(1e3 * batch / statistics.median(times), 1),
        "last_loss": round(float(jnp.ravel(losses)[-1]), 3),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--side", type=int, default=32, help="height and width of an image, pixels")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--inner", type=int, help="steps per call in the second measurement (default: 20; on a CPU 2, "
                        "because a step in a loop can take ten times as long; 1: only one call per step)")
    parser.add_argument("--seconds", type=float, default=10.0, help="duration of each measurement")
    arguments = parser.parse_args()
    jax.config.update("jax_platforms", arguments.device)
    try:
        device = jax.devices()[0].device_kind
    except (RuntimeError, AssertionError) as error:  # no device, or no JAX backend for it
        why = (str(error) or "this JAX has no backend for it").splitlines()[0]
        print(f"JAX {jax.__version__} cannot use '{arguments.device}' here: {why}", file=sys.stderr)
        return NO_DEVICE
    inner_steps = arguments.inner or (2 if arguments.device == "cpu" else 20)
    compute = jnp.bfloat16 if arguments.device == "cuda" else jnp.float32
    runs = {
        name: min(
            (measure(arguments.side, arguments.batch, inner, arguments.seconds, fresh, compute)
             for inner in sorted({1, inner_steps})),
            key=lambda run: run["median_ms"],
        )
        for name, fresh in (("generating", True), ("resident", False))
    }
    print(json.dumps({
        "peer": "JAX",
        "version": jax.__version__,
        "work": f"cnn 3-32-64-128, {arguments.side}x{arguments.side}x3 shapes drawn in the same program, training step, "
                f"{jnp.dtype(compute)}, NHWC",
        "device": device,
        "side": arguments.side,
        "batch": arguments.batch,
        "processors": len(os.sched_getaffinity(0)),
        **runs,
    }, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
