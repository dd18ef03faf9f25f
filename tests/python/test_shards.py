"""Shards and records of webdataset, tfrecord and TensorFlow read by ours, and our shards by webdataset. Tests of a package are
skipped where it is missing."""

import importlib.util
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import wellspring as ws

MISSING = [name for name in ("PIL", "webdataset", "tfrecord", "tensorflow") if importlib.util.find_spec(name) is None]
if "PIL" in MISSING or len(MISSING) == 3:
    print(f"tests/python: Skipped\nnot installed in the Python of this build: {', '.join(MISSING)}", flush=True)
    sys.exit(0)

import PIL.Image

PROGRAM = os.environ["WELLSPRING_PROGRAM"]
CLASSES = ["cat", "dog", "emu"]


def needs(name):
    return unittest.skipIf(name in MISSING, f"{name} is missing")


class Shards(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        random = np.random.default_rng(1)
        self.pixels = random.integers(0, 256, (20, 6, 6, 3), dtype=np.uint8)
        self.labels = random.integers(0, 3, 20)

    def png(self, row):
        file = io.BytesIO()
        PIL.Image.fromarray(self.pixels[row]).save(file, "png")
        return file.getvalue()

    def expect_rows(self, data, labels=None, **keys):
        """The rows that Wellspring reads from `data`."""
        ws.export(data, self.folder / "read.npz", **keys)
        with np.load(self.folder / "read.npz") as read:
            np.testing.assert_array_equal(np.rint(read["x"] * 255), self.pixels)
            np.testing.assert_array_equal(read["label"], self.labels if labels is None else labels)

    @needs("webdataset")
    def test_of_webdataset_are_read(self):
        import webdataset

        (self.folder / "shards").mkdir()
        with webdataset.ShardWriter(str(self.folder / "shards/train-%04d.tar"), maxcount=8, verbose=0) as writer:
            for row, label in enumerate(self.labels):
                writer.write({"__key__": f"{row:04}", "png": self.png(row), "cls": int(label),
                              "json": {"kind": CLASSES[label], "place": row}})
        for path in ("shards", "shards/train-{0000..0002}.tar"):
            self.expect_rows(self.folder / path, format="webdataset")
            self.expect_rows(self.folder / path, format="webdataset", label="json.kind")

    @needs("webdataset")
    def test_of_webdataset_with_encoded_arrays_are_read(self):
        """The package encodes pictures itself, and compresses no shard by default."""
        import webdataset

        with webdataset.TarWriter(str(self.folder / "one.tar")) as writer:
            for row, label in enumerate(self.labels):
                writer.write({"__key__": f"a/{row:04}", "png": self.pixels[row], "cls": CLASSES[label]})
        self.expect_rows(self.folder / "one.tar", format="webdataset")

    @needs("webdataset")
    def test_of_ours_are_read_by_webdataset(self):
        import webdataset

        subprocess.run([PROGRAM, "pack", "shapes", "--count", "20", "--size", "16", "--seed", "3", "--layout", "webdataset",
                        "--out", str(self.folder / "ours"), "classes=4"], check=True, capture_output=True)
        shards = sorted(map(str, (self.folder / "ours").glob("*.tar")))
        data = webdataset.WebDataset(shards, shardshuffle=False).decode("rgb8").to_tuple("png", "cls", "json")
        batch = ws.Generator("shapes", size=16, seed=3, classes=4).batch(0, 20, dtype="u8")
        rows = list(data)
        self.assertEqual(len(rows), 20)
        for row, (picture, label, facts) in enumerate(rows):
            np.testing.assert_array_equal(picture, batch.x[row])
            self.assertEqual(label, batch.label[row])
            self.assertEqual(facts["sample"], row)

    @needs("tfrecord")
    def test_of_tfrecord_are_read(self):
        import tfrecord

        for part in range(2):
            writer = tfrecord.TFRecordWriter(str(self.folder / f"train-{part:05}-of-00002"))
            for row in range(10 * part, 10 * part + 10):
                writer.write({"image/encoded": (self.png(row), "byte"), "image/class/label": (int(self.labels[row]), "int"),
                              "image/class/text": (CLASSES[self.labels[row]].encode(), "byte"),
                              "box": ([0.25, 0.5], "float")})
            writer.close()
        path = self.folder / "train-{00000..00001}-of-00002"
        self.expect_rows(path, format="tfrecord")
        self.expect_rows(path, format="tfrecord", label="image/class/text")

    @needs("tensorflow")
    def test_of_tensorflow_are_read(self):
        import tensorflow as tf

        def data(value):
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))

        with tf.io.TFRecordWriter(str(self.folder / "photos.tfrecord")) as writer:
            for row, label in enumerate(self.labels):
                number = tf.train.Feature(int64_list=tf.train.Int64List(value=[int(label)]))
                features = {"image/encoded": data(self.png(row)), "image/class/label": number,
                            "image/filename": data(f"{row}.png".encode())}
                writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
        self.expect_rows(self.folder / "photos.tfrecord")

    @needs("tfrecord")
    def test_of_tfrecord_with_raw_pixels_are_read(self):
        import tfrecord

        writer = tfrecord.TFRecordWriter(str(self.folder / "raw.tfrecord"))
        for pixels, label in zip(self.pixels, self.labels):
            writer.write({"image_raw": (pixels.tobytes(), "byte"), "height": (6, "int"), "width": (6, "int"),
                          "depth": (3, "int"), "label": (int(label), "int")})
        writer.close()
        self.expect_rows(self.folder / "raw.tfrecord")


if __name__ == "__main__":
    if MISSING:
        print(f"not installed in the Python of this build: {', '.join(MISSING)}; tests that need it are skipped")
    unittest.main()
