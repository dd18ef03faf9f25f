"""Trains a small network in JAX on images that the compiled step itself makes.

    python python/examples/jax_training.py --steps 200

A step is one call of a compiled function: it makes its batch, computes gradients and updates the weights.
"""

import argparse
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

import wellspring as ws
import wellspring.jax

SIZE, CLASSES, WIDTH = 16, 4, 64

Weights = dict[str, jax.Array]


def logits_of(weights: Weights, images: jax.Array) -> jax.Array:
    hidden = jax.nn.relu(images.reshape(len(images), -1) @ weights["in"] + weights["bias"])
    return hidden @ weights["out"]


def loss_of(weights: Weights, batch: Any) -> jax.Array:
    chosen = jax.nn.log_softmax(logits_of(weights, batch.x))[jnp.arange(len(batch.label)), batch.label]
    return -chosen.mean()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--device", default="cpu", help="device of the samples: that of JAX")
    options = parser.parse_args()

    generator = ws.Generator("visual_atom", size=SIZE, classes=CLASSES, device=options.device,
                             normalise={"mean": [0.5], "std": [0.25]})

    @partial(jax.jit, donate_argnums=0)
    def train_step(weights: Weights, step: jax.Array) -> tuple[Weights, jax.Array]:
        batch = wellspring.jax.batch(generator, step * options.batch, options.batch, columns=["label"])
        loss, gradient = jax.value_and_grad(loss_of)(weights, batch)
        return jax.tree.map(lambda weight, slope: weight - 0.02 * slope, weights, gradient), loss

    keys = jax.random.split(jax.random.key(0))
    inputs = SIZE * SIZE * 3
    weights = {"in": jax.random.normal(keys[0], (inputs, WIDTH)) * (2 / inputs) ** 0.5, "bias": jnp.zeros(WIDTH),
               "out": jax.random.normal(keys[1], (WIDTH, CLASSES)) * WIDTH**-0.5}
    for step in range(options.steps):
        weights, loss = train_step(weights, jnp.uint32(step))
        if (step + 1) % 20 == 0:
            print(f"step {step + 1}  loss {float(loss):.3f}", flush=True)


if __name__ == "__main__":
    main()
