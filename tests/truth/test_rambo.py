"""rambo: events with and without masses, weighted and unweighted, compared number by number.

The documented algorithm computes sines and logarithms in single precision, and this test in double precision: a q may
be off by about 2 units in the last place of single precision (ULP), and its direction by 2 ULP. Both compute the rest
in double precision, so momenta may be off by 2 ULP of the energy times the boost's gamma, including the last rounding.
If only one of them accepted a try, the event would change completely. The probability of this is 10^-7 per try; it does
not happen here.
"""

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import beta, kstest

from truth import Sample, TruthTest, below, f32, named_key, unit, unit_open

ULP = 2.0**-23


def massless(sample, tries, bodies, energy):
    """Momenta [bodies, 4] of one try of a sample, and the gamma of the boost that was applied."""
    words = np.array(sample.block("texture", 8 * tries + np.arange(bodies)))
    cosine = 2 * unit(words[0]).astype(np.float64) - 1
    turn = 2 * np.pi * unit(words[1]).astype(np.float64)
    sine = np.sqrt((1 - cosine) * (1 + cosine))
    argument = (unit_open(words[2]) * unit_open(words[3])).astype(np.float64)
    q0 = -np.log(argument)
    q = q0 * np.array([sine * np.cos(turn), sine * np.sin(turn), cosine])
    total, sums = q0.sum(), q.sum(axis=1)
    mass = np.sqrt((total - np.linalg.norm(sums)) * (total + np.linalg.norm(sums)))
    b, gamma, x = -sums / mass, total / mass, energy / mass
    along = b @ q
    p0 = x * (gamma * q0 + along)
    p = x * (q + b[:, None] * (q0 + along / (1 + gamma)))
    return np.concatenate([p0[None], p]).T, gamma


def massive(momenta, masses, energy):
    """Momenta with masses, the weight W and its bound X^(2n - 3)."""
    n = len(masses)
    size = momenta[:, 0]
    bound = np.sqrt(1 - (masses.sum() / energy) ** 2)
    xi = 1.0
    if masses.any():
        xi = brentq(lambda xi: np.sqrt(masses**2 + (xi * size) ** 2).sum() - energy, 0, 1 + 1e-12, xtol=1e-15)
    k = xi * size
    e = np.sqrt(masses**2 + k**2)
    weight = xi ** (2 * n - 3) * np.prod(k / e) * energy / (k**2 / e).sum()
    return np.concatenate([e[:, None], xi * momenta[:, 1:]], axis=1), weight, bound ** (2 * n - 3)


def two_bodies(mother, mass, m1, m2, height, turn):
    """Momenta (E, px, py, pz) of the two decay products of a moving mother."""
    p = np.sqrt(max(triangle(mass**2, m1**2, m2**2), 0)) / (2 * mass)
    cosine, phi = 2 * float(unit(height)) - 1, 2 * np.pi * float(unit(turn))
    sine = np.sqrt(1 - cosine**2)
    own = p * np.array([sine * np.cos(phi), sine * np.sin(phi), cosine])
    flight = mother[1:]
    k = own + flight * (own @ flight / (mother[0] + mass) + np.hypot(p, m1)) / mass
    rest = flight - k
    return np.array([np.sqrt(k @ k + m1**2), *k]), np.array([np.sqrt(rest @ rest + m2**2), *rest])


class Decays:
    """The list of bodies after all decays, in the order of the items."""

    def __init__(self, sample, laws):
        self.sample, self.laws, self.count = sample, laws, 0

    def of(self, momentum, mass):
        products = self.laws.get(mass)
        if products is None:
            return [momentum]
        first_block = 1 + 129 * self.count
        self.count += 1
        words = self.sample.block("scene", first_block)
        if len(products) == 2:
            parts = two_bodies(momentum, mass, *products, words[0], words[1])
        else:
            pair = self.pair(first_block + 1, mass, *products)
            first, rest = two_bodies(momentum, mass, products[0], pair, words[0], words[1])
            parts = (first, *two_bodies(rest, pair, *products[1:], words[2], words[3]))
        return [final for part, m in zip(parts, products) for final in self.of(part, m)]

    def pair(self, block, mass, m1, m2, m3):
        def density(first, last):
            roots = triangle(mass**2, m1**2, first**2), triangle(last**2, m2**2, m3**2)
            return np.sqrt(max(roots[0], 0)) / (2 * mass) * np.sqrt(max(roots[1], 0)) / (2 * last)

        low, high = m2 + m3, mass - m1
        for turn in range(128):
            words = self.sample.block("scene", block + turn)
            pair = low + (high - low) * float(unit(words[0]))
            if float(unit(words[1])) * density(low, high) < density(pair, pair):
                break
        return pair


class Rambo(TruthTest):
    def test_decays(self):
        # Two bodies and their decays use double precision on both sides, and azimuths are off by 2 ULP.
        cases = {
            "top_pair_decays": (172.5, 500, {172.5: (4.78, 80.377), 80.377: (0, 0)}),
            "tau_pair": (1.77686, 91.1876, {1.77686: (0.105658, 0, 0)}),
        }
        for preset, (mass, energy, laws) in cases.items():
            for seed, first in ((0, 0), (5, 2**40)):
                made = self.samples("rambo", 20, f"preset={preset}", seed=seed, first=first)
                for k in range(20):
                    sample = Sample(named_key(seed, "rambo"), first + k)
                    w = f32(energy)
                    momenta, gamma = massless(sample, 0, 2, w)
                    momenta, weight, _ = massive(momenta, np.array([mass, mass]), w)
                    decays = Decays(sample, laws)
                    finals = np.array([final for body in momenta for final in decays.of(body, mass)])
                    rows = made["x"][made["offsets"][k] : made["offsets"][k + 1]].astype(np.float64)
                    self.assertEqual(rows.shape, finals.shape)
                    # Errors of the mother's momentum (as in `event`) plus errors of the azimuth in each generation.
                    self.assertLess(np.max(np.abs(rows - finals)), (2 * gamma + 8) * 2 * ULP * w)
                    self.assertLess(abs(made["weight"][k] - weight), 4 * ULP)

    def event(self, sample, bodies, energy, masses, unweight):
        """Momenta, their tolerances, and the weight W of the accepted try."""
        for tries in range(10000):
            momenta, gamma = massless(sample, tries, bodies, energy)
            momenta, weight, bound = massive(momenta, masses, energy)
            if not unweight or unit(sample.block("noise", tries)[0]) < np.float32(weight / bound):
                break
        return momenta, 2 * ULP * gamma * energy, weight

    def compare(self, count, *settings, bodies=(4, 4), energy=(500, 500), masses=(), unweight=False, gev=1):
        for seed, first in ((0, 0), (20240607, 2**32 + 11)):
            made = self.samples("rambo", count, *settings, seed=seed, first=first)
            low, high = f32(energy)
            for k in range(count):
                sample = Sample(named_key(seed, "rambo"), first + k)
                words = sample.words("scene", 2)
                n = bodies[0] + int(below(words[0], bodies[1] - bodies[0] + 1))
                w = min(f32(unit(words[1]).astype(np.float64) * f32(high - low) + low), high)
                m = np.zeros(n)
                m[: len(masses)] = f32(masses)[:n]
                momenta, tolerance, weight = self.event(sample, n, w, m, unweight)
                rows = made["x"][made["offsets"][k] : made["offsets"][k + 1]].astype(np.float64) * f32(gev)
                self.assertEqual(rows.shape, (n, 4))
                self.assertLess(np.max(np.abs(rows - momenta)) / tolerance, 1)
                self.assertEqual(made["label"][k], n - bodies[0])
                np.testing.assert_array_equal(made["latents"][k, :2], np.float32([w, n]))
                # The root is limited by f64 and by the differences of q.
                self.assertLess(abs(made["latents"][k, 2] - np.log(weight)), 4 * ULP * (1 + abs(np.log(weight))))
                self.assertLess(abs(made["weight"][k] - (1 if unweight else weight)), 4 * ULP)

    def test_default(self):
        self.compare(30)

    def test_numbers_of_bodies_and_energies(self):
        settings = ("bodies_low=2", "bodies_high=8", "energy_low=1", "energy_high=100")
        self.compare(40, *settings, bodies=(2, 8), energy=(1, 100))

    def test_masses(self):
        settings = ("bodies_low=2", "bodies_high=5", "masses=[1,2,3]", "energy_low=7", "energy_high=20")
        options = {"bodies": (2, 5), "masses": (1, 2, 3), "energy": (7, 20)}
        self.compare(30, *settings, "unit=0.001", gev=0.001, **options)
        self.compare(20, *settings, "weights=unweight", unweight=True, **options)

    def test_presets(self):
        self.compare(10, "preset=top_pair", bodies=(2, 2), masses=(172.5, 172.5))
        masses, energy = (0.493677, 0.13957, 0.13957), (1.86966, 1.86966)
        self.compare(20, "preset=d_to_k_pi_pi", bodies=(3, 3), masses=masses, energy=energy, unweight=True)

    def test_the_last_try_is_kept(self):
        # Eight bodies with only a hundredth of the energy left: just one try in 10^9 would be accepted.
        settings = ("bodies_low=8", "bodies_high=8", "masses=[1,1,1,1,1,1,1,1]", "weights=unweight")
        made = self.samples("rambo", 1, *settings, "energy_low=8.09", "energy_high=8.09")
        w = f32(8.09)
        momenta, gamma = massless(Sample(named_key(0, "rambo"), 0), 9999, 8, w)
        momenta, _, _ = massive(momenta, np.ones(8), w)
        self.assertLess(np.max(np.abs(made["x"] - momenta)), 2 * ULP * gamma * w)

    def test_published_distributions(self):
        # Kolmogorov-Smirnov test of one body per event: 2 E / w follows Beta(2, n - 2).
        for n in (3, 4, 7):
            made = self.samples("rambo", 4000, f"bodies_low={n}", f"bodies_high={n}", seed=n)
            share = made["x"][made["offsets"][:-1], 0] / 250
            self.assertGreater(kstest(share, beta(2, n - 2).cdf).pvalue, 1e-7)
        # Two bodies have weight sqrt(lambda) / s. The mean weight of three is the area of the Dalitz plot.
        made = self.samples("rambo", 20, "preset=top_pair", seed=8)
        np.testing.assert_allclose(made["weight"], np.sqrt(1 - (345 / 500) ** 2), rtol=2 * ULP)
        made = self.samples("rambo", 4000, "preset=d_to_k_pi_pi", "weights=keep", seed=9)
        m1, m2, m3, w = 0.493677, 0.13957, 0.13957, 1.86966
        area = quad(
            lambda s: np.sqrt(triangle(s, m1**2, m2**2) * triangle(w**2, s, m3**2)) / s, (m1 + m2) ** 2, (w - m3) ** 2
        )[0]
        weight = made["weight"].astype(np.float64)
        self.assertLess(abs(weight.mean() - area / (w**4 / 2)), 5.5 * weight.std() / np.sqrt(4000))


def triangle(a, b, c):
    return a * a + b * b + c * c - 2 * (a * b + a * c + b * c)
