"""Events rebuilt from docs/generators/algorithms/ee_mumu.md, bit for bit.

The shares of forward events come from the textbook cross-section in vector and axial couplings (for instance the LEP
and SLD groups, Phys. Rept. 427 (2006) 257, section 1.5), not from the documented helicities. Both use double precision.
Their f32 values differ only if rounding decides, once in about 10^8 cases, and this changes an event only if a random
number falls into the gap of 2^-24 between them. So no event may differ.
"""

import json
import os
import subprocess

import numpy as np

from truth import Sample, TruthTest, below, named_key, unit


def couplings(energy, sin2=0.23153, mass=91.1876, width=2.4952):
    """The even and odd terms (in the cosine) of the cross-section, relative to photon exchange."""
    s = energy**2
    vector, axial = -0.5 + 2 * sin2, -0.5
    chi = s / (4 * sin2 * (1 - sin2) * (s - mass**2 + 1j * mass * width))
    even = 1 + 2 * vector**2 * chi.real + (vector**2 + axial**2) ** 2 * abs(chi) ** 2
    odd = 2 * axial**2 * chi.real + 4 * vector**2 * axial**2 * abs(chi) ** 2
    return even, odd


def asymmetry(energy, **constants):
    """A_FB; for massless muons, the electromagnetic coupling cancels."""
    even, odd = couplings(energy, **constants)
    return 0.75 * odd / even


def cross_section(energy, inverse_alpha=128.952):
    """In pb: 4 pi alpha^2 / (3 s) for a photon; (hbar c)^2 of CODATA 2018."""
    return 4 * np.pi / (3 * (inverse_alpha * energy) ** 2) * couplings(energy)[0] * 3.893793721e8


class EeMumu(TruthTest):
    def rebuild(self, count, *settings, seed=0, first=0, **constants):
        got = self.samples("ee_mumu", count, *settings, seed=seed, first=first)
        energies = got["metadata"]["parameters"]["energies"]
        sample = Sample(named_key(seed, "ee_mumu"), np.uint64(first) + np.arange(count, dtype=np.uint64))
        p, q = sample.block("scene", 0), sample.block("scene", 1)
        label = below(p[0], len(energies))
        forward = [np.float32(0.5 + asymmetry(energy, **constants) * 2 / 3) for energy in energies]
        largest = np.maximum(np.maximum(unit(p[2]), unit(p[3])), unit(q[0]))
        cosine = (2 * largest - 1) * np.where(unit(p[1]) < np.array(forward)[label], np.float32(1), np.float32(-1))
        phi = 2 * unit(q[1]) - 1
        np.testing.assert_array_equal(got["label"], label)
        np.testing.assert_array_equal(got["x"], np.stack([cosine, phi], axis=1))
        latents = [np.array(energies, np.float32)[label], cosine, phi * np.float32(np.pi)]
        np.testing.assert_array_equal(got["latents"], np.stack(latents, axis=1))
        np.testing.assert_array_equal(got["sample"], first + np.arange(count))
        return got, [asymmetry(energy, **constants) for energy in energies]

    def test_events(self):
        self.rebuild(8000)
        self.rebuild(8000, seed=2**63 - 1, first=2**32 - 3000)
        self.rebuild(8000, "preset=lep_scan", seed=1, first=2**50)
        constants = ["inverse_alpha=137", "sin2_theta_w=0.3", "z_mass=80", "z_width=5"]
        energies = "energies=[60, 79, 81, 200, 100000]"
        self.rebuild(8000, energies, *constants, seed=2, sin2=0.3, mass=80, width=5)

    def test_distribution_of_the_angle(self):
        # The chi-square of 40 intervals (39 degrees of freedom) is above 96 with a probability below 1e-6.
        got, asymmetries = self.rebuild(40000, "energies=[70, 91.1876, 150]", seed=3)
        edges = np.linspace(-1, 1, 41)
        for k, a in enumerate(asymmetries):
            cosine = got["x"][got["label"] == k, 0]
            share = np.diff(0.375 * (edges + edges**3 / 3) + a * edges**2 / 2)
            expected = len(cosine) * share
            self.assertLess(np.sum((np.histogram(cosine, edges)[0] - expected) ** 2 / expected), 96)

    def test_best_accuracy(self):
        command = [os.environ["WELLSPRING"], "describe", "ee_mumu", "--json"]
        told = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["best"]
        # Integrates the larger of the two densities over the angle.
        c = (np.arange(200000) + 0.5) / 100000 - 1
        densities = [0.375 * (1 + c**2) + asymmetry(energy) * c for energy in (80, 110)]
        self.assertEqual([best["metric"] for best in told], ["accuracy"])
        self.assertAlmostEqual(told[0]["value"], np.mean(np.max(densities, axis=0)), delta=1e-7)
