"""Where the program, its tests and its configurations are, and what machine this is."""

import datetime
import os
import pathlib
import platform
import re
import sys

from gpu_check.running import run

# What a program built with WELLSPRING_CUDA_STAND_IN calls its device (tests/cuda_stand_in).
STAND_IN = "stand-in for a GPU"


class Installation:
    """A build tree, or a bundle."""

    def __init__(self, script, build):
        here = pathlib.Path(script).resolve().parent
        if here.name == "bin":  # a bundle
            root = here.parent
            self.program = here / "wellspring"
            self.configs = root / "share/wellspring/configs"
            self.tests = root / "libexec/wellspring"
            self.tools = self.tests / "tools"
            self.peers = self.tests / "peers"
            self.results = pathlib.Path("bench/results")
            self.source = None
        else:
            self.source = here.parent
            build = pathlib.Path(build) if build else self.source / "build/release"
            self.program = build / "wellspring"
            self.configs = self.source / "configs"
            self.tests = build / "tests"
            self.tools = build / "bench/gpu"
            self.peers = self.source / "bench/peers"
            self.results = self.source / "bench/results"
        if not self.program.is_file():
            raise SystemExit(f"gpu-check: {self.program} is not there (build the program first)")

    def device_tests(self):
        """{test program: [Suite.Name]} of the tests that need a device."""
        if self.source:
            text = run([sys.executable, self.source / "scripts/device-tests"]).stdout
        else:
            listing = self.tests / "device-tests.txt"
            text = listing.read_text() if listing.is_file() else ""
        programs = {}
        for line in text.splitlines():
            folder, name = line.split()
            programs.setdefault(self.test_program(folder), []).append(name)
        return programs

    def tool(self, name):
        """A program, or library, of bench/gpu; it may not be there."""
        return self.tools / name

    def test_program(self, folder):
        name = f"test_{folder}"
        return self.tests / folder.replace("_", "/") / name if self.source else self.tests / name


def first_line(command):
    lines = run(command).stdout.strip().splitlines()
    return lines[0] if lines else ""


def nvidia_smi(device, fields):
    """{field: value} of a device; empty where there is no driver."""
    index = device.partition(":")[2] or "0"
    row = first_line(
        ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader", "-i", index]
    ).split(", ")
    return dict(zip(fields, row)) if len(row) == len(fields) and row[0] else {}


def describe_machine(installation, device, version):
    """What stands at the head of the report."""
    named = nvidia_smi(
        device,
        ["name", "driver_version", "memory.total", "clocks.max.sm", "clocks.max.mem", "power.limit"],
    )
    doctor = run([installation.program, "doctor"], 120).stdout
    gpu = named.pop("name", "")
    if STAND_IN in doctor:  # whatever else this machine has
        gpu, named = STAND_IN, {}
    if not gpu:  # no nvidia-smi: as the program names it
        match = re.search(rf"^\s*{re.escape(device)}\s+([^,\n]+)", doctor, re.MULTILINE)
        gpu = match.group(1).strip() if match else "GPU"
    machine = {
        "gpu": gpu,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "device": device,
        "version": version,
        "program": first_line([installation.program, "--version"]),
        "host": f"{platform.machine()}, {os.cpu_count()} processors, {platform.platform()}",
    }
    if installation.source:
        commit = first_line(["git", "-C", installation.source, "describe", "--always", "--dirty"])
        if commit:
            machine["commit"] = commit
    machine.update({f"nvidia-smi {key}": value for key, value in named.items()})
    machine["doctor"] = doctor
    return machine
