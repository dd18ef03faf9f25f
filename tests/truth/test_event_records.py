"""Event records: their kinematics, and LHE and HepMC3 files read back by pylhe and pyhepmc (skipped where these packages
are missing).

Momenta are f32, so they differ from exact momenta by about 2^-24 of the largest energy; the tests allow 10^-6.
"""

import importlib.util
import os
import subprocess
import tempfile
import unittest

import numpy as np

from test_ee_mumu import cross_section
from truth import TruthTest

COLUMNS = ["E", "px", "py", "pz", "m", "pdg", "status", "mother1", "mother2"]
RECORDS = (
    ("ee_mumu",), ("rambo", "ids=[11, -11, 22, 22]", "beam_ids=[2, -2]", "unit=1000"), ("rambo", "preset=top_pair"),
    ("rambo", "preset=top_pair_decays"), ("rambo", "preset=tau_pair"), ("rambo", "preset=d_to_k_pi_pi"),
    ("rambo", "bodies_low=2", "bodies_high=4", "ids=[22, 22, 22, 22]"), ("rambo", "bodies_low=3", "bodies_high=3", "masses=[80, 80, 90]", "ids=[24, -24, 23]"),  # weighted
    ("lund_shower", "soft=5", "w_width=2.085", "top_width=1.42", "items=128"),
)
MIXED = """
data:
  sources:
    - {name: tops, kind: generator, generator: rambo, params: {preset: top_pair, columns: record}}
    - {name: muons, kind: generator, generator: ee_mumu, params: {columns: record}}
model: {name: deepset}
loss: {kind: cross_entropy}
optimizer: {kind: adamw, lr: 0.001}
train: {steps: 5, batch: 8}
"""


class EventRecords(TruthTest):
    def records(self):
        for name, *settings in RECORDS:
            yield name, [*settings, "columns=record"]

    def test_kinematics(self):
        for name, settings in self.records():
            if name == "lund_shower":
                continue
            got = self.samples(name, 60, *settings, seed=5)
            self.assertEqual([f["name"] for f in got["metadata"]["sources"][0]["features"]], COLUMNS)
            for begin, end in zip(got["offsets"][:-1], got["offsets"][1:]):
                self.check(got["x"][begin:end].astype(float))

    def check(self, event):
        p, mass, pdg = event[:, :4], event[:, 4], event[:, 5].astype(int)
        status, mothers = event[:, 6].astype(int), event[:, 7:].astype(int)
        energy = p[:, 0].max()
        np.testing.assert_allclose(p[:, 0], np.sqrt((p[:, 1:] ** 2).sum(axis=1) + mass**2), atol=1e-6 * energy)
        self.assertTrue((mothers <= np.arange(len(event))[:, None]).all())
        np.testing.assert_array_equal(mothers[:, 0] == 0, status == -1)
        self.assertTrue((pdg != 0).all())
        np.testing.assert_allclose(p[status == -1].sum(axis=0), p[status == 1].sum(axis=0), atol=2e-6 * energy)
        for i in np.flatnonzero(status == 2):
            daughters = mothers[:, 0] == i + 1
            np.testing.assert_allclose(p[daughters].sum(axis=0), p[i], atol=2e-6 * energy)

    def test_jets(self):
        # Only decays conserve four-momentum; the shower conserves transverse momentum.
        got = self.samples("lund_shower", 60, "classes=[W, top]", "columns=record", "alpha_s=0", seed=8)
        for begin, end in zip(got["offsets"][:-1], got["offsets"][1:]):
            self.check(got["x"][begin:end].astype(float))

    def test_identities(self):
        got = self.samples("rambo", 1, "preset=top_pair_decays", "columns=record")["x"]
        self.assertEqual(got[:, 5].tolist(), [11, -11, 6, 5, 24, 2, -1, -6, -5, -24, -2, 1])
        self.assertEqual(got[:, 7].tolist(), [0, 0, 1, 3, 3, 5, 5, 1, 8, 8, 10, 10])
        got = self.samples("rambo", 1, "preset=tau_pair", "columns=record")["x"]
        self.assertEqual(got[2:, 5].tolist(), [15, 13, -14, 16, -15, -13, 14, -16])

    def test_angles_of_muons(self):
        angles = self.samples("ee_mumu", 50, seed=7)["x"].astype(float)
        muon = self.samples("ee_mumu", 50, "columns=record", seed=7)["x"].astype(float).reshape(50, 4, 9)[:, 2]
        np.testing.assert_allclose(muon[:, 3] / muon[:, 0], angles[:, 0], atol=1e-6)
        around = np.exp(1j * np.pi * angles[:, 1]) * np.hypot(muon[:, 1], muon[:, 2])
        np.testing.assert_allclose(muon[:, 1] + 1j * muon[:, 2], around, atol=1e-6 * muon[0, 0])

    def exported(self, ending, read):
        """Calls read(path) for each kind of event. Yields the result, and the same events from an npz file."""
        for name, settings in self.records():
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "events" + ending)
                command = [os.environ["WELLSPRING"], "export", name, *settings, "--count", "23", "--seed", "6"]
                done = subprocess.run([*command, "--out", path], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                read_back = read(path)
            got = self.samples(name, 23, *settings, seed=6)
            self.assertEqual(len(read_back), 23)
            x = got["x"].astype(float)
            x[:, :5] *= 1000 if "unit=1000" in settings else 1
            for i, event in enumerate(read_back):
                rows = x[got["offsets"][i]:got["offsets"][i + 1]]
                weight = got["weight"][i] if "weight" in got else 1
                if name == "ee_mumu":  # the only known cross-section; two equally likely energies
                    weight *= 2 * cross_section((80, 110)[got["label"][i]])
                yield event, rows, weight, int(got["label"][i]) + 1

    def test_mixed_sources(self):
        with tempfile.TemporaryDirectory() as folder:
            run = os.path.join(folder, "run.yaml")
            with open(run, "w", encoding="utf-8") as file:
                file.write(MIXED)
            text, arrays = os.path.join(folder, "events.lhe"), os.path.join(folder, "events.npz")
            for out in (text, arrays):
                command = [os.environ["WELLSPRING"], "export", run, "--count", "40", "--out", out]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
            with open(text, encoding="utf-8") as file:
                events = file.read().split("<event>\n")[1:]
            with np.load(arrays) as got:
                self.assertEqual(len(set(got["source"].tolist())), 2)
                for i, event in enumerate(events):
                    head, *lines = event.split("</event>")[0].splitlines()
                    self.assertAlmostEqual(float(head.split()[2]), got["weight"][i], delta=1e-6)
                    first = np.array([line.split() for line in lines], float)
                    rows = got["x"][got["offsets"][i]:got["offsets"][i + 1]]
                    np.testing.assert_allclose(first[:, [9, 6, 7, 8, 10, 0, 1, 2, 3]], rows, rtol=1e-6, atol=1e-6)

    @unittest.skipUnless(importlib.util.find_spec("pylhe"), "pylhe is missing")
    def test_pylhe(self):
        import pylhe
        for event, rows, weight, process in self.exported(".lhe", lambda path: list(pylhe.LHEFile.fromfile(path).events)):
            self.assertEqual((event.eventinfo.nparticles, event.eventinfo.pid), (len(rows), process))
            self.assertAlmostEqual(event.eventinfo.weight, weight, delta=1e-6 * weight)
            seen = [[p.e, p.px, p.py, p.pz, p.m, p.id, p.status, p.mother1, p.mother2] for p in event.particles]
            np.testing.assert_allclose(seen, rows, rtol=0, atol=1e-6 * rows[:, 0].max())

    @unittest.skipUnless(importlib.util.find_spec("pyhepmc"), "pyhepmc is missing")
    def test_pyhepmc(self):
        import pyhepmc

        def read(path):
            with pyhepmc.open(path) as file:
                return list(file)

        for event, rows, weight, process in self.exported(".hepmc", read):
            self.assertEqual(event.attributes["signal_process_id"].astype(int), process)
            self.assertAlmostEqual(event.weights[0], weight, delta=1e-6 * weight)
            if event.cross_section is not None:  # only for ee_mumu
                total = cross_section(80) + cross_section(110)
                self.assertAlmostEqual(event.cross_section.xsec(), total, delta=1e-6 * total)
            seen = []
            for p in event.particles:
                mothers = sorted(mother.id for mother in p.parents)
                q = p.momentum
                status = -1 if p.status == 4 else p.status
                seen.append([q.e, q.px, q.py, q.pz, p.generated_mass, p.pid, status, *(mothers + [0, 0])[:2]])
            np.testing.assert_allclose(seen, rows, rtol=0, atol=1e-6 * rows[:, 0].max())
