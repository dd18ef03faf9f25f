"""State shared by all checks: paths in a build tree or bundle, the machine, its tools, a command runner."""

import datetime
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time

from gpu_check.running import Result, run

# For --quick: networks with the same layers and fewer channels.
QUICK_WIDTHS = {"quickstart.yaml": [8, 8, 16], "cifar10_transfer.yaml": [8, 8, 16, 16]}
STAND_IN = "stand-in for a GPU"  # the device's name if the program was built with WELLSPRING_CUDA_STAND_IN


class Context:
    def __init__(self, script, arguments):
        here = pathlib.Path(script).resolve().parent
        self.source = None if here.name == "bin" else here.parent  # None: a bundle
        if self.source:
            build = pathlib.Path(arguments.build or self.source / "build/release")
            self.program, self.tests, self.tools = build / "wellspring", build / "tests", build / "bench/gpu"
            self.configs, self.peers = self.source / "configs", self.source / "bench/peers"
        else:
            self.program, self.tests = here / "wellspring", here.parent / "libexec/wellspring"
            self.tools, self.peers = self.tests / "tools", self.tests / "peers"
            self.configs = here.parent / "share/wellspring/configs"
        if not self.program.is_file():
            raise SystemExit(f"gpu-check: {self.program} does not exist; build the program first")
        self.device, self.quick = arguments.device, arguments.quick
        self.steps = 8 if self.quick else 300  # length of a training run that only has to finish
        self.end = self.deadline = time.monotonic() + arguments.budget  # deadlines: all checks, one check
        self.name, self.last = "", Result(0, "", "")  # the check and its last command
        self.report, self.stand_in = None, False  # set when the device is known
        self.known = {}  # results shared by several checks
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name) / "check"  # empty at the beginning of each check

    def limit(self, seconds):
        """This many seconds, or fewer if the budget ends earlier."""
        return min(seconds, self.end - time.monotonic())

    def run(self, command, log=""):
        """Runs a command until the deadline at most and keeps its output, named by check and log."""
        begin = time.monotonic()
        self.last = run(command, self.deadline - begin, env={**os.environ, "NO_COLOR": "1"})
        words = " ".join(map(str, command))
        head = f"$ {words}\n# exit code {self.last.returncode}, {time.monotonic() - begin:.2f} s\n"
        self.report.keep_log(f"{self.name} {log}".strip(), head + self.last.stdout + self.last.stderr)
        return self.last

    def train(self, config, *words):
        """The command of a training run in the check's folder."""
        small = ["train.batch=24"] if self.quick else []
        if self.quick and config in QUICK_WIDTHS:
            small.append(f"model.widths={QUICK_WIDTHS[config]}")
        return [self.program, "train", self.configs / config, f"out={self.folder}/run", f"device={self.device}", *small,
                *words]

    def tool(self, name):
        """(path, why it cannot run) for a program of bench/gpu."""
        path = self.tools / name
        return path, "" if path.is_file() else f"this build has no {name}"

    def nvidia_tool(self, name):
        """(path, why it cannot run) for a tool that inspects a GPU."""
        path = shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin:/opt/cuda/bin")
        return path, "there is no GPU" if self.stand_in else "" if path else f"this machine has no {name}"

    def test_program(self, folder):
        return self.tests / (folder.replace("_", "/") if self.source else "") / f"test_{folder}"

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

    def nvidia_smi(self, *fields):
        """{field: value} for the device; empty without a driver."""
        query = [f"--query-gpu={','.join(fields)}", "--format=csv,noheader", "-i", self.device.partition(":")[2] or "0"]
        row = run(["nvidia-smi", *query]).stdout.strip().split(", ")
        return dict(zip(fields, row)) if len(row) == len(fields) and row[0] else {}

    def describe_machine(self):
        """The first part of the report, as {key: value}."""
        doctor = run([self.program, "doctor"], 120).stdout
        named = self.nvidia_smi("name", "driver_version", "memory.total", "clocks.max.sm", "clocks.max.mem",
                                "power.limit")  # fmt: skip
        match = re.search(rf"^\s*{re.escape(self.device)}\s+([^,\n]+)", doctor, re.MULTILINE)
        name = match[1].strip() if match else named.get("name", "GPU")
        self.stand_in = name == STAND_IN
        return {
            "gpu": name,
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
            "device": self.device,
            "program": run([self.program, "--version"]).stdout.strip().partition("\n")[0],
            **{f"nvidia-smi {key}": value for key, value in named.items() if not self.stand_in},
            "doctor": doctor,
        }
