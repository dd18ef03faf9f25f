"""Converts files of the real libraries, and reads the results with NumPy, tarfile and the program."""

import contextlib
import importlib.util
import io
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

MISSING = [name for name in ("numpy", "pyarrow", "datasets", "uproot", "PIL") if importlib.util.find_spec(name) is None]
if MISSING:
    print(f"tests/python: Skipped\nnot installed in the Python of this build: {', '.join(MISSING)}", flush=True)
    sys.exit(0)

import datasets
import numpy as np
import PIL.Image
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import uproot

SOURCE = pathlib.Path(os.environ["WELLSPRING_SOURCE"], "python/wellspring/convert.py")
spec = importlib.util.spec_from_file_location("convert", SOURCE)
convert = importlib.util.module_from_spec(spec)
spec.loader.exec_module(convert)
datasets.disable_progress_bars()


class Converted(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.random = np.random.default_rng(1)

    def convert(self, *arguments):
        """Exit code, and standard error or output."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = convert.main([str(argument) for argument in arguments])
        return code, err.getvalue() or out.getvalue()

    def read_by_the_program(self, data, *settings):
        """The arrays that `wellspring export` makes of a data set."""
        done = subprocess.run([os.environ["WELLSPRING_PROGRAM"], "export", str(data), *settings, "--out",
                               str(self.path / "read.npz")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.load(self.path / "read.npz")

    def table(self, rows=10000):
        return pa.table({"a": self.random.normal(size=rows).astype(np.float32), "b": self.random.integers(0, 9, rows),
                         "kind": self.random.choice(["dog", "cat"], rows)})

    def test_tables_become_arrays(self):
        table = self.table()
        pyarrow.parquet.write_table(table, self.path / "t.parquet")
        pyarrow.feather.write_feather(table, self.path / "t.feather")
        with pa.OSFile(str(self.path / "t.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        for name in ("t.parquet", "t.feather", "t.arrow"):
            code, text = self.convert(self.path / name, self.path / "t.npz", "--label", "kind", "--targets", "b")
            self.assertEqual(code, 0, text)
            arrays = np.load(self.path / "t.npz")
            np.testing.assert_array_equal(arrays["x"], table["a"].to_numpy()[:, None])
            np.testing.assert_array_equal(arrays["label"], table["kind"].to_numpy() == "dog")
            np.testing.assert_array_equal(arrays["target"][:, 0], table["b"].to_numpy())
        self.assertEqual((self.path / "t.classes.txt").read_text(), "cat\ndog\n")
        read = self.read_by_the_program(self.path / "t.npz", "class_names=t.classes.txt", "latents=[target]")
        np.testing.assert_array_equal(read["x"], arrays["x"])
        np.testing.assert_array_equal(read["label"], arrays["label"])
        np.testing.assert_array_equal(read["latents"], arrays["target"])

    def test_lists_and_root_branches_become_sets(self):
        counts = self.random.integers(0, 5, 5000)
        lists = {name: [self.random.normal(size=n).astype(np.float32) for n in counts] for name in ("pt", "eta")}
        pyarrow.parquet.write_table(pa.table({**lists, "top": counts % 2}), self.path / "s.parquet")
        with uproot.recreate(self.path / "s.root") as file:
            ragged = importlib.import_module("awkward")
            file["jets"] = {**{name: ragged.Array(lists[name]) for name in lists}, "top": counts % 2}
        for name in ("s.parquet", "s.root:jets", "s.root"):
            code, text = self.convert(self.path / name, self.path / "s.npz", "--features", "pt,eta", "--label", "top")
            self.assertEqual(code, 0, text)
            arrays = np.load(self.path / "s.npz")
            np.testing.assert_array_equal(arrays["x"], np.stack([np.concatenate(lists["pt"]), np.concatenate(lists["eta"])], 1))
            np.testing.assert_array_equal(np.diff(arrays["offsets"]), counts)
        read = self.read_by_the_program(self.path / "s.npz")
        np.testing.assert_array_equal(read["x"], arrays["x"])
        np.testing.assert_array_equal(read["offsets"], arrays["offsets"])

    def images(self, count=25):
        files = []
        for _ in range(count):
            file = io.BytesIO()
            PIL.Image.fromarray(self.random.integers(0, 255, (6, 6, 3), dtype=np.uint8)).save(file, "png")
            files.append(file.getvalue())
        features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=["x", "y", "z"])})
        rows = {"image": [{"bytes": file, "path": None} for file in files], "label": [i % 3 for i in range(count)]}
        return files, datasets.Dataset.from_dict(rows, features=features)

    def test_images_become_shards(self):
        files, data = self.images()
        data.save_to_disk(self.path / "saved")
        datasets.DatasetDict({"train": data, "test": data}).save_to_disk(self.path / "splits")
        data.to_parquet(self.path / "i.parquet")
        for name, options in (("saved", []), ("splits", ["--split", "test"]), ("i.parquet", [])):
            out = self.path / ("shards-" + name.split(".")[0])
            code, text = self.convert(self.path / name, out, "--shard-samples", 10, *options)
            self.assertEqual(code, 0, text)
            self.assertEqual(sorted(file.name for file in out.iterdir()),
                             ["classes.txt", *(f"shard-{i:06}.tar" for i in range(3))])
            found = []
            for shard in sorted(out.glob("*.tar")):
                with tarfile.open(shard) as archive:
                    found += [archive.extractfile(member).read() for member in archive if member.name.endswith(".png")]
            self.assertEqual(found, files)
        read = self.read_by_the_program(out, "format=webdataset", "classes=classes.txt")
        np.testing.assert_array_equal(read["label"], np.arange(25) % 3)
        pixels = np.stack([np.asarray(PIL.Image.open(io.BytesIO(file))) for file in files])
        np.testing.assert_array_equal(np.rint(read["x"] * 255), pixels)

    def test_refuses_what_it_cannot_convert(self):
        pyarrow.parquet.write_table(self.table(10), self.path / "t.parquet")
        pyarrow.parquet.write_table(pa.table({"a": [1.0, None], "l": [[1.0], [2.0, 3.0]], "m": [[1.0, 2.0], [3.0]]}),
                                    self.path / "bad.parquet")
        (self.path / "damaged.parquet").write_bytes(b"PAR1 and no more")
        (self.path / "full").mkdir()
        (self.path / "full/a").touch()
        t, bad, npz = self.path / "t.parquet", self.path / "bad.parquet", self.path / "t.npz"
        for arguments, code, part in (
                ((t, npz, "--label", "knd"), 2, "no column 'knd' (the source has a, b, kind)"),
                ((t, npz, "--label", "a"), 3, "column 'a' is not a label"),
                ((t, npz, "--features", "kind"), 3, "does not hold a number in each row"),
                ((bad, npz, "--features", "a"), 3, "column 'a' has missing values"),
                ((bad, npz, "--features", "l,m"), 3, "lists of different lengths"),
                ((t, self.path / "s"), 2, "no column 'image'"),
                ((t, self.path / "s", "--image", "kind"), 3, "row 0: no JPEG, PNG or WebP image"),
                ((t, self.path / "full", "--image", "kind"), 2, "is not an empty folder"),
                ((t, self.path / "t.csv"), 2, "unknown format"),
                ((self.path / "none.parquet", npz), 3, "no such file"),
                ((self.path / "damaged.parquet", npz), 3, "cannot be read"),
                ((self.path / "full", npz), 3, "no .parquet files")):
            found, text = self.convert(*arguments)
            self.assertEqual(found, code, text)
            self.assertIn(part, text)
        self.assertFalse(npz.exists())
        self.assertEqual(list(self.path.glob("*.part")), [])


if __name__ == "__main__":
    unittest.main()
