"""Checks that run the device tests, directly and under NVIDIA's sanitizer."""

import re

from gpu_check.running import Check, Failed

# Tests whose kernels write data that the host then checks. The sanitizer makes tests 10 to 100 times slower.
SANITIZED = {"kernels": "*", "generators": "*OnAGpu*", "ops": "*/cuda", "sources": "*AGpu*"}


def all_pass(result):
    """All tests must run and pass."""
    passed = len(re.findall(r"^\[       OK \]", result.stdout, re.MULTILINE))
    skipped = set(re.findall(r"^\[  SKIPPED \] (\S+)(?: \(|$)", result.stdout, re.MULTILINE))
    detail = f"{passed} passed, {len(skipped)} skipped"
    if result.returncode != 0 or passed == 0 or skipped:
        raise Failed(f"{detail}\n{result.tail(30)}")
    return detail


def tests(context):
    """Runs each program in one process. If it fails, each suite also runs in its own process, because after a CUDA
    error all later tests in a process fail, and after a crash or a hang they do not run."""

    def command(program, names):
        """A parameterised test is named Instance/Suite.Name/0; ./test runs */cpu."""
        patterns = ":".join(p for name in names for p in (name, f"*/{name}/*", f"{name}/*"))
        return [program, f"--gtest_filter={patterns}-*/cpu"]

    programs = context.device_tests()
    if not programs:
        raise Failed("this bundle has no tests")
    for program, names in programs.items():
        yield Check(program.name, command(program, names), all_pass)
        suites = dict.fromkeys(name.partition(".")[0] for name in names)
        for suite in suites if context.report.checks[-1]["passed"] is False else ():
            own = [name for name in names if name.startswith(suite + ".")]
            yield Check(f"{program.name}: {suite} alone", command(program, own), all_pass, seconds=60)


def sanitizer(context):
    path, obstacle = context.nvidia_tool("compute-sanitizer")
    for kind in ("memcheck", "racecheck"):
        for folder, wanted in SANITIZED.items():
            program = context.test_program(folder)
            command = [path, "--tool", kind, "--error-exitcode", 99, program, f"--gtest_filter={wanted}-*/cpu"]
            yield Check(f"{kind}, {program.name}", command, seconds=180, obstacle=obstacle)
