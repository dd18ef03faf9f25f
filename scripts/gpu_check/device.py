"""The tests that need a device, and those again under NVIDIA's sanitizer."""

import re
import shutil

from gpu_check.running import Check, Outcome

# Those whose kernels write what the host checks next; the sanitizer makes them 10 to 100 times slower.
SANITIZED = {"kernels": "*", "generators": "*OnAGpu*", "ops": "*/cuda", "sources": "*AGpu*"}
SANITIZER_PLACES = ("/usr/local/cuda/bin", "/opt/cuda/bin")


def patterns(names):
    """A gtest filter. A parameterised test runs once a parameter: Instance/Suite.Name/0. The same
    tests on the CPU are ./test's: some of them are skipped there on purpose."""
    alternatives = [pattern for name in names for pattern in (name, f"*/{name}/*", f"{name}/*")]
    return "--gtest_filter=" + ":".join(alternatives) + "-*/cpu"


def run_tests(context, log, program, names, seconds):
    """(whether all ran and passed, what was seen)."""
    result = context.run(log, [program, patterns(names)], seconds)
    passed = len(re.findall(r"^\[       OK \]", result.stdout, re.MULTILINE))
    skipped = set(re.findall(r"^\[  SKIPPED \] (\S+)(?: \(|$)", result.stdout, re.MULTILINE))
    good = result.returncode == 0 and passed > 0 and not skipped
    detail = f"{passed} passed, {len(skipped)} skipped"
    return good, detail if good else f"{detail}\n{result.tail(30)}"


def tests(context):
    programs = context.installation.device_tests()
    if not programs:
        raise RuntimeError("this bundle holds no tests")
    for program, names in programs.items():
        yield from tests_of(context, program, names)


def tests_of(context, program, names):
    """All in one process; where that fails, each suite in one of its own, since an error of CUDA
    fails whatever comes after it in its process, and a crash or a hang hides it."""
    if not program.is_file():
        yield Check(program.name, lambda *_: Outcome(False, f"{program} is not there"))
        return
    good = None

    def together(context, seconds):
        nonlocal good
        good, detail = run_tests(context, program.name, program, names, seconds)
        return Outcome(good, detail)

    yield Check(program.name, together, 300)
    if good is not False:
        return
    for suite in dict.fromkeys(name.partition(".")[0] for name in names):
        own = [name for name in names if name.startswith(suite + ".")]

        def alone(context, seconds, suite=suite, own=own):
            return Outcome(*run_tests(context, f"{program.name} {suite}", program, own, seconds))

        yield Check(f"{program.name}: {suite} alone", alone, 60)


def find_sanitizer():
    path = ":".join(SANITIZER_PLACES)
    return shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path=path)


def sanitizer(context):
    tool = find_sanitizer()
    if tool is None or context.stand_in:
        reason = "there is no GPU" if context.stand_in else "it is not on this machine"
        yield Check("compute-sanitizer", lambda *_: Outcome(None, reason))
        return
    for kind in ("memcheck", "racecheck"):
        for folder, wanted in SANITIZED.items():
            program = context.installation.test_program(folder)
            command = [tool, "--tool", kind, "--error-exitcode", 99, program,
                       f"--gtest_filter={wanted}-*/cpu"]  # fmt: skip

            def check(context, seconds, name=f"{kind} {folder}", command=command):
                result = context.run(name, command, seconds)
                return Outcome(result.returncode == 0, result.tail(20))

            yield Check(f"{kind}, {program.name}", check, 180)
