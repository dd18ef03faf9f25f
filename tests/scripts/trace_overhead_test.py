"""Runs scripts/trace-overhead with a program that imitates Wellspring: the bounds, its exit codes and its page."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/trace-overhead"
# A step takes 10 ms and makes 4 spans; the interval of a span's time ends at twice its median.
PROGRAM = f"#!{sys.executable} -IS\n" + r"""
import json, os, pathlib, sys
def option(name):
    return sys.argv[sys.argv.index(name) + 1]
if sys.argv[1] == "bench":
    rows = [{"name": "trace span, " + name, "rate": 1 / seconds, "interval": [0.5 / seconds, 2 / seconds]}
            for name, seconds in zip(("nothing recorded", "recorded"), map(float, os.environ["SPANS"].split()))]
    pathlib.Path(option("--json")).write_text(json.dumps({"rows": rows}))
else:
    text = pathlib.Path(sys.argv[2]).read_text()
    if "storage: streamed" in text:
        images = pathlib.Path(text.split("path: ")[1].split(",")[0])
        assert len(list(images.glob("class*/*.ppm"))) == 1000, images
    settings = dict(word.split("=", 1) for word in sys.argv[3:] if "=" in word)
    steps, out = int(settings["train.steps"]), pathlib.Path(settings["out"])
    out.mkdir()
    times = {"training": 0.01 * steps}
    rate = 1e4 / float(os.environ.get("SLOWER", "1")) if "--trace" in sys.argv else 1e4
    (out / "metrics.jsonl").write_text(json.dumps({"kind": "rate", "samples_per_second": rate, "seconds": times}) + "\n")
    if "--trace" in sys.argv:
        head = '{"name":"thread_name","ph":"M","args":{"lost":%s}},\n' % os.environ.get("LOST", "0")
        pathlib.Path(option("--trace")).write_text(head + '{"name":"compute.step","cat":"compute","ph":"X"},\n' * 4 * steps)
"""


class TraceOverhead(unittest.TestCase):
    def run_script(self, code, spans, turns=2, **environment):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "wellspring").write_text(PROGRAM)
            (folder / "wellspring").chmod(0o755)
            command = [sys.executable, SCRIPT, "--wellspring", folder / "wellspring", "--turns", str(turns), "--steps", "20",
                       "--out", folder / "page.md"]  # fmt: skip
            run = subprocess.run(command, capture_output=True, text=True, check=False,
                                 env=os.environ | {"SPANS": spans, "PYTHONDONTWRITEBYTECODE": "1"} | environment)  # fmt: skip
            self.assertEqual(run.returncode, code, run.stdout + run.stderr)
            return (folder / "page.md").read_text() if code != 2 else run.stderr

    def test_the_page_has_bounds_for_generated_images_and_for_files(self):
        page = self.run_script(0, "1e-8 1e-7")
        self.assertIn("A span takes 10.00 ns (5.00 to 20.00) without a trace and 100.00 ns (50.00 to 200.00) with one.", page)
        # 4 spans of at most 20 and 200 ns in 10 ms.
        self.assertEqual(page.count("at most 0.0008% without a trace and 0.0080% with one"), 2, page)
        self.assertIn("2 turns of 20 steps of quickstart ", page)
        self.assertIn("2 turns of 20 steps of image files ", page)

    def test_a_bound_beyond_its_goal_is_an_error(self):
        self.run_script(0, "1e-8 60e-6")  # 4 of at most 120 us: 4.8 % of 10 ms
        self.run_script(1, "1e-8 70e-6")  # 5.6 %
        self.run_script(1, "13e-6 2e-5")  # 1.04 % without a trace

    def test_a_slower_run_is_an_error_once_the_turns_give_an_interval(self):
        self.run_script(1, "1e-8 1e-7", turns=6, SLOWER="1.06")
        self.run_script(0, "1e-8 1e-7", turns=5, SLOWER="1.06")

    def test_lost_spans_are_refused(self):
        self.assertIn("lost spans", self.run_script(2, "1e-8 1e-7", LOST="7"))


if __name__ == "__main__":
    unittest.main()
