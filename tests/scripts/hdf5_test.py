"""HDF5 files exchanged with other programs: h5py reads exports, and the program reads files written by h5py, including
chunked and compressed ones.

Usage: hdf5_test.py PROGRAM. Exit code 77 without h5py (Debian, Ubuntu: python3-h5py).
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import h5py
    import numpy as np
except ImportError:
    if "/usr/bin" not in sys.executable:  # only the system's Python has the system's packages
        sys.exit(subprocess.run(["/usr/bin/python3", *sys.argv]).returncode)
    print("hdf5_test: skipped: no h5py (Debian, Ubuntu: python3-h5py)")
    sys.exit(77)

PROGRAM = sys.argv.pop()
CALO = ["calo_gflash", "layers=2", "unit=GeV", "--count", "30", "--seed", "4"]
CONFIG = """
data:
  normalise: none
  sources:
    - {{name: full, kind: files, path: {path}, {keys}}}
model: {{name: mlp, widths: [8]}}
heads:
  - {{name: energy, loss: regression, targets: [energy]}}
train: {{batch: 10, steps: 4}}
"""


class Hdf5(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def run_program(self, *arguments):
        return subprocess.run([PROGRAM, *arguments], cwd=self.path, capture_output=True, text=True)

    def export(self, name, *arguments):
        done = self.run_program("export", *arguments, "--out", name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.path / name

    def test_showers_have_the_layout_of_the_challenge(self):
        with h5py.File(self.export("a.hdf5", *CALO)) as file, np.load(self.export("a.npz", *CALO)) as plain:
            self.assertEqual(file["incident_energies"].shape, (30, 1))
            np.testing.assert_array_equal(
                file["showers"][:], (plain["x"].astype(np.float64) * 1000).astype(np.float32))
            np.testing.assert_array_equal(
                file["incident_energies"][:, 0], plain["latents"][:, 0].astype(np.float64) * 1000)
            self.assertEqual(file["showers"].attrs["units"], "MeV")
            self.assertEqual(file.attrs["generator"], "calo_gflash")
            self.assertEqual(file.attrs["seed"], 4)
            self.assertEqual((file.attrs["first"], file.attrs["count"]), (0, 30))
            about = json.loads(file["metadata"][()])
            self.assertEqual(json.loads(file.attrs["parameters"]), about["parameters"])
            self.assertEqual(about["version"], file.attrs["version"])

    def test_jets_and_columns(self):
        arguments = ["ginkgo", "--count", "25"]
        with h5py.File(self.export("a.h5", *arguments)) as file:
            self.assertEqual(file["particle_features"].shape[::2], (25, 4))
            self.assertEqual(file["jet_features"].shape, (25, 4))
            mask = file["particle_features"][:, :, 3]
            np.testing.assert_array_equal(mask.sum(axis=1), file["jet_features"][:, 3])
        with h5py.File(self.export("b.h5", *arguments, "--layout", "columns")) as file, \
                np.load(self.export("b.npz", *arguments)) as plain:
            self.assertEqual(set(file), set(plain.files))
            for name in set(plain.files) - {"metadata"}:
                self.assertEqual(file[name].dtype, plain[name].dtype, name)
                np.testing.assert_array_equal(file[name][:], plain[name])
            self.assertEqual(json.loads(file["metadata"][()])["generator"], "ginkgo")

    def test_packed_folders(self):
        arguments = ["shapes", "--count", "25", "--size", "6", "--plane"]
        packed = ["--format", "hdf5", "--shard-samples", "10"]
        folder = self.export("packed", *arguments, *packed)
        arrays = self.export("arrays", *arguments, "--format", "npz", "--shard-samples", "10")
        index = json.loads((folder / "index.json").read_text())
        self.assertEqual([shard["samples"] for shard in index["shards"]], [10, 10, 5])
        with np.load(self.export("whole.npz", *arguments)) as whole:
            first = 0
            for shard in index["shards"]:
                rows = slice(first, first + shard["samples"])
                with h5py.File(folder / shard["name"]) as file, \
                        np.load(arrays / shard["name"].replace(".h5", ".npz")) as plain:
                    self.assertEqual(set(file), set(whole.files))
                    for name in set(whole.files) - {"metadata"}:
                        np.testing.assert_array_equal(file[name][:], whole[name][rows], name)
                        np.testing.assert_array_equal(plain[name], whole[name][rows], name)
                first += shard["samples"]
            self.assertEqual(first, 25)
            with np.load(self.export("again.npz", "packed")) as again:
                np.testing.assert_array_equal(again["x"], np.rint(whole["x"] * 255).astype(np.float32) / np.float32(255))

    def write_showers(self, name, **options):
        """Writes a file in the challenge's format: f64, compressed; showers are exact multiples of 1/8 MeV."""
        showers = np.arange(40 * 6).reshape(40, 6) / 8
        energies = 1000.0 + 10 * np.arange(40).reshape(40, 1)
        with h5py.File(self.path / name, "w") as file:
            file.create_dataset("incident_energies", data=energies, compression="gzip")
            file.create_dataset("showers", data=showers, **options)
            file["metadata/run"] = 7  # a group of that name is not an export's metadata
        return showers, energies

    def read_back(self, name, storage):
        keys = f"storage: {storage}, shuffle: false"
        (self.path / "run.yaml").write_text(CONFIG.format(path=self.path / name, keys=keys))
        with np.load(self.export("back.npz", "run.yaml", "--count", "40")) as back:
            return back["x"], back["latents"]

    def test_files_of_other_programs_are_read(self):
        for options in (
                dict(compression="gzip", chunks=(7, 4), shuffle=True),
                dict(compression="gzip", fletcher32=True),
                dict(chunks=(40, 1), dtype=">f4"),
                dict(dtype="f2"),
        ):
            showers, energies = self.write_showers("full.h5", **options)
            for storage in ("resident", "streamed"):
                x, latents = self.read_back("full.h5", storage)
                np.testing.assert_array_equal(x, showers.astype(np.float32), str(options))
                np.testing.assert_array_equal(latents[:, :1], energies.astype(np.float32))

    def test_sets_of_other_programs_are_read(self):
        random = np.random.default_rng(3)
        counts = random.integers(0, 6, 30)
        counts[7] = 5  # the padded file only has room for five
        mask = np.arange(5) < counts[:, None]
        items = random.normal(size=(30, 5, 3)).astype(np.float32)
        mass = np.linspace(10, 200, 30)
        padded = np.concatenate([items, mask[..., None]], axis=2)
        jets = np.stack([mass + 500, mass / 100, mass, counts], axis=1)
        with h5py.File(self.path / "jetnet.hdf5", "w") as file:
            file.create_dataset("particle_features", data=padded, compression="gzip", chunks=(7, 5, 2))
            file["jet_features"] = jets
        columns = {"x": items[mask], "offsets": np.concatenate([[0], counts.cumsum()]), "mass": mass}
        np.savez(self.path / "columns.npz", **columns)
        with h5py.File(self.path / "columns.h5", "w") as file:
            for name, values in columns.items():
                file[name] = values
        for name, keys in (("jetnet.hdf5", ""), ("columns.npz", ", latents: [mass]"),
                           ("columns.h5", ", latents: [mass]")):
            for storage in ("resident", "streamed"):
                text = CONFIG.format(path=self.path / name, keys=f"storage: {storage}, shuffle: false{keys}")
                text = text.replace("name: mlp", "name: deepset, item_widths: [4]").replace("energy", "mass")
                (self.path / "run.yaml").write_text(text)
                with np.load(self.export("back.npz", "run.yaml", "--count", "30")) as back:
                    np.testing.assert_array_equal(back["x"], items[mask], name)
                    np.testing.assert_array_equal(np.diff(back["offsets"]), counts, name)
                    self.assertIn(np.float32(mass[4]), back["latents"][4])
                done = self.run_program("train", "run.yaml", f"out=run-{name}-{storage}")
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_arrays_of_common_forms_are_read(self):
        """Arrays in groups, compressed archives, Fortran order, planes and one-hot labels must all give the same
        batches."""
        random = np.random.default_rng(5)
        pixels = random.integers(0, 256, (20, 6, 6, 3), dtype=np.uint8)
        labels = random.permutation(np.arange(20) % 4)
        planes = pixels.transpose(0, 3, 1, 2)
        one_hot = np.eye(4, dtype=np.float32)[labels]
        with h5py.File(self.path / "groups.h5", "w") as file:
            file["train/images"] = planes
            file["train/labels"] = labels[:, None]
        np.savez(self.path / "plain.npz", x=pixels, label=labels)
        np.savez_compressed(self.path / "packed.npz", x=planes / 255, label=one_hot)
        np.save(self.path / "fortran.npy", np.asfortranarray((pixels / 255).astype(np.float32)))
        np.save(self.path / "y.npy", one_hot)
        expected = None
        for name, keys in (("plain.npz", ""), ("packed.npz", ""), ("fortran.npy", ", labels: y.npy"),
                           ("groups.h5", ", array: train/images, labels: train/labels, classes: 4")):
            for storage in ("resident", "streamed"):
                (self.path / "run.yaml").write_text(
                    f"data:\n  size: 6\n  sources: [{{name: a, kind: files, path: {self.path / name}, "
                    f"storage: {storage}, shuffle: false{keys}}}]\nmodel: {{name: mlp, widths: [4]}}\n"
                    "train: {batch: 10, steps: 4}\n")
                with np.load(self.export("back.npz", "run.yaml", "--count", "20")) as back:
                    batch = (back["x"].copy(), back["label"].copy())
                np.testing.assert_array_equal(batch[1], labels)
                expected = expected or batch
                np.testing.assert_array_equal(batch[0], expected[0], name)
        (self.path / "run.yaml").write_text(
            (self.path / "run.yaml").read_text().replace("train/images", "train/image"))
        done = self.run_program("config", "run.yaml")
        self.assertIn("did you mean 'train/images'?", done.stderr)

    def test_pulses_of_other_programs_are_read(self):
        """The tables of "Neutrinos in Deep Ice" as arrays, with booleans and small types as pandas writes them."""
        random = np.random.default_rng(4)
        counts = random.integers(0, 9, 30)
        ends, pulses = counts.cumsum(), counts.sum()
        geometry = random.normal(size=(50, 3))
        sensors, charge = random.integers(0, 50, pulses), random.random(pulses).astype(np.float16)
        time, auxiliary = random.integers(0, 70000, pulses), random.random(pulses) < 0.3
        arrays = {
            "time": time, "sensor_id": sensors.astype(np.int16), "charge": charge, "auxiliary": auxiliary,
            "first_pulse_index": ends - counts, "last_pulse_index": ends - 1, "azimuth": np.arange(30) / 5,
            "zenith": np.arange(30) / 10, "sensor_geometry": geometry.astype(">f8"),
        }
        np.savez(self.path / "pulses.npz", **arrays)
        with h5py.File(self.path / "pulses.h5", "w") as file:
            for name, values in arrays.items():
                file[name] = values
        items = np.column_stack([geometry[sensors], time, charge, auxiliary]).astype(np.float32)
        for name in ("pulses.npz", "pulses.h5"):
            text = CONFIG.format(path=self.path / name, keys="shuffle: false")
            text = text.replace("name: mlp", "name: deepset, item_widths: [4]").replace("energy", "zenith")
            (self.path / "run.yaml").write_text(text)
            with np.load(self.export("back.npz", "run.yaml", "--count", "30")) as back:
                np.testing.assert_array_equal(back["x"], items, name)
                np.testing.assert_array_equal(np.diff(back["offsets"]), counts, name)
                about = json.loads(str(back["metadata"]))["sources"][0]
                self.assertEqual([latent["name"] for latent in about["latents"]], ["azimuth", "zenith"])
                self.assertEqual([value["name"] for value in about["features"]], ["x", "y", "z", "time", "charge", "auxiliary"])

    def refusal(self, name):
        (self.path / "run.yaml").write_text(CONFIG.format(path=self.path / name, keys="shuffle: true"))
        done = self.run_program("config", "run.yaml")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertNotIn("HDF5-DIAG", done.stderr)
        return done.stderr

    def test_links_and_unknown_filters_are_refused(self):
        self.write_showers("full.h5")
        with h5py.File(self.path / "links.h5", "w") as file:
            file["incident_energies"] = np.ones((40, 1))
            file["showers"] = h5py.ExternalLink("full.h5", "/showers")
        self.assertIn("'showers' is a link", self.refusal("links.h5"))
        with h5py.File(self.path / "virtual.h5", "w") as file:
            file["incident_energies"] = np.ones((40, 1))
            layout = h5py.VirtualLayout(shape=(40, 6), dtype="f8")
            layout[:] = h5py.VirtualSource("full.h5", "showers", shape=(40, 6))
            file.create_virtual_dataset("showers", layout)
        self.assertIn("is stored in other files", self.refusal("virtual.h5"))
        self.write_showers("lzf.h5", compression="lzf")
        self.assertIn("is compressed by filter 32000 (lzf)", self.refusal("lzf.h5"))

    def test_damaged_compressed_rows_cause_an_error(self):
        self.write_showers("full.h5", compression="gzip", chunks=(40, 6))
        whole = (self.path / "full.h5").read_bytes()
        with h5py.File(self.path / "full.h5") as file:
            chunk = file["showers"].id.get_chunk_info(0)
        at = chunk.byte_offset + chunk.size // 2
        (self.path / "bad.h5").write_bytes(whole[:at] + bytes(16) + whole[at + 16:])
        (self.path / "run.yaml").write_text(
            CONFIG.format(path=self.path / "bad.h5", keys="storage: resident"))
        done = self.run_program("export", "run.yaml", "--count", "40", "--out", "back.npz")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("cannot read 1 row from row", done.stderr)


if __name__ == "__main__":
    unittest.main()
