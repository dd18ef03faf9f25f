"""The same training step in PyTorch and JAX, where this Python has them."""

import importlib.util
import json
import sys

from gpu_check.lines import positive
from gpu_check.running import Check, Outcome

PEERS = {"torch": "torch_step.py", "jax": "jax_step.py"}
OURS = "three convolutions 32x32 batch 128 shapes"
NO_GPU = 4  # a peer's exit code where it cannot use the GPU


def peers(_):
    for module, script in PEERS.items():
        yield Check(f"the training step in {module}", peer_check(module, script), 150)


def peer_check(module, script):
    def check(context, seconds):
        if importlib.util.find_spec(module) is None:
            return Outcome(None, f"this Python has no {module}")
        result = context.run(
            f"peer {module}",
            [sys.executable, context.installation.peers / script, "--device", "cuda", "--seconds",
             1 if context.quick else 4],
            seconds,
        )  # fmt: skip
        if result.returncode == NO_GPU:
            return Outcome(None, result.stderr.strip().splitlines()[-1])
        if result.returncode != 0:
            return Outcome(False, result.tail())
        try:
            seen = json.loads(result.stdout)
            ways = [way for way in ("resident", "generating") if way in seen]
            rates = {way: positive(seen[way], "images_per_second")[0] for way in ways}
            words = f"{seen['peer']} {seen['version']}, {seen['work']}"
        except (ValueError, KeyError, TypeError) as error:
            return Outcome(False, f"what it wrote is no rate ({error!r})\n{result.tail()}")
        context.report.records[f"peer {module}"] = seen
        return Outcome(bool(rates), "\n".join([words, *comparison(context.report.rates, rates)]))

    return check


def comparison(rows, rates):
    """Ours is drawn for each batch, and its ceiling is the step on a resident one."""
    ours = next((row for row in rows if row["name"] == OURS), None)
    own = {"generating": ours["rate"], "resident": ours["ceiling"]["rate"]} if ours else {}
    for way, rate in rates.items():
        times = f", ours {own[way] / rate:.2f} times as many" if way in own else ""
        yield f"{way}: {rate:.0f} images/s{times}"
