"""Samples rebuilt from docs/generators/algorithms/gaussian_linear.md.

A normal number is the root of a logarithm times the program's own cosine. Its error is a few units in the last place of
the root, not of the product. The root is at most 5.8, so the tolerance of a normal number is 4e-6 (8 such units). The
tolerance of its square is 12 times as large, and the tolerance of a weighted sum is the weighted sum of tolerances.
"""

import json
import os
import subprocess

import numpy as np

from truth import Sample, TruthTest, named_key, normal

NORMAL = 4e-6


class GaussianLinear(TruthTest):
    def rebuild(self, count, *settings, seed=0, first=0):
        got = self.samples("gaussian_linear", count, *settings, seed=seed, first=first)
        p = got["metadata"]["parameters"]
        sample = Sample(named_key(seed, "gaussian_linear"), np.uint64(first) + np.arange(count, dtype=np.uint64))
        theta, error = (
            np.stack([*normal(w[0], w[1]), *normal(w[2], w[3])], axis=1)
            for w in (sample.block("scene", 0), sample.block("scene", 1))
        )
        np.testing.assert_array_equal(got["label"], 0)
        np.testing.assert_allclose(got["latents"][:, :4], theta, rtol=0, atol=NORMAL)
        np.testing.assert_array_equal(got["latents"][:, 4:], got["latents"][:, :4] ** 2)
        power = np.subtract.outer(np.arange(4), np.arange(4))
        a = np.where(power >= 0, float(p["mixing"]) ** np.abs(power), 0)
        allowed = NORMAL * (np.max(np.sum(a, axis=1)) + p["noise"])
        np.testing.assert_allclose(got["x"], theta @ a.T + p["noise"] * error, rtol=0, atol=allowed)
        return got, a, p["noise"]

    def test_samples(self):
        self.rebuild(5000)
        self.rebuild(5000, seed=2**63 - 1, first=2**32 - 100)
        self.rebuild(2000, "mixing=0", "noise=10", seed=1)
        self.rebuild(2000, "mixing=1", "noise=0.01", seed=2, first=2**40)
        self.rebuild(2000, "mixing=0.8", "noise=1.5", seed=3)

    def test_posterior_reaches_the_best_values(self):
        command = [os.environ["WELLSPRING"], "describe", "gaussian_linear", "--json"]
        told = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["best"]
        told = {best["metric"]: best["value"] for best in told}
        got, a, noise = self.rebuild(20000, seed=4)
        # Computed from the joint distribution, Cov(theta, x) Cov(x)^-1, not from the documented formula.
        gain = a.T @ np.linalg.inv(a @ a.T + noise**2 * np.eye(4))
        mean = got["x"].astype(float) @ gain.T
        theta = got["latents"][:, :4].astype(float)
        best = {}
        for i, var in enumerate(np.diag(np.eye(4) - gain @ a)):
            off = mean[:, i] - theta[:, i]
            best[f"rmse of theta{i}"] = np.sqrt(var), off, 2
            best[f"mae of theta{i}"] = np.sqrt(2 * var / np.pi), off, 1
            off = mean[:, i] ** 2 + var - theta[:, i] ** 2
            best[f"rmse of theta{i}_squared"] = np.sqrt(4 * var - 2 * var**2), off, 2
        self.assertEqual(sorted(told), sorted(best))
        for name, (value, errors, power) in best.items():
            with self.subTest(name):
                self.assertAlmostEqual(told[name], value, delta=1e-6 * value)
                # Six standard errors of the mean are exceeded once in 5e8.
                powers = np.abs(errors) ** power
                self.assertLess(abs(np.mean(powers) - value**power), 6 * np.std(powers) / np.sqrt(len(powers)))
