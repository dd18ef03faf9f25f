"""How commands and checks run: each within its time, none able to stop another."""

import os
import signal
import subprocess
import time
import traceback
from dataclasses import dataclass, field
from typing import Callable, NamedTuple

# With less time than this left nothing is begun: a program with CUDA takes seconds to start.
LEAST_SECONDS = 5
TIMED_OUT = 124


class Outcome(NamedTuple):
    """What a check saw. passed is None where it could not be made here, and `detail` says why."""

    passed: bool | None
    detail: str = ""


@dataclass
class Check:
    """A name, what to do (given its Context and the seconds it has), and how long that may take."""

    name: str
    run: Callable[["Context", float], Outcome]
    seconds: float = 300


class Result(NamedTuple):
    """A command that has ended, or was ended."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def text(self):
        return self.stdout + self.stderr

    def tail(self, lines=12):
        words = f"exit code {self.returncode}" + (" (its time was over)" * self.timed_out)
        return "\n".join([words, *self.text.strip().splitlines()[-lines:]])

    @property
    def timed_out(self):
        return self.returncode == TIMED_OUT


def run(command, seconds=60, **options):
    """Runs a command and whatever it starts, at most so long. A command that is not there ends with
    127, as in a shell; bytes that are no text are shown as such."""
    try:
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="backslashreplace",
            start_new_session=True,
            **options,
        )
    except OSError as error:
        return Result(127, "", f"{command[0]}: {error}\n")
    try:
        out, err = process.communicate(timeout=max(1, seconds))
        return Result(process.returncode, out, err)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        return Result(TIMED_OUT, out, err + f"\nstopped after {seconds:.0f} s\n")


class Budget:
    """The seconds that all checks together may take."""

    def __init__(self, seconds=float("inf")):
        self.end = time.monotonic() + seconds

    def left(self):
        return self.end - time.monotonic()


@dataclass
class Context:
    """What checks are given: where things are, which device, and how thorough to be."""

    installation: object
    device: str
    report: object
    quick: bool = False
    steps: int = 300
    batch: int | None = None
    stand_in: bool = False  # no GPU: what looks into one has nothing to see
    known: dict = field(default_factory=dict)  # results that several checks use
    environment: dict = field(default_factory=lambda: {**os.environ, "NO_COLOR": "1"})

    @property
    def program(self):
        return self.installation.program

    def run(self, log, command, seconds, more_environment=None):
        """Runs a command and keeps all it said under the name `log`."""
        begin = time.monotonic()
        result = run(command, seconds, env={**self.environment, **(more_environment or {})})
        words = " ".join(str(part) for part in command)
        head = f"$ {words}\n# exit code {result.returncode}, {time.monotonic() - begin:.2f} s\n"
        self.report.keep_log(log, head + result.text)
        return result


def run_section(context, section, checks, budget):
    """Makes all checks of a section. An exception is a failure of the check, or, where it comes from
    the list itself, of the section."""
    checks = iter(checks)
    while True:
        begin = time.monotonic()
        name = "what there is to check"
        try:
            check = next(checks, None)
            if check is None:
                return
            name = check.name
            if budget.left() < LEAST_SECONDS:
                outcome = Outcome(None, "no time was left")
            else:
                outcome = check.run(context, min(check.seconds, budget.left()))
        except Exception:  # pylint: disable=broad-except
            outcome = Outcome(False, traceback.format_exc(limit=-4))
        context.report.add(section, name, outcome, time.monotonic() - begin)
