"""Runs the kernel tracer (bench/gpu/kernel_trace.cpp) with a library that imitates CUPTI, and then gpu-check's reader
of the trace.

usage: kernel_trace_test.py TRACER FOLDER_OF_THE_FAKE_CUPTI
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

from gpu_check.kernels import busy_and_gaps, read_lines, read_trace, step_words  # noqa: E402
from gpu_check.running import NotMade  # noqa: E402

TRACER, CUPTI = sys.argv.pop(1), sys.argv.pop(1)


def trace(told=""):
    """Returns the trace of a process that starts and ends."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace.jsonl"
        load = f"import ctypes; assert ctypes.CDLL({TRACER!r}).InitializeInjection() == 1"
        subprocess.run(
            [sys.executable, "-c", load], check=True,
            env={**os.environ, "LD_LIBRARY_PATH": CUPTI, "FAKE_CUPTI": told, "WELLSPRING_TRACE": str(path)},
        )  # fmt: skip
        return path.read_text()


class KernelTrace(unittest.TestCase):
    def test_records_are_written_unchanged(self):
        records, others, last = read_lines(trace(), "kind")
        self.assertEqual(last, {"end": 9, "dropped": 0})
        self.assertEqual(others, [])
        first, fill, third = records[:3]
        self.assertEqual(first["name"], "one::first()")
        self.assertEqual(first["grid"], [5, 0, 0])
        self.assertEqual((first["start"], first["end"]), (1000000, 1003000))
        self.assertEqual((first["graph"], first["node"], first["launch"], first["stream"]), (2, 11, 100, 7))
        self.assertEqual((fill["kind"], fill["bytes"], fill["node"]), ("fill", 64, 12))
        self.assertEqual(third["name"], 'no "mangled" name\ufffd')

    def test_steps_are_separated_and_summed(self):
        step = read_trace(trace())
        # Three replays; the first is warm-up. 3 + 1 + 5 us of work in 12 us, with gaps of 1 and 2 us.
        self.assertEqual((step["steps"], step["nodes"]), (2, 3))
        self.assertEqual((step["us"], step["us_busy"], step["us_to_next"]), (12, 9, 20))
        self.assertEqual(step["gaps_us"], [1, 2])
        self.assertEqual([k["us"] for k in step["kernels"]], [5, 3, 1])
        self.assertIn("3 nodes in 12.0 us, busy 75%", "\n".join(step_words(step)))

    def test_overlapping_work_counts_once(self):
        step = [{"start": 0, "end": 10}, {"start": 2, "end": 4}, {"start": 8, "end": 12}]
        self.assertEqual(busy_and_gaps([*step, {"start": 15, "end": 16}]), (13, [0, 0, 3]))

    def test_a_refusal_by_cupti_is_reported(self):
        with self.assertRaisesRegex(NotMade, "cuptiActivityEnable: a planted refusal"):
            read_trace(trace("refuse"))

    def test_a_lost_record_is_a_failure(self):
        with self.assertRaisesRegex(ValueError, "1 records were dropped"):
            read_trace(trace("drop"))

    def test_a_truncated_trace_is_a_failure(self):
        text = trace()
        for kept in (text[: len(text) // 2], text.rsplit("\n", 2)[0] + "\n", text.split("\n", 2)[2], "rubbish\n"):
            with self.assertRaises((ValueError, KeyError, TypeError), msg=kept):
                read_trace(kept)


if __name__ == "__main__":
    unittest.main()
