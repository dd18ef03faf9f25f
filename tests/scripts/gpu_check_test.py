"""Runs scripts/gpu-check with programs that imitate Wellspring's on a machine with a GPU."""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"

# These programs answer like the real ones on a healthy GPU; `fault` selects what is broken.
HEAD = f"#!{sys.executable} -IS\nimport json, os, pathlib, re, struct, sys, time, zipfile\nfault = os.environ.get('FAULT', '')\n"
PROGRAM = r"""
command = sys.argv[1]
def option(name):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else ""
settings = dict(word.split("=", 1) for word in sys.argv[2:] if "=" in word)
device = option("--device") or settings.get("device", "")
wrong = fault == "digest" and device != "cpu" and sys.argv[2] == "shapes"
if command == "digest":
    if fault in ("no gpu", "old driver"):
        sys.exit(print("error: the driver is too old", file=sys.stderr) or 4)
    if fault == "words" and sys.argv[2] == "shapes":
        sys.exit(print("no digest"))
    print(json.dumps({"version": "0.1.0", "sha256": ("bad" if wrong else "abc") + option("--first")}))
elif command == "export":
    values = struct.pack("<6f", 1, 2, 3, 4, 5 + 2**-20 if wrong else 5, 6)
    with zipfile.ZipFile(option("--out"), "w") as archive:
        for name, kind, shape, data in (("x", "<f4", (3, 2), values),
                                        ("sample", "<i8", (3,), struct.pack("<3q", 7, 8, 9))):
            header = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode()
            archive.writestr(name + ".npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)
elif command == "list":
    print("generators\n  noise          images  grey noise\n  shapes         images  shapes")
elif command == "describe":
    print('{"plane": %s}' % ('{"name": "shape"}' if sys.argv[2] == "shapes" else "null"))
elif command == "doctor":
    print("GPU\n  cuda:0           Imagined GPU, compute 9.0")
elif command == "train":
    print("step graph: 40 kernels, 2 fills, 1 copy on the device, %d host transfers" % (fault == "transfer"))
    streamed, resumed = "data.sources.1.budget" in settings, option("--resume") == "auto"
    if streamed and fault != "resident":
        print("cifar10: 200 images, streamed by 16 threads, 2 batches ahead")
    steps, out = int(settings.get("train.steps", 2400)), pathlib.Path(settings["out"])
    for step in (steps // 2, steps):
        model = out / f"checkpoints/step-{step}/model.safetensors"
        model.parent.mkdir(parents=True, exist_ok=resumed)
        header = b'{"streamed": 1}' if streamed else b"{}"
        wrong = (streamed and fault == "ring") or (resumed and fault == "resume")
        model.write_bytes(len(header).to_bytes(8, "little") + header + (b"wrong" if wrong else b"right"))
    worse = fault == "accuracy" and settings["precision"] == "bf16"
    accuracy = (0.5 if worse else 0.9) + int(settings.get("seed", 1)) / 1000
    (out / "metrics.jsonl").write_text(json.dumps({"kind": "evaluation", "results": [{"accuracy": accuracy}]}) + "\n")
    trace = os.environ.get("WELLSPRING_TRACE")
    if trace and fault != "no injection":
        assert os.environ["CUDA_INJECTION64_PATH"].endswith("/tools/libkernel_trace.so")
        lines = []
        for start in range(1000, 9000, 1000):
            for node, name in ((1, "emission"), (2, "convolution")):
                begin = start + 100 * node
                lines.append({"kind": "kernel", "name": name, "start": begin,
                              "end": begin - 1 if fault == "clock" else begin + 60 * node,
                              "graph": 0 if fault == "no graph" else 5, "node": node})
        lines.append({"end": 16, "dropped": 2 if fault == "dropped" else 0})
        if fault == "no cupti":
            lines = [{"unavailable": "libcupti.so.13: cannot open shared object file"}]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        pathlib.Path(trace).write_text(text[:300] if fault == "cut trace" else text)
    sys.exit(fault == "graph" and option("--graph") == "check")
elif command == "bench":
    if sys.argv[2] == "generators" and not re.search(option("--filter"), "shapes"):
        sys.exit("error: no benchmark matches")
    name = "three convolutions 32x32 batch 128 shapes" if sys.argv[2] == "train" else "shapes 224x224x3 bf16"
    text = json.dumps({"rows": [{"name": name, "unit": "images/s", "rate": 0 if fault == "rate of zero" else 1.5e6,
                                 "spread": 1e3, "ceiling": {"what": "memory write", "rate": 3e6}}]})
    pathlib.Path(option("--json")).write_text(text[:20] if fault == "cut" else text)
"""
CONV_PLANS = r"""
if fault == "plans hang":
    time.sleep(60)
head = {"convolution": "conv2d a", "bias": False, "relu": False, "pass": "forward"}
print(json.dumps({"device_properties": "?" if fault == "plans device" else {"multiProcessorCount": 132}}))
for plan, us in enumerate([float("nan") if fault == "plans nan" else 20.0, 10.0]):
    print(json.dumps({**head, "plan": plan, "engine": f"eng{plan}", "us": us,
                      "chosen": plan == 0 and fault != "plans chosen"}))
print(json.dumps({**head, "plan": 2, "engine": "eng2", "refused": "left out"}))
if fault != "plans cut":
    print(json.dumps({"end": 4 if fault == "plans count" else 3, "left": 4}))
"""
PEER = r"""
assert "--device cuda" in " ".join(sys.argv) and "--generate" in sys.argv, sys.argv
if fault == "peer without gpu":
    sys.exit(print("PyTorch 9 cannot use a GPU here", file=sys.stderr) or 4)
rate = {"images_per_second": "many" if fault == "peer words" else 1e6}
ways = {"resident": rate} if fault == "peer without drawing" else {"resident": rate, "generating": rate}
print(json.dumps({"peer": "PyTorch", "version": "9", "work": "a step", **ways}))
sys.exit(fault == "peer crash")
"""
TEST_PROGRAM = r"""
assert sys.argv[1].endswith("-*/cpu"), sys.argv
if "Stream.Copies" in sys.argv[1]:
    time.sleep(60 * (fault == "hang"))
    fault == "crash" and os.abort()
for name in ("Stream.Copies", "Device.Answers"):
    if name in sys.argv[1]:
        print(f"[  SKIPPED ] {name} (0 ms)" if fault == "skipped" else f"[       OK ] {name} (0 ms)")
sys.exit(fault == "test")
"""
NVIDIA_SMI = r"""
print("Imagined GPU" + ", 390.1, 8 GiB, 1, 1, 1" * ("," in sys.argv[1]))
"""
FORWARD = "forward of conv2d a"
# (fault, arguments, pattern for the names of the checks that must fail, text in the report).
FAULTS = [
    ("digest", "--part A", "^shapes, ", "x: 1 of 6 values differ, first in sample 9 at [0]: host 5.0, "
     "device 5.00000095367431"),
    ("digest", "--only digests", "^shapes, ", ", 2 ulp"),
    ("words", "--only digests rates", "^shapes, ", "no digest"),
    ("words", "--only digests rates", "^shapes, ", "bench ops"),  # the next section runs
    ("cut", "--only rates peers", "^bench", "Unterminated string"),
    ("rate of zero", "--only rates peers", "^bench", "'rate' is 0"),
    ("plans nan", "--only plans quick-rates", "plans", "'us' is nan"),
    ("plans cut", "--only plans quick-rates", "plans", "without its last line"),
    ("plans count", "--only plans quick-rates", "plans", "3 rows instead of 4"),
    ("plans device", "--only plans quick-rates", "plans", "AttributeError"),
    ("plans chosen", "--only plans quick-rates", "plans", f"no plan of {FORWARD} is the chosen one"),
    ("plans hang", "--only plans --budget 15", "plans", "timed out"),
    ("no injection", "--only nodes quick-rates", "of a step", "the driver did not load"),
    ("cut trace", "--only nodes quick-rates", "of a step", "is not JSON"),
    ("clock", "--only nodes quick-rates", "of a step", "ends before it begins"),
    ("no graph", "--only nodes quick-rates", "of a step", "no graph launched anything"),
    ("dropped", "--only nodes quick-rates", "of a step", "2 records were dropped"),
    ("peer crash", "--only peers quick-rates", "in torch", "exit code 1"),
    ("peer without drawing", "--only peers quick-rates", "in torch", "no rate of generating images"),
    ("peer words", "--only peers quick-rates", "in torch", "'images_per_second' is 'many'"),
    ("transfer", "--only graph", "(f32|bf16), --graph", "1 host transfers"),
    ("graph", "--part C", "--graph check", "exit code 1"),
    ("ring", "--only streaming resuming", "streamed", "streamed"),
    ("resume", "--only streaming resuming", "resumed halfway", "uninterrupted"),
    ("resident", "--only streaming", "streamed", "the files were not streamed"),
    ("accuracy", "--only accuracy", "bf16 reaches", "allowed by chance"),
    ("test", "--part B", "test_kernels", "2 passed, 0 skipped"),
    ("skipped", "--part B", "test_kernels", "0 passed, 2 skipped"),
    # A crash must not hide other suites; the budget must end a hang.
    ("crash", "--part B", "test_kernels$|Stream alone", "test_kernels: Device alone | passed"),
    ("hang", "--part B --budget 15", "test_kernels$", "timed out"),
    ("hang", "--part B --budget 15", "test_kernels$", "no time was left"),
]  # fmt: skip


class GpuCheck(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copytree(SCRIPTS / "gpu_check", self.folder / "bin/gpu_check")
        shutil.copy(SCRIPTS / "gpu-check", self.folder / "bin")
        tools = "libexec/wellspring/tools"
        for name, text in {
            "bin/wellspring": PROGRAM, "libexec/wellspring/test_kernels": TEST_PROGRAM,
            f"{tools}/conv_plans": CONV_PLANS, f"{tools}/libkernel_trace.so": "", "modules/torch.py": "",
            "libexec/wellspring/peers/torch_step.py": PEER,
        }.items():  # fmt: skip
            self.write(name, HEAD + text)
        self.write("libexec/wellspring/device-tests.txt", "kernels Stream.Copies\nkernels Device.Answers\n")

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def check(self, fault="", *arguments, code=0, out="out"):
        """Returns standard output and, if there is a report, its JSON and Markdown."""
        environment = {**os.environ, "FAULT": fault, "PATH": f"{self.folder / 'tools'}:/usr/bin:/bin",
                       "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(self.folder / "modules")}  # fmt: skip
        command = [sys.executable, self.folder / "bin/gpu-check", "--out", self.folder / out, *arguments]
        result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        self.assertEqual(result.returncode, code, f"{fault}: {result.stdout}{result.stderr}")
        paths = sorted((self.folder / out).glob("*.json")) if (self.folder / out).is_dir() else []
        return result.stdout, *((json.loads(p.read_text()), p.with_suffix(".md").read_text()) for p in paths)

    @staticmethod
    def failures(report):
        return {check["name"] for check in report["checks"] if check["passed"] is False}

    def test_each_fault_fails_its_checks_and_no_other(self):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            runs = [pool.submit(self.check, fault, *arguments.split(), code=1, out=f"out-{number}")
                    for number, (fault, arguments, *_) in enumerate(FAULTS)]  # fmt: skip
        for (fault, arguments, expected, words), run in zip(FAULTS, runs):
            with self.subTest(fault, arguments=arguments):
                _, (report, markdown) = run.result()
                failed, made = self.failures(report), [c["name"] for c in report["checks"] if c["passed"] is not None]
                self.assertEqual(failed, {name for name in made if re.search(expected, name)})
                self.assertTrue(failed)
                self.assertIn(words, markdown)

    def test_a_healthy_gpu_passes_and_leaves_a_report(self):
        _, (report, markdown) = self.check()
        self.assertEqual(self.failures(report), set())
        self.assertEqual(
            list(dict.fromkeys(check["section"] for check in report["checks"])),
            ["First samples and steps", "Host digest = device digest", "First rates", "Device tests", "Sanitizer",
             "Step graph", "Streaming", "Resuming", "Accuracy", "Nodes", "Rates", "Convolution plans", "Peers"],
        )  # fmt: skip
        for words in (
            "1 passes, 3 plans, 2 timed; 1 with a faster plan than cuDNN's choice; 4 convolutions were not reached",
            f"{FORWARD}: eng0 20.0 us, eng1 10.0 us", "2 nodes in 0.2 us, busy 82%; gaps of 0.04 us on average",
            "resident: 1000000 images/s, ours 3.00 times as many", "this Python has no jax", "0 host transfers",
            "generating: 1000000 images/s, ours 1.50 times as many",
            "Imagined GPU", "this machine has no compute-sanitizer", "memory write: 3e+06 (50.0%)", "shapes, dense labels",
        ):  # fmt: skip
            self.assertIn(words, markdown)
        self.assertEqual([row["plan"] for row in report["records"]["conv_plans"]], [0, 1, 2])
        self.assertEqual(report["records"]["nodes of quickstart.yaml"]["steps"], 4)
        self.assertEqual(report["rates"][0]["rate"], 1.5e6)
        (logs,) = (self.folder / "out").glob("*-logs.tar")
        with tarfile.open(logs) as tar:
            for log in ("bench-train", "trace-of-quickstart", "cudnn-device-properties"):
                self.assertTrue(any(log in name for name in tar.getnames()), log)
        # Together, the four parts have the same checks as a run of everything.
        parts = [self.check("", "--part", part, "--budget", "1", code=3, out=part)[1][0]["checks"]
                 for part in "ABCD"]  # fmt: skip
        self.assertEqual([c["name"] for part in parts for c in part], [c["name"] for c in report["checks"]])

    def test_a_machine_without_a_gpu_gets_no_report(self):
        (output,) = self.check("no gpu", code=4)
        self.assertIn("no usable GPU", output)
        self.assertIn("driver is too old", output)

    def test_a_gpu_that_the_program_cannot_use_gets_a_report(self):
        self.write("tools/nvidia-smi", HEAD + NVIDIA_SMI)
        _, (report, markdown) = self.check("old driver", code=4)
        self.assertEqual(self.failures(report), {"the device is usable"})
        self.assertIn("driver is too old", markdown)
        self.assertIn("390.1", markdown)

    def test_chosen_sections_get_their_own_report(self):
        _, (report, _) = self.check("graph", "--only", "digests", "rates")
        self.assertEqual({c["section"] for c in report["checks"]}, {"Host digest = device digest", "Rates"})
        self.assertTrue(list((self.folder / "out").glob("*-digests-rates.md")))

    def test_checks_without_their_tools_are_not_made(self):
        _, (report, markdown) = self.check("no cupti", "--only", "nodes")
        self.assertEqual({check["passed"] for check in report["checks"]}, {None})
        self.assertIn("libcupti.so.13: cannot open shared object file", markdown)
        _, (_, markdown) = self.check("peer without gpu", "--only", "peers", out="peers")
        self.assertIn("| the training step in torch | not run | PyTorch 9 cannot use a GPU here |", markdown)
        shutil.rmtree(self.folder / "libexec/wellspring/tools")
        _, (report, _) = self.check("", "--only", "nodes", "plans", out="tools")
        self.assertEqual({check["passed"] for check in report["checks"]}, {None})

    def test_a_spent_budget_is_not_a_pass(self):
        _, (report, markdown) = self.check("", "--part", "A", "--budget", "1", code=3)
        self.assertEqual(self.failures(report), set())
        self.assertRegex(markdown, r"\n0 of (\d+) checks passed, \1 not run")

    def test_a_report_that_cannot_be_written_is_printed(self):
        self.write("full", "")
        output = self.check("digest", "--part", "A", code=1, out="full/out")[0]
        self.assertIn("the report could not be written", output)
        self.assertIn("| shapes, first 1000, batch 64 | **failed** |", output)


if __name__ == "__main__":
    unittest.main()
