"""Describes the GPU and this machine."""

import datetime
import re

from gpu_check.running import run

STAND_IN = "stand-in for a GPU"  # name of the device if the program was built with WELLSPRING_CUDA_STAND_IN


def nvidia_smi(device, *fields):
    """{field: value} for a device; empty without a driver."""
    query = [f"--query-gpu={','.join(fields)}", "--format=csv,noheader", "-i", device.partition(":")[2] or "0"]
    row = run(["nvidia-smi", *query]).stdout.strip().split(", ")
    return dict(zip(fields, row)) if len(row) == len(fields) and row[0] else {}


def describe_machine(context):
    """The first part of the report, as {key: value}."""
    doctor = run([context.program, "doctor"], 120).stdout
    named = nvidia_smi(context.device, "name", "driver_version", "memory.total", "clocks.max.sm", "clocks.max.mem",
                       "power.limit")  # fmt: skip
    match = re.search(rf"^\s*{re.escape(context.device)}\s+([^,\n]+)", doctor, re.MULTILINE)
    name = match[1].strip() if match else named.get("name", "GPU")
    settings = {f"nvidia-smi {key}": value for key, value in named.items() if name != STAND_IN}
    return {
        "gpu": name,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "device": context.device,
        "program": run([context.program, "--version"]).stdout.strip().partition("\n")[0],
        **settings,
        "doctor": doctor,
    }
