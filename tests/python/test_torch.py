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


def make_rows_of_rank(rank, folder):
    """The first batches of a rank, which the data set asks torch.distributed for; with the state after them."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    dataset = wellspring.torch.IterableDataset(CONFIG, set={"device": "cpu"})
    batches = [batch for _, batch in zip(range(3), dataset)]
    rows = torch.cat([batch["sample"] for batch in batches])
    everyone = [torch.empty_like(rows) for _ in range(2)]
    torch.distributed.all_gather(everyone, rows)
    np.savez(f"{folder}/rank{rank}.npz", all=torch.stack(everyone).numpy(), x=torch.stack([batch["x"] for batch in batches]).numpy(),
             sample=torch.stack([batch["sample"] for batch in batches]).numpy(), step=dataset.state_dict()["step"])
    torch.distributed.destroy_process_group()


class Datasets(unittest.TestCase):
    def test_ranks_come_from_torch_distributed(self):
        with tempfile.TemporaryDirectory() as folder:
            torch.multiprocessing.start_processes(make_rows_of_rank, (folder,), nprocs=2, start_method="spawn")
            ranks = [dict(np.load(f"{folder}/rank{rank}.npz")) for rank in range(2)]
        mixture = ws.Mixture(CONFIG)
        for step in range(3):
            want = next(mixture)
            for name, got in (("sample", [rank["sample"][step] for rank in ranks]),
                              ("x", [rank["x"][step].transpose(0, 2, 3, 1) for rank in ranks])):
                np.testing.assert_array_equal(np.concatenate(got), want[name])
        np.testing.assert_array_equal(ranks[0]["all"], ranks[1]["all"])
        self.assertFalse((ranks[0]["sample"] == ranks[1]["sample"]).all())
        self.assertEqual([int(rank["step"]) for rank in ranks], [3, 3])

    def test_continue_from_a_state(self):
        dataset = wellspring.torch.IterableDataset(CONFIG)
        for _ in zip(range(5), dataset):
            pass
        state, want = dataset.state_dict(), next(iter(dataset))
        self.assertEqual(state, {"step": 5})
        resumed = wellspring.torch.IterableDataset(CONFIG)
        resumed.load_state_dict(state)
        got = next(iter(torch.utils.data.DataLoader(resumed, batch_size=None)))
        for name in want:
            self.assertTrue(torch.equal(got[name], want[name]), name)

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
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            change = {"model": {"name": "resnet18"}, "train": {"batch": 4, "steps": 2, "checkpoint_every": 2}, "eval": {}}
            cls.weights = ws.load(ws.train(CONFIG | change, set={"out": folder + "/run"})["folder"])

    def load_into(self, model):
        model.load_state_dict({name: torch.from_numpy(array) for name, array in self.weights.items()})
        np.testing.assert_array_equal(model.layer4[1].bn2.running_var.numpy(), self.weights["layer4.1.bn2.running_var"])
        return model.eval()(torch.ones(2, 3, 32, 32))

    @unittest.skipUnless(importlib.util.find_spec("torchvision"), "torchvision is missing")
    def test_load_into_torchvision(self):
        import torchvision

        self.load_into(torchvision.models.resnet18(num_classes=len(self.weights["fc.bias"])))

    @unittest.skipUnless(importlib.util.find_spec("timm"), "timm is missing")
    def test_load_into_timm(self):
        import timm

        answers = self.load_into(timm.create_model("resnet18", num_classes=len(self.weights["fc.bias"])))
        if importlib.util.find_spec("torchvision"):
            import torchvision

            same = self.load_into(torchvision.models.resnet18(num_classes=len(self.weights["fc.bias"])))
            torch.testing.assert_close(answers, same)  # the same operations, possibly in another order


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
