"""scripts/gpu-validation must list exactly those tests that reports show to have run."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/gpu-validation"
PAGE = r"""# Page

<!-- seen -->
| date | GPU | driver | program | reports | result |
| --- | --- | --- | --- | --- | --- |
<!-- /seen -->

<!-- parts -->
| part | what | checks | seen |
| --- | --- | --- | --- |
| devices | of CUDA | `Device tests/test_kernels` | |
| fields | resident | `Device tests/test_kernels`, `Digests/(gray_scott\|ifs).*` | never |
<!-- /parts -->

The end.
"""


class GpuValidation(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        (self.root / "docs").mkdir()
        (self.root / "bench/results").mkdir(parents=True)
        (self.root / "docs/gpu-validation.md").write_text(PAGE)
        self.result("a-benchmark", {"version": "0.1.0", "rows": []})

    def result(self, name, content):
        (self.root / f"bench/results/{name}.json").write_text(json.dumps(content))

    def report(self, name, checks, program="wellspring 0.1.0 (abc)"):
        machine = {"gpu": "Imagined GPU", "date": "2030-01-02", "version": "0.1.0", "program": program}
        made = [{"section": s, "name": n, "passed": p} for s, n, p in checks]
        self.result(name, {"machine": machine, "checks": made, "rates": []})

    def run_script(self, *arguments):
        command = [sys.executable, SCRIPT, "--root", self.root, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def page(self):
        result = self.run_script()
        self.assertEqual(result.returncode, 0, result.stderr)
        return (self.root / "docs/gpu-validation.md").read_text()

    def never(self):
        return re.findall(r"^\| (\w+) .* never \|$", self.page(), re.MULTILINE)

    def test_without_reports_nothing_has_run(self):
        self.assertEqual(self.never(), ["devices", "fields"])
        self.assertIn("none yet", self.page())
        self.assertIn(r"| resident | `Device tests/test_kernels`, `Digests/(gray_scott\|ifs).*` |", self.page())
        self.assertTrue(self.page().endswith("The end.\n"))

    def test_parts_of_one_program_add_up(self):
        self.report("gpu-part-b", [("Device tests", "test_kernels", True)])
        self.assertEqual(self.never(), ["fields"])
        self.report("gpu-part-a", [("Digests", "ifs, first 40", True), ("Digests", "noise", False)])
        self.assertEqual(self.never(), [])
        self.assertIn("| devices | of CUDA | `Device tests/test_kernels` | Imagined GPU, 2030-01-02 |", self.page())
        self.assertIn("2 of 3 checks passed, 1 failed", self.page())
        self.assertIn("(../bench/results/gpu-part-a.md)", self.page())

    def test_reports_of_other_programs_do_not_count(self):
        self.report("gpu-part-b", [("Device tests", "test_kernels", True)], "wellspring 0.1.0 (old)")
        self.report("gpu-part-a", [("Digests", "ifs, first 40", True)])
        self.assertEqual(self.never(), ["fields"])

    def test_failed_and_skipped_checks_do_not_count(self):
        kernels = ("Device tests", "test_kernels", True)
        for second in (False, None):
            self.report("gpu", [kernels, ("Digests", "ifs, 1", True), ("Digests", "ifs, 2", second)])
            self.assertEqual(self.never(), ["fields"])

    def test_an_outdated_page_is_detected(self):
        self.assertEqual(self.run_script("--check").returncode, 1)
        self.page()
        self.assertEqual(self.run_script("--check").returncode, 0)
        self.report("gpu", [("Device tests", "test_kernels", True)])
        result = self.run_script("--check")
        self.assertEqual(result.returncode, 1)
        self.assertIn("run scripts/gpu-validation", result.stderr)

    def test_a_broken_report_is_reported(self):
        (self.root / "bench/results/cut-off.json").write_text('{"checks": [')
        result = self.run_script()
        self.assertEqual(result.returncode, 1)
        self.assertIn("cut-off.json is not JSON", result.stderr)
        self.assertEqual((self.root / "docs/gpu-validation.md").read_text(), PAGE)

    def test_the_parts_name_programs_that_gpu_check_runs(self):
        source = pathlib.Path(SCRIPT).parent
        listing = subprocess.run([sys.executable, source / "device-tests"], capture_output=True, text=True, check=True)
        programs = {"test_" + line.split()[0] for line in listing.stdout.splitlines()}
        named = re.findall(r"`Device tests/(\w+)`", (source.parent / "docs/gpu-validation.md").read_text())
        self.assertTrue(named)
        self.assertEqual(set(named) - programs, set())


if __name__ == "__main__":
    unittest.main()
