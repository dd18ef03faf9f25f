"""Commands and checks with time limits; no check can stop another one."""

import os
import shutil
import signal
import subprocess
import time
import traceback
from typing import Callable, NamedTuple

LEAST_SECONDS = 5  # no check starts with less time, because a CUDA program takes seconds to start
LISTING_SECONDS = 60  # limit for creating the next check of a section
NO_TIME = "no time was left"
TIMED_OUT, NO_COMMAND = 124, 127  # exit codes, as in a shell


class Failed(Exception):
    """Raised by a check that fails; the text says why."""


class NotMade(Exception):
    """Raised by a check that cannot run here; the text says why."""


class Result(NamedTuple):
    """Result of a command that has ended or was stopped."""

    returncode: int
    stdout: str
    stderr: str

    def tail(self, lines=20):
        over = " (timed out)" if self.returncode == TIMED_OUT else ""
        text = (self.stdout + self.stderr).strip()
        return "\n".join([f"exit code {self.returncode}{over}", *text.splitlines()[-lines:]])

    def output(self):
        """Standard output of a command that must succeed."""
        if self.returncode != 0:
            raise Failed(self.tail())
        return self.stdout

    def succeeded(self):
        """The last lines of a command that must succeed: the simplest judge."""
        self.output()
        return self.tail(3)


class Check(NamedTuple):
    """A command and its judge, which describes the result; the check fails if the judge raises an exception."""

    name: str
    command: list
    judge: Callable = Result.succeeded
    seconds: float = 300  # for the command and the commands of its judge
    obstacle: str = ""  # why the check cannot run here


def run(command, seconds=60, **options):
    """Runs a command and its children with a time limit."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    try:
        process = subprocess.Popen([str(part) for part in command], text=True, errors="backslashreplace",
                                   start_new_session=True, **pipes, **options)  # fmt: skip
    except OSError as error:
        return Result(NO_COMMAND, "", f"{command[0]}: {error}\n")
    try:
        out, err = process.communicate(timeout=max(1, seconds))
        return Result(process.returncode, out, err)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        return Result(TIMED_OUT, out, err + f"\nstopped after {seconds:.0f} s\n")


def run_check(context, check):
    """Starts the check in an empty folder and describes its result."""
    seconds = context.limit(check.seconds)
    if seconds < LEAST_SECONDS or check.obstacle:
        raise NotMade(NO_TIME if seconds < LEAST_SECONDS else check.obstacle)
    context.name, context.deadline = check.name, time.monotonic() + seconds
    shutil.rmtree(context.folder, ignore_errors=True)
    context.folder.mkdir(exist_ok=True)
    return check.judge(context.run(check.command) if check.command else None)


def run_section(context, title, section):
    """Runs the checks of a section. An exception makes the check, or the list of checks, fail."""
    checks = section(context)
    while True:
        begin, name = time.monotonic(), "the list of checks"
        context.name, context.deadline = name, begin + LISTING_SECONDS
        try:
            check = next(checks, None)
            if check is None:
                return
            name = check.name
            passed, detail = True, run_check(context, check)
        except NotMade as reason:
            passed, detail = None, str(reason)
        except Failed as seen:
            passed, detail = False, str(seen)
        except Exception as error:  # pylint: disable=broad-except
            trace = traceback.format_exc(limit=-4, chain=False)
            passed, detail = False, f"{error!r}\n{context.last.tail()}\n{trace}"
        context.report.add(title, name, passed, detail, time.monotonic() - begin)
