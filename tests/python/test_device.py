"""Batches on a GPU, or on the stand-in for one. Skipped without either."""

import hashlib
import itertools
import json
import os
import subprocess
import sys
import unittest

import wellspring as ws

from test_generator import bytes_of, run

PROGRAM = os.environ["WELLSPRING_PROGRAM"]

try:
    ws.Generator("gaussian_linear", device="cuda")
except ws.DeviceError as error:
    print(f"tests/python: Skipped\nbatches of Python on a GPU: {str(error).splitlines()[0]}", flush=True)
    sys.exit(0)

STAND_IN = "stand-in" in subprocess.run([PROGRAM, "--version"], check=True, capture_output=True, text=True).stdout


def digest(column):
    """SHA-256 of a column in device memory."""
    if STAND_IN:  # its device memory is the host's
        return hashlib.sha256(bytes_of(column)).hexdigest()
    import torch

    return hashlib.sha256(torch.from_dlpack(column).cpu().contiguous().numpy().tobytes()).hexdigest()


class Bytes(unittest.TestCase):
    def test_equal_the_digest_of_every_generator(self):
        for name in ws.generators():
            with self.subTest(name):
                report = json.loads(run("digest", name, "--count", "3", "--first", "5", "--seed", "7", "--size", "32"))
                batch = ws.Generator(name, size=32, seed=7, device="cuda").batch(5, 3)
                for column in batch:
                    self.assertEqual(batch[column].__dlpack_device__(), (2, 0))
                    self.assertEqual(digest(batch[column]), report["columns"][column], column)

    def test_in_the_caller_s_stream(self):
        g = ws.Generator("shapes", size=16, device="cuda", augment=["simclr"])
        out = g.batch(0, 4, dtype="f16")
        for first, epoch in itertools.product((0, 8), (0, 3)):
            want = ws.Generator("shapes", size=16, augment=["simclr"]).batch(first, 4, dtype="f16", epoch=epoch)
            self.assertIs(g.batch(first, 4, dtype="f16", epoch=epoch, out=out, stream=0), out)
            self.assertEqual(g.overflow["items"], 0)  # waits for the stream
            for column in want:
                self.assertEqual(digest(out[column]), hashlib.sha256(want[column].tobytes()).hexdigest(), column)

    def test_outlive_the_generator(self):
        batch = ws.Generator("gaussian_linear", device="cuda").batch(3, 8)
        want = ws.Generator("gaussian_linear").batch(3, 8)
        self.assertEqual(digest(batch.x), hashlib.sha256(want.x.tobytes()).hexdigest())


class Arguments(unittest.TestCase):
    def test_of_other_devices_are_refused(self):
        host = ws.Generator("gaussian_linear").batch(0, 4)
        g = ws.Generator("gaussian_linear", device="cuda")
        with self.assertRaisesRegex(ws.ConfigError, "out.'x'. is not on the generator's device, cuda:0"):
            g.batch(0, 4, out=host)
        with self.assertRaisesRegex(ws.ConfigError, "out.'x'. is not on the generator's device, cpu"):
            ws.Generator("gaussian_linear").batch(0, 4, out=g.batch(0, 4))
        with self.assertRaisesRegex(ws.ConfigError, "latents cannot be used with stream"):
            g.batch(0, 4, latents=host.latents, stream=0)


if __name__ == "__main__":
    unittest.main()
