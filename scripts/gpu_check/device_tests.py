"""Checks that run the device tests, directly and under NVIDIA's sanitizer."""

import re
import shutil

from gpu_check.running import Check, Failed, NotMade

# Tests whose kernels write data that the host then checks. The sanitizer makes tests 10 to 100 times slower.
SANITIZED = {"kernels": "*", "generators": "*OnAGpu*", "ops": "*/cuda", "sources": "*AGpu*"}


def run_tests(context, log, program, names, seconds):
    """Fails unless all tests ran and passed. A parameterised test is named Instance/Suite.Name/0; ./test runs */cpu."""
    if not program.is_file():
        raise Failed(f"{program} does not exist")
    patterns = ":".join(p for name in names for p in (name, f"*/{name}/*", f"{name}/*"))
    result = context.run(log, [program, f"--gtest_filter={patterns}-*/cpu"], seconds, must_pass=False)
    passed = len(re.findall(r"^\[       OK \]", result.stdout, re.MULTILINE))
    skipped = set(re.findall(r"^\[  SKIPPED \] (\S+)(?: \(|$)", result.stdout, re.MULTILINE))
    detail = f"{passed} passed, {len(skipped)} skipped"
    if result.returncode != 0 or passed == 0 or skipped:
        raise Failed(f"{detail}\n{result.tail(30)}")
    return detail


def tests(context):
    """Runs each program in one process. If it fails, each suite also runs in its own process, because a CUDA error
    makes all later tests of a process fail, and after a crash or a hang they do not run."""
    programs = context.installation.device_tests()
    if not programs:
        raise Failed("this bundle has no tests")
    for program, names in programs.items():
        yield Check(program.name, run_tests, context, program.name, program, names)
        suites = dict.fromkeys(name.partition(".")[0] for name in names)
        for suite in suites if context.report.checks[-1]["passed"] is False else ():
            own = [name for name in names if name.startswith(suite + ".")]
            log = f"{program.name} {suite}"
            yield Check(f"{program.name}: {suite} alone", run_tests, context, log, program, own, seconds=60)


def find_tool(context, name):
    """The path of an NVIDIA tool."""
    path = shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin:/opt/cuda/bin")
    if context.stand_in or path is None:
        raise NotMade("there is no GPU" if context.stand_in else f"this machine has no {name}")
    return path


def sanitizer(context):
    def check(kind, program, wanted, seconds):
        command = [find_tool(context, "compute-sanitizer"), "--tool", kind, "--error-exitcode", 99, program,
                   f"--gtest_filter={wanted}-*/cpu"]  # fmt: skip
        return context.run(f"{kind} {program.name}", command, seconds, lines=20).tail(20)

    for kind in ("memcheck", "racecheck"):
        for folder, wanted in SANITIZED.items():
            program = context.installation.test_program(folder)
            yield Check(f"{kind}, {program.name}", check, kind, program, wanted, seconds=180)
