"""Runs commands and checks, each with a time limit; no check can stop another one."""

import os
import signal
import subprocess
import time
import traceback
from typing import NamedTuple

LEAST_SECONDS = 5  # no check starts with less time, because a CUDA program takes seconds to start
NO_TIME = "no time was left"
TIMED_OUT = 124


class Failed(Exception):
    """Raised by a check that fails; the text says why."""


class NotMade(Exception):
    """Raised by a check that cannot run here; the text says why."""


class Check:
    """A function that takes its arguments and a time limit in seconds, and returns a description of the result."""

    def __init__(self, name, function, *arguments, seconds=300):
        self.name, self.function, self.arguments, self.seconds = name, function, arguments, seconds


class Result(NamedTuple):
    """Result of a command that has ended or was stopped."""

    returncode: int
    stdout: str
    stderr: str

    def tail(self, lines=12):
        over = " (timed out)" if self.returncode == TIMED_OUT else ""
        text = (self.stdout + self.stderr).strip()
        return "\n".join([f"exit code {self.returncode}{over}", *text.splitlines()[-lines:]])


def run(command, seconds=60, **options):
    """Runs a command and its children with a time limit. A missing command ends with 127, as in a shell."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    try:
        process = subprocess.Popen([str(part) for part in command], text=True, errors="backslashreplace",
                                   start_new_session=True, **pipes, **options)  # fmt: skip
    except OSError as error:
        return Result(127, "", f"{command[0]}: {error}\n")
    try:
        out, err = process.communicate(timeout=max(1, seconds))
        return Result(process.returncode, out, err)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        return Result(TIMED_OUT, out, err + f"\nstopped after {seconds:.0f} s\n")


class Context:
    """The input of all checks: paths, device, thoroughness."""

    def __init__(self, installation, report, arguments, stand_in):
        self.installation, self.report = installation, report
        self.program, self.configs = installation.program, installation.configs
        self.device, self.quick, self.batch = arguments.device, arguments.quick, arguments.batch
        self.steps = arguments.steps or (30 if arguments.quick else 300)
        self.stand_in = stand_in  # no GPU: tools that inspect a GPU find none
        self.known = {}  # results shared by several checks

    def run(self, log, command, seconds, *, lines=12, must_pass=True, **environment):
        """Runs a command and keeps its output under the name `log`. Raises Failed with the last lines unless the exit
        code is 0 or `must_pass` is false."""
        begin = time.monotonic()
        result = run(command, seconds, env={**os.environ, "NO_COLOR": "1", **environment})
        head = f"$ {' '.join(map(str, command))}\n# exit code {result.returncode}, {time.monotonic() - begin:.2f} s\n"
        self.report.keep_log(log, head + result.stdout + result.stderr)
        if must_pass and result.returncode != 0:
            raise Failed(result.tail(lines))
        return result


def run_section(report, section, checks, end):
    """Runs the checks of a section until `end`. An exception makes the check, or the list of checks, fail."""
    checks = iter(checks)
    while True:
        begin, name = time.monotonic(), "the list of checks"
        try:
            check = next(checks, None)
            if check is None:
                return
            name, left = check.name, end - begin
            if left < LEAST_SECONDS:
                raise NotMade(NO_TIME)
            passed, detail = True, check.function(*check.arguments, min(check.seconds, left))
        except NotMade as reason:
            passed, detail = None, str(reason)
        except Failed as seen:
            passed, detail = False, str(seen)
        except Exception as error:  # pylint: disable=broad-except
            passed, detail = False, f"{error!r}\n{traceback.format_exc(limit=-4, chain=False)}"
        report.add(section, name, passed, detail, time.monotonic() - begin)
