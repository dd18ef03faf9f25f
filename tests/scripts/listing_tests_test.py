"""scripts/listing-tests must report every outcome of a test, and continue without believing results of other code."""

import pathlib
import sys
import tempfile
import textwrap
import unittest

sys.dont_write_bytecode = True
from support import load_script  # noqa: E402


def executable(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    path.chmod(0o755)


class ListingTests(unittest.TestCase):
    def setUp(self):
        self.script = load_script("listing-tests")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name)
        (self.place / "listings").mkdir()
        self.file = self.place / "results.json"

    def test_reads_a_list_of_tests(self):
        text = """Backends/PoolingTest.  # TypeParam = x
  Agrees/cuda  # GetParam() = 1-byte object <01>
  Refuses/cuda
Sass.
  Counts
"""
        self.assertEqual(self.script.names_of(text),
                         ["Backends/PoolingTest.Agrees/cuda", "Backends/PoolingTest.Refuses/cuda", "Sass.Counts"])

    def test_reads_a_report(self):
        def outcome(*tests):
            return self.script.outcome_of({"testsuites": [{"testsuite": list(tests)}]})
        passed = {"name": "Agrees", "status": "RUN", "result": "COMPLETED"}
        other = {"name": "Other", "status": "NOTRUN", "result": "SUPPRESSED"}
        self.assertEqual(outcome(passed, other), "passed")
        self.assertEqual(outcome(passed | {"failures": [{"failure": "1 is 2"}]}), "failed")
        self.assertEqual(outcome(passed | {"result": "SKIPPED"}), "skipped")
        self.assertEqual(outcome(other), "failed")  # a name that matches no test proves nothing

    def test_runs_a_test(self):
        # A program that reports on the test "good", runs a kernel, ends early in others, and sleeps in "slow".
        executable(self.place / "tests/program", """\
            #!/usr/bin/env python3
            import json, os, sys, time
            options = dict(word.split("=", 1) for word in sys.argv[1:])
            name = options["--gtest_filter"]
            print("runs", name, "with seed", os.environ["WELLSPRING_STAND_IN_SEED"], flush=True)
            if name == "slow":
                time.sleep(60)
            if name == "good":
                with open(os.environ["WELLSPRING_STAND_IN_RAN"], "a") as ran:
                    ran.write("kernel\\n")
                with open(options["--gtest_output"].removeprefix("json:"), "w") as report:
                    json.dump({"testsuites": [{"testsuite": [{"status": "RUN", "result": "COMPLETED"}]}]}, report)
            """)
        def outcome(name, limit):
            job, result, seconds, kernels, output = self.script.run_test(("program", name, 3), self.place, limit)
            self.assertEqual(job, ("program", name, 3))
            self.assertGreater(seconds, 0)
            return result, kernels, output
        self.assertEqual(outcome("good", 60), ("passed", {"kernel"}, "runs good with seed 3\n"))
        self.assertEqual(outcome("bad", 60), ("failed", set(), "runs bad with seed 3\n"))
        self.assertEqual(outcome("slow", 0.01)[0], "stopped")

    def test_continues_with_the_same_code_only(self):
        jobs = [("program", name, 0) for name in ("Good", "Bad", "Skipped", "Slow")]
        results = self.script.Results(self.file, {"program": "code"})
        for job, outcome in zip(jobs, ("passed", "failed", "skipped", "stopped")):
            results.add(job, outcome, 1.0, {"kernel"})
        again = self.script.Results(self.file, {"program": "code"})
        self.assertEqual([again.passed(job) for job in jobs], [True, False, True, False])
        self.assertFalse(again.passed(("program", "Good", 1)))
        other = self.script.Results(self.file, {"program": "changed"})
        self.assertFalse(any(other.passed(job) for job in jobs))

    def test_notices_changed_code(self):
        program, listing = self.place / "tests/program", self.place / "listings/a.sass"
        program.parent.mkdir()
        keys = []
        for code, text in (("one", "EXIT"), ("two", "EXIT"), ("two", "NOP")):
            program.write_text(code)
            listing.write_text(text)
            keys.append(self.script.keys_of(["program"], self.place)["program"])
        self.assertEqual(len(set(keys)), 3)

    def test_writes_a_page(self):
        def row(test, outcome, *kernels):
            return {"program": "ops", "test": test, "seed": 0, "outcome": outcome, "seconds": 60, "kernels": kernels}
        rows = [row("Good", "passed", "a", "foreign"), row("Bad", "failed"), row("Slow", "stopped")]
        page = self.script.page_text(rows, 2, {"a": "a", "b": "b"}, "abc123")
        self.assertIn("commit abc123", page)
        self.assertIn("| `ops` | 0 | 1 | 1 | 0 | 1 | 3 |\n", page)
        self.assertIn("1 of 2 kernels ran. The others: `b`.\n", page)
        self.assertIn("Failed: `Bad`, seed 0.", page)
        self.assertIn("Stopped: `Slow`, seed 0.", page)


if __name__ == "__main__":
    unittest.main()
