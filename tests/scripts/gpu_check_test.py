"""scripts/gpu-check against a stand-in for the program, which plays a machine with a GPU."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import textwrap
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"

# Answers as the program does on a healthy GPU; FAULT names what is broken.
PROGRAM = """\
#!{python} -IS
import json, os, pathlib, sys
command, fault = sys.argv[1], os.environ.get("FAULT", "")
def option(name):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else ""
def settings():
    return dict(word.split("=", 1) for word in sys.argv[2:] if "=" in word)
device = option("--device") or settings().get("device", "")
wrong = fault == "digest" and device != "cpu" and sys.argv[2] == "shapes"
if command == "digest":
    if fault in ("no gpu", "old driver"):
        print("error: the driver is too old", file=sys.stderr)
        sys.exit(4)
    if fault == "words" and sys.argv[2] == "shapes":
        print("no digest")
        sys.exit(0)
    sha256 = ("bad" if wrong else "abc") + option("--first")
    print(json.dumps({{"version": "0.1.0", "sha256": sha256}}))
elif command == "export":
    import struct, zipfile
    values = struct.pack("<6f", 1, 2, 3, 4, 5 + 2**-20 if wrong else 5, 6)
    with zipfile.ZipFile(option("--out"), "w") as archive:
        for name, kind, shape, data in (("x", "<f4", (3, 2), values),
                                        ("sample", "<i8", (3,), struct.pack("<3q", 7, 8, 9))):
            header = repr({{"descr": kind, "fortran_order": False, "shape": shape}}).encode()
            size = struct.pack("<H", len(header))
            archive.writestr(name + ".npy", b"\\x93NUMPY\\x01\\x00" + size + header + data)
elif command == "list":
    print("generators\\n  noise          images  grey noise\\n  shapes         images  shapes")
elif command == "doctor":
    print("GPU\\n  cuda:0           Imagined GPU, compute 9.0")
elif command == "train":
    print("step graph: 40 kernels, 2 fills, 1 copy on the device, %d host transfers"
          % (1 if fault == "transfer" else 0))
    settings = settings()
    streamed = "data.sources.1.budget" in settings
    if streamed and fault != "resident":
        print("cifar10: 200 images, streamed by 16 threads, 2 batches ahead")
    steps = int(settings.get("train.steps", 2400))
    resumed = option("--resume") == "auto"
    other = (streamed and fault == "ring") or (resumed and fault == "resume")
    for step in (steps // 2, steps):
        model = pathlib.Path(settings["out"]) / f"checkpoints/step-{{step}}/model.safetensors"
        model.parent.mkdir(parents=True, exist_ok=resumed)
        header = b'{{"streamed": 1}}' if streamed else b'{{}}'
        weights = b"wrong" if other else b"right"
        model.write_bytes(len(header).to_bytes(8, "little") + header + weights)
    worse = fault == "accuracy" and settings["precision"] == "bf16"
    accuracy = (0.5 if worse else 0.9) + int(settings.get("seed", 1)) / 1000
    line = {{"kind": "evaluation", "results": [{{"accuracy": accuracy}}]}}
    (pathlib.Path(settings["out"]) / "metrics.jsonl").write_text(json.dumps(line) + "\\n")
    trace = os.environ.get("WELLSPRING_TRACE")
    if trace and fault != "no injection":
        assert os.environ["CUDA_INJECTION64_PATH"].endswith("/tools/libkernel_trace.so")
        lines = [{{"cupti": 130000}}]
        for start in range(1000, 9000, 1000):
            for node, name in ((1, "emission"), (2, "convolution")):
                lines.append({{"kind": "kernel", "name": name, "start": start + 100 * node,
                              "end": start + 100 * node + (-1 if fault == "clock" else 60 * node),
                              "graph": 0 if fault == "no graph" else 5, "node": node}})
        lines.append({{"end": 16, "dropped": 2 if fault == "dropped" else 0}})
        if fault == "no cupti":
            lines = [{{"unavailable": "libcupti.so.13: cannot open shared object file"}}]
        text = "".join(json.dumps(line) + "\\n" for line in lines)
        pathlib.Path(trace).write_text(text[:300] if fault == "cut trace" else text)
    sys.exit(1 if fault == "graph" and option("--graph") == "check" else 0)
elif command == "bench":
    rows = [{{"name": "shapes 224x224x3 bf16", "unit": "images/s", "rate": 1.5e6, "spread": 1e3,
             "ceiling": {{"what": "memory write", "rate": 3e6}}}}]
    if sys.argv[2] == "train":
        rows[0]["name"] = "three convolutions 32x32 batch 128 shapes"
    if fault == "rate of zero":
        rows[0]["rate"] = 0
    text = json.dumps({{"rows": rows}})
    pathlib.Path(option("--json")).write_text(text[:20] if fault == "cut" else text)
"""

# Answer as the programs of bench/gpu and bench/peers do on a healthy GPU.
LAUNCH_CHAIN = """\
#!{python} -IS
import json, os, sys
fault = os.environ.get("FAULT")
assert sys.argv[1] == "cuda:0", sys.argv
row = {{"name": "graph", "nodes_a_step": 50, "us_a_step": 60.0, "us_a_step_alone": 70.0, "host_us_a_step": 5.0}}
if fault == "chain of nothing":
    row["us_a_step"] = 0.0
print(json.dumps(row))
if fault == "chain crash":
    os.abort()
print("segments" if fault == "chain words" else json.dumps({{"end": 2 if fault == "chain count" else 1}}))
"""
LAUNCH_BOUNDS = """\
#!{python} -IS
import json, os, sys
fault = os.environ.get("FAULT")
assert sys.argv[1:3] == ["--device", "cuda:0"], sys.argv
if fault == "bounds differ":
    sys.exit(print("error: shapes: 2 blocks make other samples", file=sys.stderr) or 1)
for blocks, us in ((0, 20.0), (3, 21.0), (4, 0.0 if fault == "bounds of nothing" else 10.0)):
    print(json.dumps({{"generator": "shapes", "shipped": blocks == 0 and fault != "bounds shipped",
                      "blocks": blocks, "members": 0, "band_pixels": 4096, "samples": 100, "us": us}}))
if fault != "bounds cut":
    print(json.dumps({{"end": 3}}))
"""
CONV_PLANS = """\
#!{python} -IS
import json, os, sys, time
fault = os.environ.get("FAULT")
if fault == "plans hang":
    print("{{", flush=True)
    time.sleep(60)
head = {{"convolution": "conv2d a", "bias": False, "relu": False, "pass": "forward"}}
times = [float("nan") if fault == "plans nan" else 20.0, 10.0]
print(json.dumps({{"device_properties": "?" if fault == "plans device" else {{"multiProcessorCount": 132}}}}))
for plan, us in enumerate(times):
    print(json.dumps({{**head, "plan": plan, "engine": f"eng{{plan}}", "us": us,
                      "chosen": plan == 0 and fault != "plans chosen"}}))
print(json.dumps({{**head, "plan": 2, "engine": "eng2", "refused": "left out"}}))
if fault != "plans cut":
    print(json.dumps({{"end": 3, "left": 4}}))
"""
PEER = """\
import json, os, sys
fault = os.environ.get("FAULT")
assert "--device cuda" in " ".join(sys.argv), sys.argv
if fault == "peer without gpu":
    sys.exit(print("PyTorch 9 cannot use a GPU here", file=sys.stderr) or 4)
if fault == "peer crash":
    sys.exit(1)
rate = {{"images_per_second": "many" if fault == "peer words" else 1e6}}
print(json.dumps({{"peer": "PyTorch", "version": "9", "work": "a step", "resident": rate}}))
"""

TEST_PROGRAM = """\
#!{python} -IS
import os, sys, time
fault = os.environ.get("FAULT")
wanted = sys.argv[1]
assert wanted.endswith("-*/cpu"), sys.argv
if fault == "hang" and "Stream.Copies" in wanted:
    time.sleep(60)
if fault == "crash" and "Stream.Copies" in wanted:
    os.abort()
for name in ("Stream.Copies", "Device.Answers"):
    if name in wanted:
        print(f"[  SKIPPED ] {{name}} (0 ms)" if fault == "skipped" else f"[       OK ] {{name}} (0 ms)")
sys.exit(1 if fault == "test" else 0)
"""


class GpuCheck(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.write("bin/gpu-check", (SCRIPTS / "gpu-check").read_text())
        for file in (SCRIPTS / "gpu_check").glob("*.py"):
            self.write(f"bin/gpu_check/{file.name}", file.read_text())
        self.write("bin/wellspring", PROGRAM.format(python=sys.executable))
        self.write("libexec/wellspring/test_kernels", TEST_PROGRAM.format(python=sys.executable))
        self.write("libexec/wellspring/tools/launch_chain", LAUNCH_CHAIN.format(python=sys.executable))
        self.write("libexec/wellspring/tools/launch_bounds", LAUNCH_BOUNDS.format(python=sys.executable))
        self.write("libexec/wellspring/tools/conv_plans", CONV_PLANS.format(python=sys.executable))
        self.write("libexec/wellspring/tools/libkernel_trace.so", "")
        self.write("libexec/wellspring/peers/torch_step.py", PEER.format())
        self.write("modules/torch.py", "")
        self.write("libexec/wellspring/device-tests.txt", "kernels Stream.Copies\nkernels Device.Answers\n")
        for config in ("quickstart.yaml", "ee_mumu.yaml", "cifar10_transfer.yaml"):
            self.write(f"share/wellspring/configs/{config}", "")

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        path.chmod(0o755)

    def check(self, fault="", *arguments, out="out"):
        path = f"{self.folder / 'tools'}:/usr/bin:/bin"
        environment = {**os.environ, "FAULT": fault, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1",
                       "PYTHONPATH": str(self.folder / "modules")}  # fmt: skip
        return subprocess.run(
            [sys.executable, self.folder / "bin/gpu-check", "--out", self.folder / out, *arguments],
            capture_output=True, text=True, env=environment, check=False,
        )  # fmt: skip

    def report(self):
        (path,) = (self.folder / "out").glob("*.json")
        (markdown,) = (self.folder / "out").glob("*.md")
        return json.loads(path.read_text()), markdown.read_text()

    def failures(self):
        return {c["name"] for c in self.report()[0]["checks"] if c["passed"] is False}

    def test_a_healthy_gpu_passes_and_leaves_a_report(self):
        result = self.check()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        report, markdown = self.report()
        self.assertEqual(self.failures(), set())
        sections = [check["section"] for check in report["checks"]]
        self.assertEqual(
            list(dict.fromkeys(sections)),
            ["First samples and steps", "Host digest = device digest", "First rates",
             "Device tests", "Sanitizer", "Step graph", "Streaming", "Resuming", "Accuracy", "Launches",
             "Launch bounds", "Nodes", "Rates", "Convolution plans", "Peers", "Variants", "Profiles"],
        )  # fmt: skip
        self.assertIn("graph: 60.0 us a step (1.20 a kernel), alone 70.0, of the host 5.0", markdown)
        self.assertIn("shapes: 5000000 samples/s; 2.00 times as many with 4 blocks a multiprocessor, "
                      "bands of 4096 pixels", markdown)  # fmt: skip
        self.assertIn("1 passes, 3 plans, 2 timed; 1 have a faster one than cuDNN's choice; "
                      "4 convolutions were not reached", markdown)  # fmt: skip
        self.assertIn("forward of conv2d a: eng0 20.0 us, eng1 10.0 us", markdown)
        self.assertIn("2 nodes in 0.2 us, busy 82%; gaps of 0.04 us on average", markdown)
        self.assertIn("resident: 1000000 images/s, ours 3.00 times as many", markdown)
        self.assertIn("this Python has no jax", markdown)
        self.assertEqual([row["plan"] for row in report["records"]["plans"]], [0, 1, 2])
        self.assertEqual(report["records"]["nodes of quickstart.yaml"]["steps"], 4)
        self.assertEqual(report["rates"][0]["rate"], 1.5e6)
        self.assertIn("0 host transfers", markdown)
        self.assertIn("Imagined GPU", markdown)
        self.assertIn("| ncu | not made |", markdown)
        (logs,) = (self.folder / "out").glob("*-logs.tar")
        with tarfile.open(logs) as tar:
            for log in ("bench-train", "trace-of-quickstart", "cudnn-device-properties"):
                self.assertTrue(any(log in name for name in tar.getnames()), log)

    def test_the_four_parts_are_all_sections(self):
        sections = []
        for part in "ABCD":
            result = self.check("", "--part", part, "--budget", "570", out=f"out-{part}")
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            (path,) = (self.folder / f"out-{part}").glob(f"*-part-{part.lower()}.json")
            sections += [check["section"] for check in json.loads(path.read_text())["checks"]]
        self.check()
        whole = [check["section"] for check in self.report()[0]["checks"]]
        self.assertEqual(sections, whole)

    def test_without_a_gpu_nothing_is_written(self):
        result = self.check("no gpu")
        self.assertEqual(result.returncode, 4)
        self.assertIn("no usable GPU", result.stdout)
        self.assertIn("driver is too old", result.stdout)
        self.assertFalse((self.folder / "out").exists())

    def test_a_gpu_that_the_program_cannot_use_is_a_report(self):
        fields = "Imagined GPU, 390.1, 8 GiB, 1, 1, 1"
        self.write("tools/nvidia-smi", f"#!/bin/sh\n[ -n \"$1\" ] && case \"$1\" in *,*) "
                   f"echo '{fields}' ;; *) echo 'Imagined GPU' ;; esac\n")  # fmt: skip
        result = self.check("old driver")
        self.assertEqual(result.returncode, 4, result.stdout + result.stderr)
        self.assertEqual(self.failures(), {"the device is usable"})
        self.assertIn("driver is too old", self.report()[1])
        self.assertIn("390.1", self.report()[1])

    def test_sections_alone_leave_a_report_of_their_own(self):
        result = self.check("graph", "--only", "digests", "rates")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        sections = {check["section"] for check in self.report()[0]["checks"]}
        self.assertEqual(sections, {"Host digest = device digest", "Rates"})
        (path,) = (self.folder / "out").glob("*.md")
        self.assertTrue(path.name.endswith("-digests-rates.md"), path.name)
        self.assertIn("memory write: 3e+06 (50.0%)", path.read_text())

    def test_a_digest_that_differs_fails_and_says_where(self):
        self.assertEqual(self.check("digest").returncode, 1)
        self.assertTrue(all(name.startswith("shapes") for name in self.failures()))
        self.assertEqual(len(self.failures()), 4)
        self.assertIn(
            "x: 1 of 6 values differ, first in sample 9 at [0]: "
            "host 5.0, device 5.00000095367431", self.report()[1],
        )  # fmt: skip
        self.assertIn(", 2 ulp", self.report()[1])

    def test_words_instead_of_a_digest_fail(self):
        self.assertEqual(self.check("words", "--only", "digests", "rates").returncode, 1)
        self.assertEqual(len(self.failures()), 4)
        self.assertIn("no digest", self.report()[1])
        self.assertIn("bench ops", self.report()[1])  # what came after

    def test_rates_that_are_cut_off_fail(self):
        for fault in ("cut", "rate of zero"):
            result = self.check(fault, "--only", "rates", "variants", "launches", out=f"out-{fault}")
            self.assertEqual(result.returncode, 1)
            (path,) = (self.folder / f"out-{fault}").glob("*.json")
            report = json.loads(path.read_text())
            self.assertEqual(report["rates"], [])
            checks = {c["name"]: c["passed"] for c in report["checks"]}
            self.assertTrue(checks.pop("a chain of kernels that do nothing"))
            self.assertEqual(len(checks), 9)
            self.assertFalse(any(checks.values()), checks)

    def failing(self, faults, section, *arguments):
        """Each of the faults makes every check of the section that was made fail, and nothing else; returns
        the last report's text."""
        for fault in faults:
            result = self.check(fault, "--only", section, "launches", *arguments, out=f"out-{fault}")
            self.assertEqual(result.returncode, 1, f"{fault}: {result.stdout}{result.stderr}")
            (path,) = (self.folder / f"out-{fault}").glob("*.md")
            checks = json.loads(path.with_suffix(".json").read_text())["checks"]
            for check in checks:
                expected = (False,) if check["section"] != "Launches" or section == "launches" else (True,)
                self.assertIn(check["passed"], (*expected, None), f"{fault}: {check}")
            self.assertTrue(any(check["passed"] is False for check in checks))
            text = path.read_text()
        return text

    def test_a_chain_without_times_fails(self):
        text = self.failing(["chain crash", "chain words", "chain count", "chain of nothing"], "launches")
        self.assertIn("'us_a_step' is 0.0", text)

    def test_bounds_without_times_or_with_other_samples_fail(self):
        text = self.failing(["bounds differ", "bounds of nothing", "bounds cut", "bounds shipped"], "bounds")
        self.assertIn("no row of shapes is that of the program", text)

    def test_plans_without_times_or_a_choice_fail(self):
        text = self.failing(["plans nan", "plans cut", "plans device", "plans chosen"], "plans")
        self.assertIn("no plan of forward of conv2d a is the chosen one", text)

    def test_plans_that_hang_end_with_the_budget(self):
        result = self.check("plans hang", "--only", "plans", "--budget", "6")
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("its time was over", self.report()[1])

    def test_a_trace_that_is_none_fails(self):
        text = self.failing(["no injection", "cut trace", "clock", "no graph", "dropped"], "nodes")
        self.assertIn("2 records were dropped", text)

    def test_a_trace_is_not_made_without_cupti(self):
        self.assertEqual(self.check("no cupti", "--only", "nodes").returncode, 0)
        self.assertEqual({c["passed"] for c in self.report()[0]["checks"]}, {None})
        self.assertIn("libcupti.so.13: cannot open shared object file", self.report()[1])

    def test_a_peer_that_gives_no_rate_fails_and_one_without_a_gpu_is_not_made(self):
        self.failing(["peer crash", "peer words"], "peers")
        self.assertEqual(self.check("peer without gpu", "--only", "peers").returncode, 0)
        self.assertIn("| the training step in torch | not made | PyTorch 9 cannot use a GPU here |", self.report()[1])

    def test_what_is_not_built_is_not_made(self):
        shutil.rmtree(self.folder / "libexec/wellspring/tools")
        self.assertEqual(self.check("", "--only", "launches", "bounds", "nodes", "plans").returncode, 0)
        self.assertEqual({c["passed"] for c in self.report()[0]["checks"]}, {None})

    def test_a_transfer_in_the_step_fails(self):
        self.assertEqual(self.check("transfer", "--part", "C").returncode, 1)
        self.assertTrue(all("--graph" in name for name in self.failures()))

    def test_a_replay_that_differs_fails(self):
        self.assertEqual(self.check("graph", "--part", "C").returncode, 1)
        self.assertTrue(self.failures())
        self.assertTrue(all("--graph check" in name for name in self.failures()))

    def test_a_ring_that_gives_other_bytes_fails(self):
        self.assertEqual(self.check("ring", "--part", "C").returncode, 1)
        self.assertEqual(len(self.failures()), 3)
        self.assertTrue(all("streamed" in name for name in self.failures()))

    def test_a_resumed_run_that_ends_elsewhere_fails(self):
        self.assertEqual(self.check("resume", "--part", "C").returncode, 1)
        self.assertEqual(self.failures(), {"cifar10_transfer.yaml bf16, resumed half way"})

    def test_files_that_were_not_streamed_fail(self):
        self.assertEqual(self.check("resident", "--part", "C").returncode, 1)
        self.assertTrue(all("streamed" in name for name in self.failures()))

    def test_a_precision_that_loses_accuracy_fails(self):
        self.assertEqual(self.check("accuracy", "--only", "accuracy").returncode, 1)
        self.assertEqual(self.failures(), {"bf16 reaches the accuracy of f32"})

    def test_a_failing_device_test_fails(self):
        self.assertEqual(self.check("test", "--part", "B").returncode, 1)
        self.assertIn("test_kernels", self.failures())

    def test_a_skipped_device_test_fails(self):
        self.assertEqual(self.check("skipped", "--part", "B").returncode, 1)
        self.assertIn("test_kernels", self.failures())

    def test_a_crash_hides_no_other_suite(self):
        self.assertEqual(self.check("crash", "--part", "B").returncode, 1)
        self.assertEqual(self.failures(), {"test_kernels", "test_kernels: Stream alone"})
        self.assertIn("test_kernels: Device alone | passed", self.report()[1])

    def test_a_hang_ends_with_the_budget_and_what_was_not_reached_is_said(self):
        self.assertEqual(self.check("hang", "--part", "B", "--budget", "6").returncode, 1)
        self.assertEqual(self.failures(), {"test_kernels"})
        self.assertIn("its time was over", self.report()[1])
        self.assertIn("no time was left", self.report()[1])

    def test_a_budget_that_is_spent_is_not_a_pass(self):
        self.assertEqual(self.check("", "--part", "A", "--budget", "1").returncode, 3)
        self.assertEqual(self.failures(), set())
        self.assertRegex(self.report()[1], r"\n0 of (\d+) checks passed, \1 not made")

    def test_a_report_that_cannot_be_written_is_printed(self):
        self.write("full", "")
        result = self.check("digest", "--part", "A", out="full/out")
        self.assertEqual(result.returncode, 1)
        self.assertIn("the report could not be written", result.stdout)
        self.assertIn("| shapes, first 1000, batch 64 | **failed** |", result.stdout)


if __name__ == "__main__":
    unittest.main()
