"""Runs the tests that need a GPU on the stand-in, with the code that the compiler made. Used by issue-slots."""
import collections
import concurrent.futures
import json
import os
import re
import subprocess

# GoogleTest filters of the tests, by program.
TESTS = {
    "ops/test_ops": "*/cuda",
    "train/test_train": "*/cuda",
    "sources/test_sources": "*OnAGpu*",
    "generators/test_generators": "*OnAGpu*",
}
# Tests that are left out, by program.
EXCLUDED = {
    "ops/test_ops": [
        "*DenseTest.*",  # these two run operations of a library only, without a kernel of ours
        "*Conv2dTest.*",
    ],
    "train/test_train": ["*PublishedModels.*"],  # too long: networks with millions of weights
}
SECTION = re.compile(r"\.section\s+\.text\.(\w+),")


def names_of(listing):
    """The (suite.test) names in the answer to --gtest_list_tests."""
    names, suite = [], ""
    for line in listing.splitlines():
        word = line.split("#")[0].rstrip()
        if line.startswith("  "):
            names.append(suite + word.strip())
        elif word.endswith("."):
            suite = word
    return names


def outcomes(report):
    """{(suite.test): "passed", "failed" or "skipped"} from GoogleTest's JSON."""
    def outcome(test):
        return "failed" if test.get("failures") else "skipped" if test["result"] == "SKIPPED" else "passed"
    return {f"{test['classname']}.{test['name']}": outcome(test)
            for suite in report["testsuites"] for test in suite["testsuite"] if test["status"] == "RUN"}


class Run:
    """The tests of one program with one seed of the stand-in's orders."""

    def __init__(self, program, seed, build, listings):
        self.name, self.program, self.listings = program, build / "tests" / program, listings
        self.seed, self.outcomes = seed, {}
        folder = build / "device-tests"
        folder.mkdir(exist_ok=True)
        self.log, self.report, self.ran = (
            folder / f"{self.program.name}.seed{seed}.{end}" for end in ("log", "json", "ran"))

    def excluded(self):
        """Names of the tests that are left out."""
        done = subprocess.run([self.program, "--gtest_list_tests", f"--gtest_filter={TESTS[self.name]}"],
                              capture_output=True, text=True, check=True)
        return set(names_of(done.stdout)) - set(self.outcomes)

    def run(self):
        for file in (self.report, self.ran):
            file.unlink(missing_ok=True)
        wanted = f"{TESTS[self.name]}-{':'.join(EXCLUDED.get(self.name, []))}"
        environment = dict(os.environ, WELLSPRING_STAND_IN_LISTINGS=str(self.listings),
                           WELLSPRING_STAND_IN_RAN=str(self.ran), WELLSPRING_STAND_IN_SEED=str(self.seed))
        with self.log.open("w") as log:
            subprocess.run([self.program, f"--gtest_filter={wanted}", f"--gtest_output=json:{self.report}"],
                           env=environment, stdout=log, stderr=subprocess.STDOUT, check=False)
        if self.report.exists():  # not if the program ended early
            self.outcomes = outcomes(json.loads(self.report.read_text()))
        return self

    def print(self):
        """Prints the result and returns True if it is good."""
        counts = collections.Counter(self.outcomes.values())
        print(f"{self.name}, seed {self.seed}: {counts['passed']} passed, {counts['failed']} failed, "
              f"{counts['skipped']} skipped, {len(self.excluded())} excluded", flush=True)
        for name, outcome in sorted(self.outcomes.items()):
            if outcome == "failed":
                print(f"  FAILED {name}")
        good = counts["passed"] > 0 and counts["failed"] == 0
        if not good:
            print(f"  {'' if self.outcomes else 'the program ended early; '}see {self.log}")
        return good


def kernels_of(listings):
    """Mangled names of all kernels in the listings."""
    return {name for file in listings.glob("*.sass") for name in SECTION.findall(file.read_text())}


def functors_of(kernels):
    """Functors of kernels, in words."""
    text = subprocess.run(["c++filt"], input="\n".join(sorted(kernels)), capture_output=True, text=True, check=True)
    return sorted(re.sub(r".*?run_(?:map|league)<(.*) ?>\(wellspring::.*", r"\1", line).replace("wellspring::", "")
                  for line in text.stdout.splitlines())


def run_all(build, listings, seeds):
    """Runs all tests, prints the results, and returns True if all are good."""
    runs = [Run(program, seed, build, listings) for program in TESTS for seed in seeds]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        good = all([run.print() for run in pool.map(Run.run, runs)])
    ran = {name for run in runs if run.ran.exists() for name in run.ran.read_text().split()}
    kernels = kernels_of(listings)
    print(f"kernels: {len(ran & kernels)} of {len(kernels)} ran. Not: {', '.join(functors_of(kernels - ran))}")
    return good
