"""Paths of the program, its tests and its configurations, and a description of this machine."""

import datetime
import os
import pathlib
import platform
import re
import sys

from gpu_check.running import run

STAND_IN = "stand-in for a GPU"  # name of the device if the program was built with WELLSPRING_CUDA_STAND_IN


class Installation:
    """A build tree or a bundle."""

    def __init__(self, script, build):
        here = pathlib.Path(script).resolve().parent
        self.source = None if here.name == "bin" else here.parent
        if self.source:
            build = pathlib.Path(build or self.source / "build/release")
            self.program, self.tests, self.tools = build / "wellspring", build / "tests", build / "bench/gpu"
            self.configs, self.peers = self.source / "configs", self.source / "bench/peers"
        else:  # a bundle
            self.program, self.tests = here / "wellspring", here.parent / "libexec/wellspring"
            self.tools, self.peers = self.tests / "tools", self.tests / "peers"
            self.configs = here.parent / "share/wellspring/configs"
        self.results = (self.source or pathlib.Path()) / "bench/results"
        if not self.program.is_file():
            raise SystemExit(f"gpu-check: {self.program} does not exist; build the program first")

    def device_tests(self):
        """{test program: [Suite.Name]} for the tests that need a device."""
        if self.source:
            text = run([sys.executable, self.source / "scripts/device-tests"]).stdout
        else:
            listing = self.tests / "device-tests.txt"
            text = listing.read_text() if listing.is_file() else ""
        programs = {}
        for folder, name in map(str.split, text.splitlines()):
            programs.setdefault(self.test_program(folder), []).append(name)
        return programs

    def test_program(self, folder):
        return self.tests / (folder.replace("_", "/") if self.source else "") / f"test_{folder}"


def first_line(command):
    return (run(command).stdout.strip().splitlines() or [""])[0]


def nvidia_smi(device, fields):
    """{field: value} for a device; empty without a driver."""
    query = [f"--query-gpu={','.join(fields)}", "--format=csv,noheader", "-i", device.partition(":")[2] or "0"]
    row = first_line(["nvidia-smi", *query]).split(", ")
    return dict(zip(fields, row)) if len(row) == len(fields) and row[0] else {}


def describe_machine(installation, device, version):
    """The first part of the report, as {key: value}."""
    fields = ["name", "driver_version", "memory.total", "clocks.max.sm", "clocks.max.mem", "power.limit"]
    named = nvidia_smi(device, fields)
    doctor = run([installation.program, "doctor"], 120).stdout
    if STAND_IN in doctor:  # even if this machine has a GPU
        named = {"name": STAND_IN}
    elif not named:  # no nvidia-smi: use the program's name for the device
        match = re.search(rf"^\s*{re.escape(device)}\s+([^,\n]+)", doctor, re.MULTILINE)
        named = {"name": match.group(1).strip() if match else "GPU"}
    machine = {
        "gpu": named.pop("name"),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "device": device,
        "version": version,
        "program": first_line([installation.program, "--version"]),
        "host": f"{platform.machine()}, {os.cpu_count()} processors, {platform.platform()}",
    }
    commit = installation.source and first_line(["git", "-C", installation.source, "describe", "--always", "--dirty"])
    machine |= {"commit": commit} if commit else {}
    return {**machine, **{f"nvidia-smi {key}": value for key, value in named.items()}, "doctor": doctor}
