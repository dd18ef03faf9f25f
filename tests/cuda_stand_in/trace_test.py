"""Runs `train --trace` on the stand-in with a library that imitates CUPTI (tests/scripts/kernel_trace).

usage: trace_test.py PROGRAM SOURCES FOLDER_OF_THE_FAKE_CUPTI
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM, SOURCES, CUPTI = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1)), sys.argv.pop(1)


def train(told, cupti=CUPTI, device="cuda:0"):
    """(events of the trace, standard error, seconds of the run)"""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        done = subprocess.run(
            [PROGRAM, "train", str(SOURCES / "configs/ee_mumu.yaml"), f"device={device}", "train.steps=8",
             "eval.sources=[]", "train.batch=64", f"out={folder}/run", "--trace", f"{folder}/trace.json"],
            check=True, capture_output=True, text=True,
            env={**os.environ, "LD_LIBRARY_PATH": cupti, "FAKE_CUPTI": told},
        )  # fmt: skip
        return json.loads(pathlib.Path(folder, "trace.json").read_text()), done.stderr, time.monotonic() - begin


def on_device(events):
    return [event for event in events if event.get("cat") == "device" and event["name"] != "device.transfer"]


class DeviceTracks(unittest.TestCase):
    def test_work_of_the_gpu_is_a_track_with_the_host_s_times(self):
        events, error, seconds = train("clock")
        work = on_device(events)
        self.assertEqual([event["name"] for event in work], ["one::first()", "fill", 'no "mangled" name\\xff'] * 3, error)
        self.assertEqual([event["dur"] for event in work], [3, 1, 5] * 3)
        self.assertEqual(work[1]["args"], {"bytes": 64})
        track = work[0]["tid"]
        names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
        self.assertEqual(names[track], "cuda:0, stream 7")
        # The fake library begins its replays at 1/4, 1/2 and 3/4 of the recording; the trace begins with the recording.
        whole = 4 * (work[3]["ts"] - work[0]["ts"])
        self.assertLess(whole, 1e6 * seconds)
        for quarter, event in enumerate(work[::3], 1):
            self.assertAlmostEqual(event["ts"], quarter * whole / 4, delta=0.05 * whole)
        run = next(event for event in events if event["name"] == "pipeline.train")
        self.assertLess(run["ts"] + run["dur"], whole * 1.05)

    def test_a_refusal_is_a_note_and_the_threads_are_traced(self):
        with tempfile.TemporaryDirectory() as broken:
            for library in pathlib.Path(CUPTI).glob("libcupti.so.*"):
                pathlib.Path(broken, library.name).touch()
            for told, cupti, why in (("refuse", CUPTI, "a planted refusal (NVIDIA's driver has NVreg_Restrict"),
                                     ("", broken, "file too short")):
                events, error, _ = train(told, cupti)
                self.assertIn("the trace lacks work of the GPU: ", error)
                self.assertIn(why, error)
                self.assertFalse(on_device(events))
                self.assertTrue([event for event in events if event["name"] == "compute.step"])

    def test_lost_records_are_told(self):
        events, error, _ = train("drop")
        self.assertIn("CUPTI has lost 1 record", error)
        self.assertEqual(len(on_device(events)), 9)

    def test_a_run_on_the_processor_does_not_open_cupti(self):
        events, error, _ = train("refuse", device="cpu")
        self.assertNotIn("CUPTI", error)
        self.assertNotIn("planted", error)
        self.assertFalse(on_device(events))


if __name__ == "__main__":
    unittest.main()
