"""scripts/gpu-check against a stand-in for the program, which plays a machine with a GPU."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"

# Answers as the program does on a healthy GPU; FAULT names what is broken.
PROGRAM = """\
#!{python}
import json, os, pathlib, sys
command, fault = sys.argv[1], os.environ.get("FAULT", "")
def option(name):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else ""
if command == "digest":
    if fault == "no gpu":
        print("error: no driver", file=sys.stderr)
        sys.exit(4)
    wrong = fault == "digest" and option("--device") != "cpu" and sys.argv[2] == "shapes"
    sha256 = ("bad" if wrong else "abc") + option("--first")
    print(json.dumps({{"version": "0.1.0", "sha256": sha256}}))
elif command == "list":
    print("generators\\n  noise          images  grey noise\\n  shapes         images  shapes")
elif command == "doctor":
    print("GPU\\n  cuda:0           Imagined GPU, compute 9.0")
elif command == "train":
    print("step graph: 40 kernels, 2 fills, 1 copy on the device, %d host transfers"
          % (1 if fault == "transfer" else 0))
    settings = dict(word.split("=", 1) for word in sys.argv if "=" in word)
    streamed = "data.sources.1.budget" in settings
    if streamed and fault != "resident":
        print("cifar10: 200 images, streamed by 16 threads, 2 batches ahead")
    steps = int(settings["train.steps"])
    resumed = option("--resume") == "auto"
    wrong = (streamed and fault == "ring") or (resumed and fault == "resume")
    for step in (steps // 2, steps):
        model = pathlib.Path(settings["out"]) / f"checkpoints/step-{{step}}/model.safetensors"
        model.parent.mkdir(parents=True, exist_ok=resumed)
        header = b'{{"streamed": 1}}' if streamed else b'{{}}'
        weights = b"wrong" if wrong else b"right"
        model.write_bytes(len(header).to_bytes(8, "little") + header + weights)
    sys.exit(1 if fault == "graph" and option("--graph") == "check" else 0)
elif command == "bench":
    rows = [{{"name": "shapes 224x224x3 bf16", "unit": "images/s", "rate": 1.5e6, "spread": 1e3,
             "ceiling": {{"what": "memory write", "rate": 3e6}}}}]
    pathlib.Path(option("--json")).write_text(json.dumps({{"rows": rows}}))
"""

TEST_PROGRAM = """\
#!{python}
import os, sys
assert "Stream.Copies" in sys.argv[1] and sys.argv[1].endswith("-*/cpu"), sys.argv
if os.environ.get("FAULT") == "skipped":
    print("[  SKIPPED ] Stream.Copies (0 ms)")
else:
    print("[       OK ] Stream.Copies (0 ms)")
sys.exit(1 if os.environ.get("FAULT") == "test" else 0)
"""


class GpuCheck(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.write("bin/gpu-check", (SCRIPTS / "gpu-check").read_text())
        self.write("bin/wellspring", PROGRAM.format(python=sys.executable))
        self.write("libexec/wellspring/test_kernels", TEST_PROGRAM.format(python=sys.executable))
        self.write("libexec/wellspring/device-tests.txt", "kernels Stream.Copies\n")
        for config in ("quickstart.yaml", "ee_mumu.yaml", "cifar10_transfer.yaml"):
            self.write(f"share/wellspring/configs/{config}", "")

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        path.chmod(0o755)

    def check(self, fault="", *arguments):
        environment = {**os.environ, "FAULT": fault, "PATH": "/usr/bin:/bin"}
        return subprocess.run(
            [sys.executable, self.folder / "bin/gpu-check", "--out", self.folder / "out",
             *arguments],
            capture_output=True, text=True, env=environment, check=False,
        )  # fmt: skip

    def report(self):
        (path,) = (self.folder / "out").glob("*.json")
        (markdown,) = (self.folder / "out").glob("*.md")
        return json.loads(path.read_text()), markdown.read_text()

    def failures(self):
        return {check["name"] for check in self.report()[0]["checks"] if not check["passed"]}

    def test_a_healthy_gpu_passes_and_leaves_a_report(self):
        result = self.check()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        report, markdown = self.report()
        self.assertEqual(self.failures(), set())
        sections = {check["section"] for check in report["checks"]}
        self.assertEqual(
            sections,
            {"Device tests", "Host digest = device digest", "Step graph", "Streaming", "Resuming",
             "Rates"},
        )
        self.assertEqual(report["rates"][0]["rate"], 1.5e6)
        self.assertIn("0 host transfers", markdown)
        self.assertIn("Imagined GPU", markdown)

    def test_without_a_gpu_nothing_is_written(self):
        result = self.check("no gpu")
        self.assertEqual(result.returncode, 4)
        self.assertIn("no usable GPU", result.stdout)
        self.assertIn("no driver", result.stdout)
        self.assertFalse((self.folder / "out").exists())

    def test_parts_alone_leave_a_report_of_their_own(self):
        result = self.check("graph", "--only", "digests", "rates")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        sections = {check["section"] for check in self.report()[0]["checks"]}
        self.assertEqual(sections, {"Host digest = device digest", "Rates"})
        (path,) = (self.folder / "out").glob("*.md")
        self.assertTrue(path.name.endswith("-digests-rates.md"), path.name)
        self.assertIn("memory write: 3e+06 (50.0%)", path.read_text())

    def test_a_digest_that_differs_fails(self):
        self.assertEqual(self.check("digest").returncode, 1)
        self.assertTrue(all(name.startswith("shapes") for name in self.failures()))
        self.assertEqual(len(self.failures()), 4)

    def test_a_transfer_in_the_step_fails(self):
        self.assertEqual(self.check("transfer").returncode, 1)
        self.assertTrue(all("--graph" in name for name in self.failures()))

    def test_a_replay_that_differs_fails(self):
        self.assertEqual(self.check("graph").returncode, 1)
        self.assertTrue(self.failures())
        self.assertTrue(all("--graph check" in name for name in self.failures()))

    def test_a_ring_that_gives_other_bytes_fails(self):
        self.assertEqual(self.check("ring").returncode, 1)
        self.assertEqual(len(self.failures()), 3)
        self.assertTrue(all("streamed" in name for name in self.failures()))

    def test_a_resumed_run_that_ends_elsewhere_fails(self):
        self.assertEqual(self.check("resume").returncode, 1)
        self.assertEqual(self.failures(), {"cifar10_transfer.yaml bf16, resumed half way"})

    def test_files_that_were_not_streamed_fail(self):
        self.assertEqual(self.check("resident").returncode, 1)
        self.assertTrue(all("streamed" in name for name in self.failures()))

    def test_a_failing_device_test_fails(self):
        self.assertEqual(self.check("test").returncode, 1)
        self.assertEqual(self.failures(), {"test_kernels"})

    def test_a_skipped_device_test_fails(self):
        self.assertEqual(self.check("skipped").returncode, 1)
        self.assertEqual(self.failures(), {"test_kernels"})


if __name__ == "__main__":
    unittest.main()
