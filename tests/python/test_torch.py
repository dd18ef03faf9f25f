"""PyTorch reads batches without a copy. Skipped without PyTorch."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import torch
except ImportError:
    print("tests/python: Skipped\nPyTorch is not installed in the Python of this build", flush=True)
    sys.exit(0)

import numpy as np

import wellspring as ws
import wellspring.torch

from test_run import CONFIG

EXAMPLES = pathlib.Path(os.environ["WELLSPRING_SOURCE"], "python/examples")


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


class Weights(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("torchvision"), "torchvision is missing")
    def test_load_into_torchvision(self):
        import torchvision

        with tempfile.TemporaryDirectory() as folder:
            change = {"model": {"name": "resnet18"}, "train": {"batch": 4, "steps": 2, "checkpoint_every": 2}, "eval": {}}
            weights = ws.load(ws.train(CONFIG | change, set={"out": folder + "/run"})["folder"])
        model = torchvision.models.resnet18(num_classes=len(weights["fc.bias"]))
        model.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
        np.testing.assert_array_equal(model.layer4[1].bn2.running_var.numpy(), weights["layer4.1.bn2.running_var"])


class Examples(unittest.TestCase):
    def run_example(self, name, *arguments):
        run = subprocess.run([sys.executable, str(EXAMPLES / name), *arguments], capture_output=True, text=True, timeout=250)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def test_pretraining_and_fine_tuning(self):
        with tempfile.TemporaryDirectory() as folder:
            for generator in ("noise", "shapes"):
                pathlib.Path(folder, generator).mkdir()
                for first in range(24):
                    ws.preview(generator, count=1, first=first, size=32).save(pathlib.Path(folder, generator, f"{first}.png"))
            lines = self.run_example("torch_pretraining.py", "--steps", "60", "--batch", "16", "--photos", folder)
        losses = {tuple(line.split()[:3]): float(line.split()[4]) for line in lines.splitlines()}
        self.assertIn(("atoms", "step", "60"), losses)
        self.assertLess(losses["photos", "step", "60"], 0.4)  # chance: ln 2

    def test_the_classifier_of_showers(self):
        last = self.run_example("calo_classifier.py", "--count", "2000", "--epochs", "6").splitlines()[-1]
        # Equal files give 0.5, with a deviation of 0.02: 400 held-out showers of each.
        self.assertGreater(float(last.split()[-1]), 0.7)


if __name__ == "__main__":
    unittest.main()
