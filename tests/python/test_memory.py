"""Memory of batches: shared, the caller's, kept, used again."""

import gc
import os
import pathlib
import resource
import sys
import threading
import time
import unittest

import numpy as np

import wellspring as ws

SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")

def resident():
    """Bytes of this process in memory."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class Memory(unittest.TestCase):
    def test_arrays_are_shared_without_a_copy(self):
        batch = ws.Generator("shapes", size=32).batch(0, 4)
        for name, array in batch.items():
            with self.subTest(name):
                self.assertEqual(np.from_dlpack(array).ctypes.data, array.ctypes.data)

    def test_arrays_outlive_the_generator_and_the_batch(self):
        g = ws.Generator("shapes", size=32)
        batch = g.batch(0, 4)
        x, copy = batch.x, batch.x.copy()
        del batch
        for first in range(4, 40, 4):
            g.batch(first, 4)
        del g
        gc.collect()
        np.testing.assert_array_equal(x, copy)

    def test_out_is_written_in_place(self):
        g = ws.Generator("shapes", size=32)
        want = g.batch(10, 6)
        out = {"x": np.zeros((6, 32, 32, 3), np.float32), "label": np.zeros(6, np.int32)}
        got = g.batch(10, 6, out=out)
        self.assertIs(got.x, out["x"])
        self.assertEqual(list(got), ["x", "label"])
        np.testing.assert_array_equal(out["x"], want.x)
        np.testing.assert_array_equal(out["label"], want.label)

    def test_a_batch_as_out_is_returned_itself(self):
        g = ws.Generator("shapes", size=32)
        want, out = g.batch(10, 6), g.batch(0, 6)
        x = out.x
        self.assertIs(g.batch(10, 6, out=out), out)
        self.assertIs(out.x, x)
        for name in want:
            np.testing.assert_array_equal(out[name], want[name])

    def test_every_array_of_out_is_checked_in_every_call(self):
        """Nothing is remembered of earlier calls: the same object may have changed."""
        g = ws.Generator("shapes", size=32)
        out = {"x": np.zeros((4, 32, 32, 3), np.float32), "label": np.zeros(4, np.int32)}
        g.batch(0, 4, out=out)
        out["label"].flags.writeable = False
        with self.assertRaisesRegex(ws.ConfigError, "out.'label'. is not a writable array"):
            g.batch(0, 4, out=out)
        out["label"] = np.zeros(4, ">i4")
        with self.assertRaisesRegex(ws.ConfigError, "out.'label'."):
            g.batch(0, 4, out=out)
        out["label"] = np.zeros(8, np.int32)[::2]
        with self.assertRaisesRegex(ws.ConfigError, "out.'label'. is not contiguous"):
            g.batch(0, 4, out=out)
        out["label"] = np.zeros(4, np.int32)
        g.batch(0, 4, out=out)
        out["label"].resize(3, refcheck=False)  # moves its memory
        with self.assertRaisesRegex(ws.ConfigError, "out.'label'. has the shape"):
            g.batch(0, 4, out=out)

    def test_out_with_other_counts_types_and_axes(self):
        g = ws.Generator("shapes", size=32)
        for count, dtype, layout in ((4, "f32", "NHWC"), (4, "f16", "NHWC"), (5, "f32", "NCHW"), (4, "f32", "NHWC"), (1, "u8", "NCHW")):
            want = g.batch(3, count, dtype=dtype, layout=layout)
            out = {name: np.zeros_like(array) for name, array in want.items()}
            for name, array in g.batch(3, count, dtype=dtype, layout=layout, out=out).items():
                np.testing.assert_array_equal(array, want[name])

    def test_out_stays_alive_during_the_call(self):
        g = ws.Generator("shapes", size=64, threads=1)
        for _ in range(20):
            out = {"x": np.empty((64, 64, 64, 3), np.float32)}  # large enough to be unmapped when it ends
            thread = threading.Thread(target=g.batch, args=(0, 64), kwargs={"out": out})
            thread.start()
            out["x"] = None
            thread.join()

    def test_out_keeps_its_reference_counts(self):
        g = ws.Generator("shapes", size=32)
        out = {"x": np.zeros((4, 32, 32, 3), np.float32), "label": np.zeros(4, np.int32)}
        stays = [out, out["x"], out["label"], g]

        def counts():
            return [sys.getrefcount(thing) for thing in stays]

        def refused(kind, change=None, **arguments):
            with self.assertRaises(kind):
                g.batch(0, 4, **({"out": out | change if change else out} | arguments))

        g.batch(0, 4, out=out)
        before = counts()
        for first in range(50):
            g.batch(first, 4, out=out)
            list(g.batches(4, first=first, steps=2, out=out))
            refused(ws.ConfigError, dtype="f16")
            refused(ws.ConfigError, layout="NCHW")
            refused(ws.ConfigError, latents=np.zeros((4, 1)))
            refused(ws.ConfigError, {"sample": out["x"]})
            refused(ws.ConfigError, {"label": out["x"]})
            refused(ws.ConfigError, epoch=1)
            refused(TypeError, stream="none")
            with self.assertRaises(ws.ConfigError):
                g.batch(-1, 4, out=out)
        gc.collect()
        self.assertEqual(counts(), before)

    def test_other_threads_run_during_a_batch(self):
        """If the call kept the GIL, no thread could count between the two reads: no switch is due for 1,000 s."""
        g = ws.Generator("shapes", size=64, threads=1)
        out = g.batch(0, 512)
        counted, ends = [0], threading.Event()

        def count():
            while not ends.is_set():
                counted[0] += 1
                time.sleep(0)  # gives the GIL up

        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1000)
        thread = threading.Thread(target=count)
        thread.start()
        advanced = False
        for _ in range(200):  # a busy machine may leave the thread no core during a call
            begin = counted[0]
            g.batch(0, 512, out=out)
            end = counted[0]
            advanced = end > begin
            if advanced:
                break
        ends.set()
        thread.join()
        self.assertTrue(advanced)

    def test_nchw_is_a_view(self):
        g = ws.Generator("shapes", size=32)
        view = g.batch(0, 2, layout="NCHW").x
        self.assertEqual(view.shape, (2, 3, 32, 32))
        np.testing.assert_array_equal(view.transpose(0, 2, 3, 1), g.batch(0, 2).x)
        channels_last = np.zeros((2, 32, 32, 3), np.float32).transpose(0, 3, 1, 2)
        g.batch(0, 2, layout="NCHW", out={"x": channels_last})
        np.testing.assert_array_equal(channels_last, view)

    @unittest.skipIf(SANITIZED, "AddressSanitizer keeps memory that was freed")
    def test_does_not_grow(self):
        g = ws.Generator("gaussian_linear", threads=1)
        kept = [g.batch(0, 16) for _ in range(4)]
        for first in range(1000):
            self.batches_of_all_kinds(g, first, kept)
        before = resident()
        for first in range(25_000):
            self.batches_of_all_kinds(g, first, kept)
        self.assertLess(resident() - before, 1 << 20)  # 40 bytes per call; a batch has 768

    def batches_of_all_kinds(self, g, first, kept):
        """Four batches."""
        g.batch(first, 16, out=kept[0])
        g.batch(first, 16, out=dict(kept[0]))
        next(g.batches(16, first=first))
        kept[first % 4] = g.batch(first, 16)  # the pool is empty or full

    @unittest.skipIf(SANITIZED, "AddressSanitizer touches more pages")
    def test_a_new_batch_has_the_memory_of_an_ended_one(self):
        """Fresh memory costs a page fault per 4 KiB, which may take longer than the samples."""
        rows = 1 << 20  # more than 32 MiB, so the C library would return the memory to the system
        g = ws.Generator("gaussian_linear")
        kept = [g.batch(0, rows) for _ in range(2)]
        g.batch(0, rows)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for first in range(2):
            g.batch(first, rows)
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        self.assertLess(faults, kept[0].x.nbytes // resource.getpagesize())


if __name__ == "__main__":
    unittest.main()
