"""sbi: theta and x of all ten tasks, and the constants drawn once for all samples with NumPy's RandomState(42).

Tolerances: elementary functions are within a few units in the last place of f32 (ULP), so a normal number is within 4
ULP of its radius. This error propagates term by term through a fixed number of f32 operations. Values after theta are
computed from the program's own theta, which is compared first. Integrations run in f64 with the documented steps; the
program's f32 integrations may be off by the documented error.
"""

import numpy as np
from scipy.stats import binom

from truth import Sample, TruthTest, fma, named_key, unit, unit_open

ULP = 2.0**-23
BEGINNINGS = ((0, 0), (20240607, 2**32 + 11))


def exact_unit(word):
    return unit(word).astype(np.float64)


def normals(sample, purpose, count, skip=0):
    """Normal numbers skip to skip + count - 1 of a purpose, [numbers, samples], and their f32 tolerance."""
    words = sample.words(purpose, skip + count + count % 2)[skip:]
    radius = np.sqrt(-2 * np.log(unit_open(words[0::2]).astype(np.float64)))
    angle = 2 * np.pi * exact_unit(words[1::2])
    shape = (-1, *radius.shape[1:])
    z = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(shape)[:count]
    radius = np.stack([radius, radius], 1).reshape(shape)[:count]
    return z, 4 * ULP * radius


def numbers_of_the_benchmark():
    """Centres, factors and order of the distractors, all from NumPy's RandomState(42)."""
    random = np.random.RandomState(42)
    centres = np.array([15 * random.normal(size=92) for _ in range(20)])
    factors = []
    for _ in range(20):
        factor = np.tril(random.normal(size=(92, 92))) + np.diag(np.exp(random.normal(size=92)))
        factors.append(3 * factor)
    return centres, np.array(factors), random.permutation(100)


class Sbi(TruthTest):
    def each(self, task, count, beginnings=BEGINNINGS):
        """The program's samples, with theta and x transposed to [numbers, samples] of f64, and their random words."""
        for seed, first in beginnings:
            made = self.samples("sbi", count, f"task={task}", seed=seed, first=first)
            np.testing.assert_array_equal(made["label"], 0)
            np.testing.assert_array_equal(made["weight"], 1)
            np.testing.assert_array_equal(made["sample"], np.arange(first, first + count))
            sample = Sample(named_key(seed, "sbi"), made["sample"])
            yield made["latents"].T.astype(np.float64), made["x"].T.astype(np.float64), sample

    def close(self, actual, expected, tolerance, what):
        self.assertEqual(actual.shape, expected.shape, what)
        worst = np.max(np.abs(actual - expected) / tolerance)
        self.assertLess(worst, 1, f"{what}: off by {worst:.3g} times the tolerance")

    def test_gaussian_linear(self):
        s = float(np.float32(np.sqrt(0.1)))
        for theta, x, sample in self.each("gaussian_linear", 100):
            z, dz = normals(sample, "scene", 10)
            self.close(theta, s * z, s * (dz + ULP * np.abs(z)), "theta")
            z, dz = normals(sample, "scene", 10, skip=12)
            self.close(x, theta + s * z, s * (dz + ULP * np.abs(z)) + ULP * np.abs(x), "x")

    def test_gaussian_linear_uniform(self):
        s = float(np.float32(np.sqrt(0.1)))
        for theta, x, sample in self.each("gaussian_linear_uniform", 100):
            np.testing.assert_array_equal(theta, 2 * exact_unit(sample.words("scene", 10)) - 1)
            z, dz = normals(sample, "noise", 10)
            self.close(x, theta + s * z, s * dz + ULP * np.abs(x), "x")

    def test_gaussian_mixture(self):
        for theta, x, sample in self.each("gaussian_mixture", 200):
            words = sample.words("scene", 3)
            np.testing.assert_array_equal(theta, fma(20, exact_unit(words[:2]), -10))
            width = np.where(words[2] >> np.uint32(31), 0.1, 1)
            self.assertTrue(60 < np.sum(width == 1) < 140)
            z, dz = normals(sample, "noise", 2)
            self.close(x, theta + width * z, width * (dz + ULP * np.abs(z)) + ULP * np.abs(x), "x")

    def test_two_moons(self):
        for theta, x, sample in self.each("two_moons", 200):
            np.testing.assert_array_equal(theta, 2 * exact_unit(sample.words("scene", 2)) - 1)
            words = sample.words("noise", 3)
            z, _ = normals(sample, "noise", 1)
            r = 0.1 + 0.01 * z[0]
            a = 2 * np.pi * (exact_unit(words[2]) / 2 - 0.25)
            expected = [
                r * np.cos(a) + 0.25 - np.abs(theta[0] + theta[1]) / np.sqrt(2),
                r * np.sin(a) + (theta[1] - theta[0]) / np.sqrt(2),
            ]
            # Five roundings of numbers below 2; r and the sines are exact to a few ULP of 0.15.
            self.close(x, np.array(expected), 4 * ULP, "x")

    def slcp(self, theta, sample):
        z, dz = normals(sample, "noise", 8)
        t1, t2, t3, t4, t5 = theta
        s1, s2, r, e = t3**2, t4**2, np.tanh(t5), 1e-6
        # The published covariance, in f64.
        covariance = np.moveaxis(np.array([[s1**2 + e, r * s1 * s2], [r * s1 * s2, s2**2 + e]]), 2, 0)
        low = np.linalg.cholesky(covariance)
        x, tolerance = [], []
        for z0, z1, d0, d1 in zip(z[0::2], z[1::2], dz[0::2], dz[1::2]):
            terms = np.array([[t1, low[:, 0, 0] * z0, 0 * z0], [t2, low[:, 1, 0] * z0, low[:, 1, 1] * z1]])
            x += list(terms.sum(axis=1))
            # A factor of L takes at most 12 operations (no differences), an exponential and a hyperbolic tangent.
            off = np.array([low[:, 0, 0] * d0, np.abs(low[:, 1, 0]) * d0 + low[:, 1, 1] * d1])
            tolerance += list(8 * ULP * np.abs(terms).sum(axis=1) + off)
        return np.array(x), np.array(tolerance)

    def test_slcp(self):
        for theta, x, sample in self.each("slcp", 200):
            np.testing.assert_array_equal(theta, fma(6, exact_unit(sample.words("scene", 5)), -3))
            self.close(x, *self.slcp(theta, sample), "x")

    def test_slcp_distractors(self):
        centres, factors, order = numbers_of_the_benchmark()
        for theta, x, sample in self.each("slcp_distractors", 60):
            np.testing.assert_array_equal(theta, fma(6, exact_unit(sample.words("scene", 5)), -3))
            numbers, tolerance = self.slcp(theta, sample)
            law, exponential = sample.words("texture", 2)
            law = (20 * law.astype(np.uint64)) >> np.uint64(32)
            exponential = -np.log(((exponential >> np.uint32(9)) + 0.5) * 2.0**-23)
            z, dz = normals(sample, "texture", 92, skip=4)
            scatter = np.einsum("sij,js->is", factors[law], z) / np.sqrt(exponential)
            y = centres[law].T + scatter
            # In 92 additions, random roundings add up to 5 ULP of the summed magnitudes, or 46 at worst.
            terms = np.einsum("sij,js->is", np.abs(factors[law]), 8 * ULP * np.abs(z) + dz) / np.sqrt(exponential)
            numbers = np.concatenate([numbers, y])[order]
            tolerance = np.concatenate([tolerance, terms + 2 * ULP * np.abs(y)])[order]
            self.close(x, numbers, tolerance, "x")

    def bernoulli(self, theta, sample):
        """Stimulus (including the time before the start), spikes, and a mask of spikes too close to an edge to
        decide."""
        z, dz = normals(sample, "scene", 10)
        f = np.diag(1 + np.sqrt(np.arange(9) / 9)) - 2 * np.eye(9, k=-1) + np.eye(9, k=-2)
        inverse = np.linalg.inv(f)
        expected = np.concatenate([np.sqrt(2) * z[:1], inverse @ z[1:]])
        # Each of the nine equations is solved to within a few ULP of its terms.
        rest = dz[1:] + 4 * ULP * (np.abs(z[1:]) + np.abs(f) @ np.abs(expected[1:]))
        tolerance = np.concatenate([np.sqrt(2) * dz[:1] + 2 * ULP * np.abs(expected[:1]), np.abs(inverse) @ rest])
        self.close(theta, expected, tolerance, "theta")

        stimulus = np.random.RandomState(42).randn(100).astype(np.float32).astype(np.float64)
        history = np.array([np.concatenate([np.zeros(j), stimulus[: 100 - j]]) for j in range(9)])
        terms = np.concatenate([np.ones((1, 100)), history]).T[:, :, None] * theta
        psi = terms.sum(axis=1)
        chance = 1 / (1 + np.exp(-psi))
        u = exact_unit(sample.words("noise", 100))
        unclear = np.abs(u - chance) < chance * (1 - chance) * 10 * ULP * np.abs(terms).sum(axis=1) + 4 * ULP * chance
        return history, u < chance, unclear

    def test_bernoulli_glm_raw(self):
        for theta, x, sample in self.each("bernoulli_glm_raw", 200):
            _, spikes, unclear = self.bernoulli(theta, sample)
            self.assertLess(np.sum(unclear), 10)
            np.testing.assert_array_equal(x[~unclear], spikes[~unclear])

    def test_bernoulli_glm(self):
        for theta, x, sample in self.each("bernoulli_glm", 200):
            history, spikes, unclear = self.bernoulli(theta, sample)
            clear = ~unclear.any(axis=0)
            self.assertGreater(np.sum(clear), 190)
            np.testing.assert_array_equal(x[0, clear], spikes.sum(axis=0)[clear])
            # A hundred additions, whose f32 roundings are random and partly cancel.
            tolerance = 5 * ULP * (np.abs(history) @ spikes) + 1e-30
            self.close(x[1:, clear], (history @ spikes)[:, clear], tolerance[:, clear], "x")

    def test_sir(self):
        for theta, x, sample in self.each("sir", 60):
            z, dz = normals(sample, "scene", 2)
            expected = np.exp([np.log(0.4) + 0.5 * z[0], np.log(0.125) + 0.2 * z[1]])
            self.close(theta, expected, expected * (np.array([[0.5], [0.2]]) * dz + 8 * ULP), "theta")

            state = np.array([np.full(60, 1 - 1e-6), np.full(60, 1e-6)])
            chances = [state[1]]
            for _ in range(9):
                state = runge_kutta(epidemic(*theta), state, 0.1, 170)
                chances.append(state[1])
            chances = np.array(chances)
            words = sample.words("noise", 20).astype(np.float64)
            u = (np.floor(words[0::2] / 32) * 2.0**26 + np.floor(words[1::2] / 64)) * 2.0**-53
            # The documented error is 2e-4 of the scatter of a count, whose mean is 1000 p.
            off = 2e-4 * np.sqrt(1000 * chances) / 1000
            counts = [positive(u, np.clip(chances + d, 0, 1)) for d in (-off, 0 * off, off)]
            self.assertTrue(np.all((counts[0] <= x) & (x <= counts[2])))
            self.assertLess(np.sum(x != counts[1]), 3)

    def test_lotka_volterra(self):
        clamped = 0
        # In sample 605 of seed 1, the prey almost dies out.
        for theta, x, sample in self.each("lotka_volterra", 60, (*BEGINNINGS, (1, 600))):
            z, dz = normals(sample, "scene", 4)
            middle = np.array([-0.125, -3, -0.125, -3])[:, None]
            expected = np.exp(middle + 0.5 * z)
            self.close(theta, expected, expected * (0.5 * dz + 8 * ULP), "theta")

            state = np.array([np.full(60, 30.0), np.full(60, 1.0)])
            points = [state]
            for _ in range(9):
                state = runge_kutta(prey_and_predators(*theta), state, 0.01, 210)
                points.append(state)
            clamped += np.sum(np.array(points) < 1e-10)
            points = np.clip(np.array(points), 1e-10, 1e4)
            z, dz = normals(sample, "noise", 20)
            logarithm = np.log(np.concatenate([points[:, 0], points[:, 1]])) + 0.1 * np.concatenate([z[0::2], z[1::2]])
            off = np.abs(np.log(x) - logarithm).max(axis=0)
            # The documented error is 1e-4 in 99 of 100 samples; none of these samples is worse.
            self.assertLess(np.max(off), 1e-4)
        self.assertGreater(clamped, 0)


def epidemic(beta, gamma):
    return lambda state: [-beta * state[0] * state[1], (beta * state[0] - gamma) * state[1]]


def prey_and_predators(alpha, beta, gamma, delta):
    return lambda state: [state[0] * (alpha - beta * state[1]), state[1] * (delta * state[0] - gamma)]


def runge_kutta(slope, state, h, steps):
    for _ in range(steps):
        k1 = np.array(slope(state))
        k2 = np.array(slope(state + h / 2 * k1))
        k3 = np.array(slope(state + h / 2 * k2))
        k4 = np.array(slope(state + h * k3))
        state = state + h / 6 * (k1 + k4 + 2 * (k2 + k3))
    return state


def positive(u, chance):
    """Quantiles of the number of positive tests out of 1000, by inversion; for p > 1/2, of negative tests."""
    few = binom.ppf(u, 1000, np.minimum(chance, 1 - chance))
    return np.where(chance > 0.5, 1000 - few, few)
