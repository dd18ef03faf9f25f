"""PyTorch reads batches without a copy. Skipped without PyTorch."""

import os
import pathlib
import subprocess
import sys
import unittest

try:
    import torch
except ImportError:
    print("tests/python: Skipped\nPyTorch is not installed in the Python of this build", flush=True)
    sys.exit(0)

import wellspring as ws
import wellspring.torch

from test_run import CONFIG

EXAMPLE = pathlib.Path(os.environ["WELLSPRING_SOURCE"], "python/examples/torch_pretraining.py")


class Tensors(unittest.TestCase):
    def test_share_the_memory(self):
        batch = ws.Generator("shapes", size=32).batch(0, 4)
        for name, array in batch.items():
            self.assertEqual(torch.from_dlpack(array).data_ptr(), array.ctypes.data, name)

    def test_bf16_and_nchw(self):
        g = ws.Generator("shapes", size=32)
        x = torch.from_dlpack(g.batch(0, 4, dtype=torch.bfloat16, layout="NCHW").x)
        self.assertTrue(x.is_contiguous(memory_format=torch.channels_last))
        want = torch.from_dlpack(g.batch(0, 4).x).permute(0, 3, 1, 2).bfloat16()
        self.assertTrue(torch.equal(x, want))

    def test_f16_and_u8(self):
        g = ws.Generator("shapes", size=32)
        for dtype in (torch.float16, torch.uint8):
            out = {"x": torch.zeros(4, 32, 32, 3, dtype=dtype)}
            g.batch(0, 4, dtype=dtype, out=out)
            self.assertTrue(torch.equal(out["x"], torch.from_dlpack(g.batch(0, 4, dtype=dtype).x)))
            self.assertGreater(out["x"].max(), 0)

    def test_out(self):
        g = ws.Generator("shapes", size=32)
        out = {"x": torch.zeros(4, 3, 32, 32).to(memory_format=torch.channels_last), "label": torch.zeros(4, dtype=torch.int32)}
        self.assertIs(g.batch(0, 4, layout="NCHW", out=out).x, out["x"])
        self.assertTrue(torch.equal(out["label"], torch.from_dlpack(g.batch(0, 4).label)))
        with self.assertRaisesRegex(ws.ConfigError, "not contiguous"):
            g.batch(0, 4, layout="NCHW", out={"x": torch.zeros(4, 3, 32, 32)})
        with self.assertRaisesRegex(ws.ConfigError, "bf16, not f32"):
            g.batch(0, 4, out={"x": torch.zeros(4, 32, 32, 3, dtype=torch.bfloat16)})


class Datasets(unittest.TestCase):
    def test_a_loader_gives_the_batches_of_training(self):
        dataset = wellspring.torch.IterableDataset(CONFIG)
        mixture = ws.Mixture(CONFIG)
        for batch in torch.utils.data.DataLoader(dataset, batch_size=None):
            want = next(mixture)
            self.assertTrue(torch.equal(batch["x"].permute(0, 2, 3, 1), torch.from_dlpack(want.x)))
            self.assertEqual(batch["label"].dtype, torch.int64)
        self.assertEqual(dataset.state_dict(), {"step": 20})

    def test_workers_are_refused(self):
        loader = torch.utils.data.DataLoader(wellspring.torch.IterableDataset(CONFIG), batch_size=None, num_workers=1)
        with self.assertRaisesRegex(RuntimeError, "num_workers=0"):
            next(iter(loader))

    def test_the_example_learns(self):
        run = subprocess.run([sys.executable, str(EXAMPLE), "--steps", "20", "--batch", "16"], check=True,
                             capture_output=True, text=True, timeout=250)
        self.assertIn("step 20", run.stdout)


if __name__ == "__main__":
    unittest.main()
