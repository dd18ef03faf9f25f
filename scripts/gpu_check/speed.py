"""Rates, with the state of the device beside them, and profiles of the heaviest kernels."""

import json
import pathlib
import re
import shutil
import tempfile

from gpu_check.installation import nvidia_smi
from gpu_check.running import Check, Outcome

# What decides a rate beside the program: clocks, power, and what holds them down.
STATE = ["clocks.sm", "clocks.mem", "power.draw", "temperature.gpu",
         "clocks_throttle_reasons.active", "utilization.gpu"]  # fmt: skip
QUICK_ROWS = "^(shapes|noise) 224"
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
                float(row["rate"]), float(row["spread"])
        except (ValueError, KeyError, TypeError) as error:
            return Outcome(False, f"what it wrote are no rates ({error})\n{result.tail()}")
    context.report.rates += rows
    states = [f"before: {before}", f"after: {state_text(context.device)}"] if before else []
    return Outcome(bool(rows), "\n".join([f"{len(rows)} rows", *states]))


def quick_rates(_):
    yield Check(
        f"bench generators --filter '{QUICK_ROWS}'",
        lambda context, seconds: bench(context, "generators", seconds, "--filter", QUICK_ROWS),
        120,
    )


def rates(context):
    if context.quick:
        return
    for what in ("generators", "train", "ops"):
        yield Check(
            f"bench {what}", lambda context, seconds, what=what: bench(context, what, seconds), 240
        )


def profiles(context):
    """All counters of one launch of each generator's kernel, and those of a training step."""
    tool = shutil.which("ncu") or shutil.which("ncu", path="/usr/local/cuda/bin")
    if tool is None:
        yield Check("ncu", lambda *_: Outcome(None, "Nsight Compute is not on this machine"))
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
