"""Headers of the user on a GPU: nvcc compiles their kernels, the stand-in loads and launches them.

Usage: own_generator_test.py WELLSPRING SOURCE_FOLDER

The stand-in runs kernels as loops of the host. If nvdisasm is found ($NVDISASM or PATH), it also runs the code that
nvcc made. nvcc takes most of the time, so the headers are few; with WELLSPRING_OWN_HEADERS=all they are six built-in
ones, which takes many minutes. Exit code 77: nvcc is missing.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

WELLSPRING, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
ALL = os.environ.get("WELLSPRING_OWN_HEADERS") == "all"
HEADERS = ["generators/events/ee_mumu.h", "examples/generators/cloud.h"]  # the tests below also use an image
LISTED = HEADERS[:1]
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "WELLSPRING_DISABLE_CUDA"}
ENVIRONMENT |= {"WELLSPRING_CXX": str(SOURCE / "tests/support/quick_compiler"),
                "WELLSPRING_PARSED": str(pathlib.Path(WELLSPRING).parent / "tests/parsed")}
if ALL:
    LISTED = HEADERS = [f"generators/{name}.h" for name in ("events/ee_mumu", "events/ginkgo", "images/noise",
                                                            "images/shapes", "images/ising", "images/ifs")]
CONFIG = """name: own
device: cuda
threads: 1
data:
  size: 16
  augment: [{flip_x: 0.5}, {blur: {probability: 1}}]
  sources:
    - {name: grating, generator: ./grating.h, params: {contrast: 1}}
    - {name: shapes, generator: shapes}
model: {name: mlp, widths: [8]}
optimizer: {kind: sgd, lr: 0.01}
train: {batch: 8, steps: 4}
eval: {samples: 8, sources: [{of: grating}, {of: shapes}]}
"""


class OwnGeneratorTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)

    def run_it(self, *words, cache="cache", **environment):
        return subprocess.run(
            [WELLSPRING, *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
            env=dict(ENVIRONMENT, WELLSPRING_CACHE=str(self.folder / cache), **environment),
        )

    def run_well(self, *words, **environment):
        done = self.run_it(*words, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def copy(self, header):
        shutil.copy(SOURCE / header, self.folder)
        return "./" + pathlib.Path(header).name

    def digest(self, *words, **environment):
        size = () if words[0] in ("./ee_mumu.h", "./ginkgo.h") else ("--size", "16")
        return json.loads(self.run_well("digest", *words, "--seed", "3", *size, **environment))["columns"]

    def test_gives_the_same_bytes_as_on_a_cpu(self):
        for header in HEADERS:
            with self.subTest(header):
                words = (self.copy(header), "--count", "9", "--device")
                self.assertEqual(self.digest(*words, "cuda"), self.digest(*words, "cpu"))

    def test_refuses_code_that_gives_other_bytes_on_a_gpu(self):
        text = (SOURCE / "examples/generators/grating.h").read_text()
        changed = text.replace("    return {grey, grey, grey};",
                               "#if WELLSPRING_CUDA\n    return {grey, grey, 0};\n#endif\n    return {grey, grey, grey};")
        self.assertNotEqual(changed, text)
        (self.folder / "grating.h").write_text(changed)
        words = ("digest", "./grating.h", "--count", "1", "--device")
        self.run_well(*words, "cpu", cache="differs")
        refused = self.run_it(*words, "cuda", cache="differs")
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("sample 0: its x differs between CPU and GPU", refused.stderr)
        self.run_well("compile", "grating.h", "--trust", "--arch", "sm_90", cache="differs")
        self.run_well(*words, "cuda", cache="differs")

    def test_the_code_of_nvcc_gives_the_same_bytes(self):
        nvdisasm = shutil.which(os.environ.get("NVDISASM", "nvdisasm"))
        if nvdisasm is None:
            print(f"{__file__}: Skipped\nneeds nvdisasm")  # as scripts/skipped-tests expects
            self.skipTest("needs nvdisasm")
        for header in LISTED:
            with self.subTest(header):
                path = self.copy(header)
                output = self.run_well("compile", path, "--arch", "sm_90")
                compiled = output.partition("compiled: ")[2].partition(" (header")[0]
                cubin, listings = self.folder / "cubin", self.folder / f"listings of {path[2:]}"
                listings.mkdir()
                subprocess.run(["objcopy", "--dump-section", f".wellspring_cubin={cubin}", compiled, "/dev/null"],
                               check=True)
                (listings / "kernels.sass").write_text(subprocess.run([nvdisasm, "-c", cubin], check=True, text=True,
                                                                      capture_output=True).stdout)
                words = (path, "--count", "3", "--device")
                interpreted = self.digest(*words, "cuda", WELLSPRING_STAND_IN_LISTINGS=str(listings))
                self.assertEqual(interpreted, self.digest(*words, "cpu"))

    def test_trains_and_a_checkpoint_compiles_nothing(self):
        (self.folder / "run.yaml").write_text(CONFIG)
        self.copy("examples/generators/grating.h")
        words = ("digest", "run.yaml", "--count", "16")
        digests = [json.loads(self.run_well(*words, f"device={device}"))["sha256"] for device in ("cuda", "cpu")]
        self.assertEqual(*digests)
        self.run_well("train", "run.yaml", "out=run", "precision=bf16")
        self.run_well("eval", "run")
        self.run_well("compile", "grating.h", cache="other")
        refused = self.run_it("eval", "run", cache="other")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("grating.h --arch sm_90", refused.stderr)


if __name__ == "__main__":
    doctor = subprocess.run([WELLSPRING, "doctor"], env=ENVIRONMENT, capture_output=True, text=True, check=True).stdout
    if "CUDA compiler    none" in doctor:
        print("skipped: needs nvcc")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
