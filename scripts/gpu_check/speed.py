"""Rates with the state of the device, the same training step in PyTorch and JAX, profiles of the heaviest kernels."""

import importlib.util
import json
import pathlib
import re
import sys
import tempfile

from gpu_check.device_tests import find_tool
from gpu_check.installation import nvidia_smi
from gpu_check.lines import positive
from gpu_check.running import Check, Failed, NotMade

# State that determines a rate: clocks, power, and throttling.
STATE = ["clocks.sm", "clocks.mem", "power.draw", "temperature.gpu", "clocks_throttle_reasons.active",
         "utilization.gpu"]  # fmt: skip
QUICK_ROWS = "^(shapes|noise) 224"
# The smallest runs that show that the benchmarks work.
TINY = {
    "generators": ["--filter", "^(shapes|ee_mumu)$", "--batch", 64, "--size", 32, "--repeats", 2],
    "train": ["--filter", "^mlp"],
    "ops": ["--filter", "^group norm 1024"],
}
NETWORK = "^three convolutions"
PEERS = {"torch": "torch_step.py", "jax": "jax_step.py"}
PEER_NETWORK = "three convolutions 32x32 batch 128 shapes"
PEER_HAS_NO_GPU = 4  # exit code
HEAVIEST = ("shapes", "noise", "dead_leaves", "ifs", "gray_scott", "ginkgo")


def bench(context, what, arguments, seconds):
    """Runs `wellspring bench` and adds its rows to the report."""
    states = {"before": nvidia_smi(context.device, STATE)}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rows.json"
        command = [context.program, "bench", what, "--device", context.device, "--json", path, *arguments]
        context.run(f"bench {what}", command, seconds)
        rows = json.loads(path.read_text())["rows"]
    for row in rows:
        positive(row, "rate")
        float(row["spread"])
    if not rows:
        raise Failed("no rows")
    context.report.rates += rows
    states["after"] = states["before"] and nvidia_smi(context.device, STATE)
    words = [f"{when}: " + ", ".join(f"{key} {value}" for key, value in state.items())
             for when, state in states.items() if state]  # fmt: skip
    return "\n".join([f"{len(rows)} rows", *words])


def bench_check(context, seconds, what, *arguments):
    return Check(" ".join(["bench", what, *map(str, arguments)]), bench, context, what, arguments, seconds=seconds)


def quick_rates(context):
    yield bench_check(context, 120, "generators", *(TINY["generators"] if context.quick else ["--filter", QUICK_ROWS]))


def rates(context):
    for what in TINY if context.quick else ("train", "ops", "generators", "augmentation"):
        yield bench_check(context, 240, what, *(TINY[what] if context.quick else []))


def variants(context):
    """Measures batches that fill the device, and images of ImageNet's size."""
    if context.quick:
        yield bench_check(context, 60, "train", *TINY["train"], "--batch", 64)
        return
    for batch in (512, 1024, 2048, 4096):  # the default is 128
        yield bench_check(context, 60, "train", "--filter", NETWORK, "--batch", batch)
    yield bench_check(context, 120, "train", "--filter", f"{NETWORK}|^residual", "--size", 224, "--batch", 64)


def peer(context, module, script, seconds):
    if importlib.util.find_spec(module) is None:
        raise NotMade(f"this Python has no {module}")
    command = [sys.executable, context.installation.peers / script, "--device", "cuda", "--seconds",
               1 if context.quick else 4]  # fmt: skip
    result = context.run(f"peer {module}", command, seconds, must_pass=False)
    if result.returncode == PEER_HAS_NO_GPU:
        raise NotMade(result.stderr.strip().splitlines()[-1])
    if result.returncode != 0:
        raise Failed(result.tail())
    seen = json.loads(result.stdout)
    words = [f"{seen['peer']} {seen['version']}, {seen['work']}"]
    # Our step generates each batch; its ceiling is the step on a resident batch.
    ours = next((row for row in context.report.rates if row["name"] == PEER_NETWORK), None)
    own = {"generating": ours["rate"], "resident": ours["ceiling"]["rate"]} if ours else {}
    for way in [way for way in ("resident", "generating") if way in seen]:
        (rate,) = positive(seen[way], "images_per_second")
        ratio = f", ours {own[way] / rate:.2f} times as many" if own else ""
        words.append(f"{way}: {rate:.0f} images/s{ratio}")
    if len(words) == 1:
        raise Failed("no rate\n" + result.tail())
    context.report.records[f"peer {module}"] = seen
    return "\n".join(words)


def peers(context):
    for module, script in PEERS.items():
        yield Check(f"the training step in {module}", peer, context, module, script, seconds=150)


def profiles(context):
    """Profiles the kernels of the heaviest generators and a training step."""

    def check(name, command, seconds):
        with tempfile.TemporaryDirectory() as folder:
            own = [f"out={folder}/run"] if "train" in command else []
            result = context.run(f"ncu {name}", [find_tool(context, "ncu"), *command, *own], seconds)
        seen = re.findall(r"Duration\s+(\S+)\s+([\d.,]+)", result.stdout)
        if not seen:
            raise Failed(result.tail())
        return f"{len(seen)} kernels: " + ", ".join(f"{value} {unit}" for unit, value in seen[:6])

    for name in HEAVIEST:
        command = ["--set", "full", "--launch-count", 6, context.program, "digest", name, "--count", 4096,
                   "--batch", 4096, "--device", context.device]  # fmt: skip
        yield Check(name, check, name, command, seconds=90)
    step = ["--graph-profiling", "node", "--launch-skip", 120, "--launch-count", 60, context.program, "train",
            context.configs / "quickstart.yaml", f"device={context.device}", "train.steps=8", "eval.sources=[]"]  # fmt: skip
    yield Check("a step of the quickstart", check, "a step of the quickstart", step, seconds=90)
