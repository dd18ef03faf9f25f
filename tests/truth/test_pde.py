"""pde: fields rebuilt from their waves, each multiplied by the factor of the equation's exact solution.

The factors are computed from the program's latents, after a comparison of the latents. The program adds waves in single
precision: phases of up to 2 `highest` turns are off by about 10^-6 turns.
"""

import unittest

import numpy as np

from truth import Sample, TruthTest, below, named_key, unit

DEFAULTS = {
    "equation": "mixed", "cells": 0, "waves": 5, "highest": 4, "time_low": 0.25, "time_high": 1.0,
    "diffusivity_low": 0.001, "diffusivity_high": 0.01, "velocity": 0.5, "speed_low": 0.25, "speed_high": 1.0,
    "show": "pair",
}
EQUATIONS = ("heat", "advection", "wave")
SLACK = 1e-5


def u(word):
    return float(unit(word))


class Field:
    """One sample: its numbers, and its field before and after, in double precision. `given` are the program's
    latents."""

    def __init__(self, p, seed, number, size, given):
        sample = Sample(named_key(seed, "pde"), number)
        n = self.n = p["cells"] or max(size, 4 * p["highest"])
        first, second = ([int(word) for word in sample.block("scene", d)] for d in (0, 1))
        first, second = np.array(first, np.uint32), np.array(second, np.uint32)
        mixed = p["equation"] == "mixed"
        self.label = int(below(first[0], 3)) if mixed else 0
        kind = EQUATIONS[self.label] if mixed else p["equation"]
        time = p["time_low"] + u(first[1]) * (p["time_high"] - p["time_low"])
        ratio = p["diffusivity_high"] / p["diffusivity_low"]
        kappa = p["diffusivity_low"] * ratio ** u(first[2]) if kind != "wave" else 0
        speed = p["speed_low"] + u(first[3]) * (p["speed_high"] - p["speed_low"]) if kind == "wave" else 0
        v = [p["velocity"] * (2 * u(word) - 1) if kind == "advection" else 0 for word in second[:2]]
        self.latents = [time, kappa, *v, speed]
        time, kappa, *v, speed = (float(value) for value in given[:5])

        waves = np.array(sample.block("texture", np.arange(p["waves"])))
        across = 2 * p["highest"] + 1
        k = below(waves[0], across**2 - 1)
        k = k + (k >= (across**2 - 1) // 2)
        a, b = k % across - p["highest"], k // across - p["highest"]
        amplitude = 0.25 + 0.75 * unit(waves[1]).astype(np.float64)
        amplitude /= amplitude.sum()
        y, x = np.indices((n, n))
        turns = (a[:, None, None] * x + b[:, None, None] * y) / n + unit(waves[2]).astype(np.float64)[:, None, None]
        wave = amplitude[:, None, None] * np.exp(2j * np.pi * turns)
        k = 2 * np.pi * np.hypot(a, b)
        if kind == "wave":
            factor = np.cos(speed * k * time)
        else:
            factor = np.exp(-kappa * k**2 * time - 2j * np.pi * (a * v[0] + b * v[1]) * time)
        self.before = wave.sum(axis=0).real
        self.after = (factor[:, None, None] * wave).sum(axis=0).real
        self.latents.append(np.sqrt(np.sum(self.after**2) / np.sum(self.before**2)))


class Pde(TruthTest):
    def rebuild(self, count, size, seed=0, first=0, **changed):
        p = {**DEFAULTS, **changed}
        settings = [f"{name}={value}" for name, value in changed.items()]
        got = self.samples("pde", count, *settings, seed=seed, first=first, size=size)
        for k in range(count):
            field = Field(p, seed, first + k, size, got["latents"][k])
            self.assertEqual(got["label"][k], field.label)
            # These numbers have one or a few f32 rounding errors, including rounding in log2 and exp2.
            np.testing.assert_allclose(got["latents"][k, :5], field.latents[:5], rtol=3e-6, atol=1e-7)
            self.assertAlmostEqual(float(got["latents"][k, 5]), field.latents[5], delta=10 * SLACK)
            rows = np.arange(size) % field.n
            before, after = (0.5 + 0.5 * f[np.ix_(rows, rows)] for f in (field.before, field.after))
            picture = np.stack((before, after, 0 * after + 0.5), axis=-1)
            if p["show"] == "last":
                picture = np.stack((after, after, after), axis=-1)
            np.testing.assert_allclose(got["x"][k], picture, atol=SLACK)
        return set(got["label"])

    def test_defaults(self):
        self.assertEqual(self.rebuild(12, 64), {0, 1, 2})
        self.rebuild(8, 33, seed=20240607, first=2**32 + 11)
        self.rebuild(3, 3, seed=3)

    def test_each_equation(self):
        for seed, equation in enumerate(EQUATIONS):
            self.rebuild(4, 24, seed=seed, equation=equation)

    def test_other_parameters(self):
        self.rebuild(6, 41, seed=4, cells=19, waves=16, highest=9, show="last", time_low=0)
        self.rebuild(6, 20, seed=5, cells=30, waves=1, velocity=1, diffusivity_high=0.05, time_high=0.5)
        self.rebuild(3, 40, seed=6, highest=12, speed_low=0, speed_high=3, waves=3)
        self.rebuild(3, 20, seed=7, time_high=1e4, velocity=1e3, speed_high=1e3, diffusivity_low=1e-9)

    def test_distributions(self):
        # kappa is log-uniform. The mean of 4000 numbers is off by over 5 standard errors once in 10^6.
        made = self.samples("pde", 4000, "equation=heat", "cells=9", seed=7, size=1)
        time, kappa = made["latents"][:, 0].astype(np.float64), np.log10(made["latents"][:, 1].astype(np.float64))
        self.assertLess(abs(time.mean() - 0.625), 5 * 0.75 / np.sqrt(12 * 4000))
        self.assertLess(abs(kappa.mean() + 2.5), 5 / np.sqrt(12 * 4000))
        self.assertLess(abs(np.corrcoef(time, kappa)[0, 1]), 5 / np.sqrt(4000))


if __name__ == "__main__":
    unittest.main()
