"""Checks that run the device tests, directly and under NVIDIA's sanitizer."""

import functools
import re
import shutil

from gpu_check.running import Check, Failed, NotMade

# Tests whose kernels write data that the host checks next; the sanitizer makes them 10 to 100 times slower.
SANITIZED = {"kernels": "*", "generators": "*OnAGpu*", "ops": "*/cuda", "sources": "*AGpu*"}


def run_tests(context, log, program, names, seconds):
    """Fails unless all tests ran and passed. A parameterised test is Instance/Suite.Name/0; ./test runs */cpu."""
    if not program.is_file():
        raise Failed(f"{program} does not exist")
    patterns = ":".join(p for name in names for p in (name, f"*/{name}/*", f"{name}/*"))
    result = context.attempt(log, [program, f"--gtest_filter={patterns}-*/cpu"], seconds)
    passed = len(re.findall(r"^\[       OK \]", result.stdout, re.MULTILINE))
    skipped = set(re.findall(r"^\[  SKIPPED \] (\S+)(?: \(|$)", result.stdout, re.MULTILINE))
    detail = f"{passed} passed, {len(skipped)} skipped"
    if result.returncode != 0 or passed == 0 or skipped:
        raise Failed(f"{detail}\n{result.tail(30)}")
    return detail


def tests(context):
    """Runs each program in one process. After a failure runs each suite in its own process, because a CUDA error fails
    all later tests in its process, and a crash or a hang hides them."""
    programs = context.installation.device_tests()
    if not programs:
        raise Failed("this bundle has no tests")
    for program, names in programs.items():
        failed = []

        def together(seconds, program=program, names=names, failed=failed):
            failed.append(True)
            detail = run_tests(context, program.name, program, names, seconds)
            failed.clear()
            return detail

        yield Check(program.name, together)
        for suite in dict.fromkeys(name.partition(".")[0] for name in names) if failed else ():
            own = [name for name in names if name.startswith(suite + ".")]
            alone = functools.partial(run_tests, context, f"{program.name} {suite}", program, own)
            yield Check(f"{program.name}: {suite} alone", alone, 60)


def find_tool(context, name, *folders):
    """The path of an NVIDIA tool."""
    if context.stand_in:
        raise NotMade("there is no GPU")
    path = shutil.which(name) or shutil.which(name, path=":".join(folders))
    if path is None:
        raise NotMade(f"this machine has no {name}")
    return path


def sanitizer(context):
    tool = "compute-sanitizer"
    try:
        tool = find_tool(context, tool, "/usr/local/cuda/bin", "/opt/cuda/bin")
    except NotMade as reason:
        yield Check(tool, functools.partial(refuse, reason))
        return
    for kind in ("memcheck", "racecheck"):
        for folder, wanted in SANITIZED.items():
            program = context.installation.test_program(folder)
            command = [tool, "--tool", kind, "--error-exitcode", 99, program, f"--gtest_filter={wanted}-*/cpu"]
            check = functools.partial(context.run, f"{kind} {folder}", command, lines=20)
            yield Check(f"{kind}, {program.name}", lambda seconds, check=check: check(seconds).tail(20), 180)


def refuse(reason, _):
    raise reason
