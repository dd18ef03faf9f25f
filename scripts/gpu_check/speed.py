"""Rates, with the state of the device beside them, and profiles of the heaviest kernels."""

import json
import pathlib
import re
import shutil
import tempfile

from gpu_check.installation import nvidia_smi
from gpu_check.lines import positive
from gpu_check.running import Check, Outcome

# What decides a rate beside the program: clocks, power, and what holds them down.
STATE = ["clocks.sm", "clocks.mem", "power.draw", "temperature.gpu",
         "clocks_throttle_reasons.active", "utilization.gpu"]  # fmt: skip
QUICK_ROWS = "^(shapes|noise) 224"
# What shows no more than that the benchmarks run.
TINY = {
    "generators": ["--filter", "^(shapes|ee_mumu)$", "--batch", 64, "--size", 32, "--repeats", 2],
    "train": ["--filter", "^mlp"],
    "ops": ["--filter", "^group norm 1024"],
}
NETWORK = "^three convolutions"
BATCHES = (512, 1024, 2048, 4096)  # beside the usual 128
LARGE = ["--size", 224, "--batch", 64]  # a side and a batch of ImageNet's
HEAVIEST = ("shapes", "noise", "dead_leaves", "ifs", "gray_scott", "ginkgo")


def state_text(device):
    state = nvidia_smi(device, STATE)
    return ", ".join(f"{key} {value}" for key, value in state.items())


def bench(context, what, seconds, *arguments):
    """Adds the rows of `wellspring bench` to the report."""
    before = state_text(context.device)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rows.json"
        result = context.run(
            f"bench {what}",
            [context.program, "bench", what, "--device", context.device, "--json", path, *arguments],
            seconds,
        )
        if result.returncode != 0 or not path.is_file():
            return Outcome(False, result.tail())
        try:
            rows = json.loads(path.read_text())["rows"]
            for row in rows:
                positive(row, "rate")
                float(row["spread"])
        except (ValueError, KeyError, TypeError) as error:
            return Outcome(False, f"what it wrote are no rates ({error})\n{result.tail()}")
    context.report.rates += rows
    states = [f"before: {before}", f"after: {state_text(context.device)}"] if before else []
    return Outcome(bool(rows), "\n".join([f"{len(rows)} rows", *states]))


def bench_check(what, arguments, seconds):
    name = " ".join(["bench", what, *map(str, arguments)])
    return Check(name, lambda context, left: bench(context, what, left, *arguments), seconds)


def quick_rates(context):
    yield bench_check("generators", TINY["generators"] if context.quick else ["--filter", QUICK_ROWS], 120)


def rates(context):
    for what in TINY if context.quick else ("train", "ops", "generators", "augmentation"):
        yield bench_check(what, TINY[what] if context.quick else [], 240)


def variants(context):
    """Batches that fill the device, and images of another size."""
    if context.quick:
        yield bench_check("train", [*TINY["train"], "--batch", 64], 60)
        return
    for batch in BATCHES:
        yield bench_check("train", ["--filter", NETWORK, "--batch", batch], 60)
    yield bench_check("train", ["--filter", f"{NETWORK}|^residual", *LARGE], 120)


def profiles(context):
    """All counters of one launch of each generator's kernel, and those of a training step."""
    tool = shutil.which("ncu") or shutil.which("ncu", path="/usr/local/cuda/bin")
    if tool is None or context.stand_in:
        reason = "there is no GPU" if context.stand_in else "Nsight Compute is not on this machine"
        yield Check("ncu", lambda *_: Outcome(None, reason))
        return
    quickstart = context.installation.configs / "quickstart.yaml"
    step = ["train", quickstart, f"device={context.device}", "train.steps=8", "eval.sources=[]"]
    for name in HEAVIEST:
        command = ["digest", name, "--count", 4096, "--batch", 4096, "--device", context.device]
        yield profile(name, [tool, "--set", "full", "--launch-count", 6], command)
    nodes = [tool, "--graph-profiling", "node", "--launch-skip", 120, "--launch-count", 60]
    yield profile("a step of the quickstart", nodes, step)


def profile(name, tool, command):
    def check(context, seconds):
        with tempfile.TemporaryDirectory() as folder:
            own = [f"out={folder}/run"] if command[0] == "train" else []
            log = f"ncu {name}"
            result = context.run(log, [*tool, context.program, *command, *own], seconds)
        seen = re.findall(r"Duration\s+(\S+)\s+([\d.,]+)", result.stdout)
        words = ", ".join(f"{value} {unit}" for unit, value in seen[:6])
        good = result.returncode == 0 and bool(seen)
        return Outcome(good, f"{len(seen)} kernels: {words}" if good else result.tail())

    return Check(name, check, 90)
