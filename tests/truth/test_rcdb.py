"""Samples rebuilt from docs/generators/algorithms/rcdb.md: classes and latents exactly, pictures exactly, except for
the lines of the few vertices that rounding moves into the next pixel."""

import numpy as np
from scipy.special import chdtrc

from test_visual_atom import ContourTest, between, contours, cos_sin, start_of
from truth import Sample, below, fma, named_key, uniform, unit

F = np.float32
SETTINGS = {
    "classes": 1000, "class_seed": 1, "vertices_low": 3, "vertices_high": 200, "vertices_mean": 100, "orbits_low": 1,
    "orbits_high": 200, "noise_low": 0, "noise_high": 4, "line_width": 0.1, "radius_low": 0, "radius_high": 100,
    "oval": 2, "spread": 400,
}


def classes_of(settings, k):
    """The parameters of the classes in the array k."""
    s = settings
    word = Sample(named_key(s["class_seed"], "rcdb classes"), k).words("scene", 4)
    mean = F(s["vertices_mean"])
    e0, e1 = (np.exp(-np.float64(F(v) / mean)).astype(F) for v in (s["vertices_low"], s["vertices_high"] + 1))
    rest = np.log(fma(unit(word[0]), e1 - e0, e0).astype(np.float64)).astype(F)
    return {
        "vertices": np.clip(np.floor(-(mean * rest)), s["vertices_low"], s["vertices_high"]).astype(int),
        "orbits": between(word[1], s["orbits_low"], s["orbits_high"]),
        "noise": uniform(word[2], s["noise_low"], s["noise_high"]),
        "line_width": uniform(word[3], 0, s["line_width"]),
    }


def rebuilt(settings, seed, number, size):
    sample = Sample(named_key(seed, "rcdb"), number)
    label = int(below(sample.block("label", 0)[0], settings["classes"]))
    words = sample.words("scene", 5)
    x, y = (int(between(word, -settings["spread"], settings["spread"])) for word in words[:2])
    radius = int(between(words[2], settings["radius_low"], settings["radius_high"]))
    ovals = [uniform(word, 1, settings["oval"]) for word in words[3:]]
    k = classes_of(settings, label)
    n, s = int(k["vertices"]), F(size) / F(512)
    cosine, sine = cos_sin(np.arange(n).astype(F) / F(n))
    start = start_of(size, x, y, radius, ovals, cosine, sine)
    step = np.full(n, s * (k["noise"] + k["line_width"]))
    picture = contours(
        sample, size, start, cosine, sine, int(k["orbits"]), s * (F(2) * k["noise"]), step, 257, 255
    )
    latents = [0.5 + x / 1024, 0.5 + y / 1024, radius / 512, *ovals, n, k["orbits"], k["noise"] / F(512),
               k["line_width"] / F(512)]
    return picture, label, latents


class Rcdb(ContourTest):
    def test_pictures(self):
        cases = (
            (64, 4, 0, 0, {}),
            (95, 4, 2**63 - 9, 2**33 + 5, {}),
            (512, 1, 1, 1, {}),
            (1023, 1, 2, 3, {}),
            (64, 4, 5, 2**40, {"preset": "rcdb-21k", "classes": 21000}),
            (33, 6, 7, 12, {"classes": 5, "class_seed": 2**62 + 3, "vertices_low": 3, "vertices_high": 17, "oval": 3.3,
                            "vertices_mean": 10, "orbits_low": 7, "orbits_high": 50, "noise_low": 1.25,
                            "noise_high": 6, "line_width": 0.7, "radius_low": 0, "radius_high": 512, "spread": 1024}),
            (64, 2, 9, 0, {"vertices_low": 1500, "vertices_high": 2000, "vertices_mean": 9999.5, "orbits_high": 9}),
        )
        self.check_pictures("rcdb", SETTINGS, rebuilt, cases)

    def test_ranges_of_latents_match_the_classes(self):
        self.check_ranges("rcdb", 5, classes_of(SETTINGS, np.arange(1000)))

    def test_vertices_are_exponentially_distributed(self):
        """As published: int(exponential(mean)), redrawn outside the range. A chi-square test of the rebuilt classes,
        which the other checks show to equal the program's, with a false alarm rate of 1e-9."""
        n = classes_of(SETTINGS, np.arange(100000))["vertices"]
        edges = np.arange(3, 202)
        expected = -np.diff(np.exp(-edges / 100))
        expected *= len(n) / expected.sum()
        chi_square = np.sum((np.bincount(n, minlength=201)[3:] - expected) ** 2 / expected)
        self.assertGreater(chdtrc(197, chi_square), 1e-9)
