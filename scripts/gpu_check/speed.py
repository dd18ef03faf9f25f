"""Measures rates, with the state of the device, and the same training step in PyTorch and JAX."""

import importlib.util
import json
import sys

from gpu_check.kernels import positive
from gpu_check.running import Check, NotMade

# State that determines a rate: clocks, power, and throttling.
STATE = ["clocks.sm", "clocks.mem", "power.draw", "temperature.gpu", "clocks_throttle_reasons.active",
         "utilization.gpu"]  # fmt: skip
QUICK_ROWS = "^(shapes|noise)$"
# The smallest runs that show whether the benchmarks work.
TINY = {
    "generators": ["--filter", "^(shapes|ee_mumu)$", "--batch", 64, "--size", 32, "--repeats", 2],
    "train": ["--filter", "^mlp"],
    "ops": ["--filter", "^group norm 1024"],
}
PEER_NETWORK = "three convolutions 32x32 batch 128 shapes"
PEER_HAS_NO_GPU = 4  # exit code


def bench(context, seconds, *arguments):
    """A check that runs `wellspring bench` and adds its rows to the report."""

    def state():
        return ", ".join(f"{key} {value}" for key, value in context.nvidia_smi(*STATE).items())

    path, before = context.folder / "rows.json", state()

    def judge(result):
        result.output()
        rows = json.loads(path.read_text())["rows"]
        for row in rows:
            positive(row, "rate")
            float(row["spread"])
        if not rows:
            raise ValueError("no rows")
        context.report.rates += rows
        return f"{len(rows)} rows" + (f"\nbefore: {before}\nafter: {state()}" if before else "")

    words = ["bench", *map(str, arguments)]
    return Check(" ".join(words), [context.program, *words, "--device", context.device, "--json", path], judge, seconds)


def quick_rates(context):
    yield bench(context, 120, "generators", *(TINY["generators"] if context.quick else ["--filter", QUICK_ROWS]))


def rates(context):
    for what in TINY if context.quick else ("train", "ops", "generators", "augmentation"):
        yield bench(context, 240, what, *(TINY[what] if context.quick else []))


def peers(context):
    """The peers' rates, compared with the rates of the previous section."""

    def judge(result):
        if result.returncode == PEER_HAS_NO_GPU:
            raise NotMade(result.stderr.strip().splitlines()[-1])
        seen = json.loads(result.output())
        words = [f"{seen['peer']} {seen['version']}, {seen['work']}"]
        # Our step generates each batch; its ceiling is the step on a resident batch.
        ours = next((row for row in context.report.rates if row["name"] == PEER_NETWORK), None)
        own = {"generating": ours["rate"], "resident": ours["ceiling"]["rate"]} if ours else {}
        context.report.records[f"peer {seen['peer']}"] = seen
        for way in ("resident", "generating"):
            if way not in seen:
                raise ValueError(f"no rate of {way} images")
            (rate,) = positive(seen[way], "images_per_second")
            ratio = f", ours {own[way] / rate:.2f} times as many" if own else ""
            words.append(f"{way}: {rate:.0f} images/s{ratio}")
        return "\n".join(words)

    for module in ("torch", "jax"):
        obstacle = "" if importlib.util.find_spec(module) else f"this Python has no {module}"
        script, seconds = context.peers / f"{module}_step.py", 1 if context.quick else 4
        command = [sys.executable, script, "--device", "cuda", "--seconds", seconds]
        if module == "torch":  # the step in JAX always draws its images, too
            command.append("--generate")
        yield Check(f"the training step in {module}", command, judge, 300, obstacle)
