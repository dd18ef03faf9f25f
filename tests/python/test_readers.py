"""Readers of the communities of jets, tracks and showers, on exported files: the package jetnet (PyPI), trackml
(github.com/LAL/trackml-library) and the folder code of CaloChallenge (github.com/CaloChallenge/homepage). Each is skipped
where it is missing; the latter two are not on PyPI: put their folders on PYTHONPATH."""

import importlib.util
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np

import wellspring as ws

READERS = {"jetnet": "jetnet.datasets", "trackml": "trackml.dataset", "CaloChallenge": "HighLevelFeatures"}


def is_installed(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # its package is missing
        return False


MISSING = [name for name, module in READERS.items() if not is_installed(module)]
if len(MISSING) == len(READERS):
    print(f"tests/python: Skipped\nnot installed in the Python of this build: {', '.join(MISSING)}", flush=True)
    sys.exit(0)


def needs(name):
    return unittest.skipIf(name in MISSING, f"{name} is missing")


class Readers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    @needs("jetnet")
    def test_jetnet(self):
        import h5py
        from jetnet.datasets import JetNet
        from jetnet.datasets.normalisations import FeaturewiseLinear
        from jetnet.utils import jet_features

        stored = {}
        for letter, name in (("g", "gluon"), ("t", "top")):
            ws.export("lund_shower", self.folder / f"{letter}.hdf5", count=50, seed=3, preset="jetnet30", classes=[name])
            with h5py.File(self.folder / f"{letter}.hdf5") as file:
                stored[letter] = {key: file[key][:] for key in ("particle_features", "jet_features")}
        # The package accepts only files with the checksums of Zenodo's, which it asks for: this step alone is replaced.
        with mock.patch("jetnet.datasets.jetnet.checkDownloadZenodoDataset",
                        lambda folder, dataset_name, record_id, key, download: os.path.join(folder, key)):
            data = JetNet(jet_type={"g", "t"}, data_dir=str(self.folder), split="all", jet_features=JetNet.ALL_JET_FEATURES,
                          jet_normalisation=FeaturewiseLinear(normal=True, normalise_features=[False, True, True, True, True]))
            particles, jets = JetNet.getData({"g", "t"}, str(self.folder), split="all")
        self.assertEqual((len(data), data[0][0].shape), (100, (30, 4)))
        for kind, letter in ((0, "g"), (2, "t")):
            of_kind = jets[:, 0] == kind  # shuffled
            order, wanted = np.argsort(jets[of_kind][:, 1]), np.argsort(stored[letter]["jet_features"][:, 0])
            np.testing.assert_array_equal(jets[of_kind][order][:, 1:], stored[letter]["jet_features"][wanted])
            np.testing.assert_array_equal(particles[of_kind][order], stored[letter]["particle_features"][wanted])
        # Its own sums of the particles are the jet, unless the 30 hardest are not all. (Its "eta" of the sum is not 0: the
        # jet has a mass, so its rapidity is not its pseudorapidity.)
        whole = jets[:, 4] < 30
        self.assertGreater(whole.sum(), 10)
        sums = jet_features(particles[whole][:, :, :3].astype(float))
        np.testing.assert_allclose(sums["pt"], 1, atol=1e-5)
        np.testing.assert_allclose(sums["mass"] * jets[whole][:, 1], jets[whole][:, 3], rtol=1e-3)

    @needs("trackml")
    def test_trackml(self):
        from trackml.dataset import load_dataset
        from trackml.score import score_event

        ws.export("tracks", self.folder / "events.trackml", count=3, first=7, seed=5, columns="truth")
        made = ws.Generator("tracks", seed=5, columns="truth").batch(7, 3)
        names = "x y z volume_id layer_id particle_id tx ty tz tpx tpy tpz weight vx vy vz px py pz q".split()
        events = list(load_dataset(str(self.folder / "events.trackml"), parts=["hits", "particles", "truth"]))
        self.assertEqual([event[0] for event in events], [7, 8, 9])
        for row, (_, hits, particles, truth) in enumerate(events):
            items = made.x[row, : made.count[row]]
            own = {name: items[:, names.index(name)] for name in names}
            self.assertEqual(len(hits), len(items))
            for name in ("x", "y", "z"):
                np.testing.assert_array_equal(np.sort(hits[name].to_numpy()), np.sort(own[name]))
            self.assertEqual(set(particles["particle_id"]), set(own["particle_id"].astype(int)) - {0})
            self.assertEqual(particles["nhits"].sum(), (own["particle_id"] > 0).sum())
            self.assertTrue(set(particles["q"]) <= {-1, 1})
            # The challenge's score: 1 for the true tracks; a single track for all hits gets nothing.
            right = truth[["hit_id"]].assign(track_id=truth["particle_id"])
            self.assertAlmostEqual(score_event(truth, right), 1, places=5)
            self.assertLess(score_event(truth, right.assign(track_id=1)), 0.5)

    @needs("CaloChallenge")
    def test_calo_challenge(self):
        import h5py
        import HighLevelFeatures as reader

        binning = pathlib.Path(reader.__file__).parent / "binning_dataset_2.xml"
        features = reader.HighLevelFeatures("electron", filename=str(binning))
        file = self.folder / "showers.hdf5"
        ws.export("calo_gflash", file, count=8, seed=3, preset="ds2")
        made = ws.Generator("calo_gflash", seed=3, preset="ds2").batch(0, 8)
        with h5py.File(file) as stored:
            showers, energies = stored["showers"][:], stored["incident_energies"][:]
        self.assertEqual((showers.shape, energies.shape), ((8, features.bin_edges[-1]), (8, 1)))
        features.CalculateFeatures(showers)
        layers, rings = 45, 9
        cells = made.x.astype(float).reshape(8, layers, 16, rings)
        middle = 4.65 * (np.arange(rings) + 0.5)  # mm
        for layer in range(layers):
            energy = cells[:, layer].sum((1, 2))
            np.testing.assert_allclose(features.GetElayers()[layer], energy, rtol=1e-5)
            seen = energy > 0
            mean = (cells[:, layer].sum(1) * middle).sum(1)[seen] / energy[seen]
            np.testing.assert_allclose(features.EC_r[layer][seen], mean, rtol=1e-5)
        self.assertTrue((features.GetEtot() < 1.2 * energies[:, 0]).all())


if __name__ == "__main__":
    unittest.main()
