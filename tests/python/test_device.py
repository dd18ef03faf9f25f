"""Batches on a GPU, or on the stand-in for one. Skipped without either."""

import ctypes
import hashlib
import importlib.util
import itertools
import os
import subprocess
import sys
import unittest

import wellspring as ws
from wellspring import _core

from test_generator import bytes_of

PROGRAM = os.environ["WELLSPRING_PROGRAM"]

try:
    ws.Generator("gaussian_linear", device="cuda")
except ws.DeviceError as error:
    print(f"tests/python: Skipped\nbatches of Python on a GPU: {str(error).splitlines()[0]}", flush=True)
    sys.exit(0)

STAND_IN = "stand-in" in subprocess.run([PROGRAM, "--version"], check=True, capture_output=True, text=True).stdout


def read_protected(address, count):
    """Bytes of this process, also where the stand-in has forbidden access: its device memory."""
    memory = os.open("/proc/self/mem", os.O_RDONLY)
    try:
        return os.pread(memory, count, address)
    finally:
        os.close(memory)


def digest(column):
    """SHA-256 of a column in device memory."""
    if STAND_IN:
        return hashlib.sha256(bytes_of(column, read_protected)).hexdigest()
    import torch

    return hashlib.sha256(torch.from_dlpack(column).cpu().contiguous().numpy().tobytes()).hexdigest()


def caller_s_stream():
    """A cudaStream_t as an integer: CUDA's default stream, which the stand-in lacks."""
    if not STAND_IN:
        return 0
    stream = ctypes.c_void_p()
    create = ctypes.CDLL(_core.__file__)["_Z25cudaStreamCreateWithFlagsPP11CUstream_stj"]  # in C++, unlike CUDA's own
    if create(ctypes.byref(stream), 1) != 0:
        raise RuntimeError("cudaStreamCreateWithFlags failed")
    return stream.value


class Bytes(unittest.TestCase):
    def same(self, batch, host):
        self.assertEqual(list(batch), list(host))
        for name in host:
            self.assertEqual(batch[name].__dlpack_device__(), (2, 0))
            self.assertEqual(digest(batch[name]), hashlib.sha256(host[name].tobytes()).hexdigest(), name)

    def test_equal_those_on_the_cpu_for_every_generator(self):
        for name in ws.generators():
            with self.subTest(name):
                g = ws.Generator(name, size=32, seed=7, device="cuda")
                self.same(g.batch(5, 3), ws.Generator(name, size=32, seed=7).batch(5, 3))

    def test_in_the_caller_s_stream(self):
        stream = caller_s_stream()
        g = ws.Generator("shapes", size=16, device="cuda", augment=["simclr"])
        out = g.batch(0, 4, dtype="f16")
        for first, epoch in itertools.product((0, 8), (0, 3)):
            want = ws.Generator("shapes", size=16, augment=["simclr"]).batch(first, 4, dtype="f16", epoch=epoch)
            self.assertIs(g.batch(first, 4, dtype="f16", epoch=epoch, out=out, stream=stream), out)
            self.assertEqual(g.overflow["items"], 0)  # waits for the stream
            self.same(out, want)

    @unittest.skipIf(STAND_IN or not importlib.util.find_spec("torch"), "needs a GPU and PyTorch")
    def test_captured_by_torch(self):
        import torch

        g, host = (ws.Generator("shapes", size=16, device=device) for device in ("cuda", "cpu"))
        out = g.batch(0, 4)
        g.batch(0, 4, out=out, stream=torch.cuda.Stream())
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            g.batch(8, 4, out=out, stream=torch.cuda.current_stream())
        self.same(out, host.batch(0, 4))
        graph.replay()
        torch.cuda.synchronize()
        self.same(out, host.batch(8, 4))

    def test_outlive_the_generator(self):
        batch = ws.Generator("gaussian_linear", device="cuda").batch(3, 8)
        self.same(batch, ws.Generator("gaussian_linear").batch(3, 8))


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
