"""ising: whole Markov chains, rebuilt update by update.

All values are integers except the temperature and the probabilities derived from it. If an exponential differs in the
last place (2^-24), a probability moves by the same amount, which changes one draw in about 10^7. These chains have
about 10^6 draws in total, so at most one draw should change; in fact, none does.
"""

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from spins import SpinTest, shown, side_for
from truth import Sample, f32, named_key

CRITICAL = 2.2691853
BITS = np.arange(32, dtype=np.uint32)


def bits(words):
    """[..., 32]: the bits of words."""
    return ((np.asarray(words, np.uint32)[..., None] >> BITS) & np.uint32(1)).astype(np.int64)


class Chain:
    """The spins [words, 32] of one sample (True: up) and their updates."""

    def __init__(self, sample, side, temperature, start):
        self.sample, self.side = sample, side
        self.across = (side + 31) // 32
        self.n = side * self.across
        x, y = np.meshgrid(np.arange(side), np.arange(side))
        self.site = 32 * (y * self.across + x // 32) + x % 32
        two, four, eight = (f32(np.exp(f32(-k / np.float32(temperature)))) for k in (2, 4, 8))
        self.bond, self.four, self.eight = (int(chance * 2**32) for chance in (f32(1 - two), four, eight))
        self.up = np.ones((side, side), bool)
        if start == "hot":
            self.up = self.lattice(bits(self.of_four("init", 0)) == 1)

    def lattice(self, lanes):
        return lanes.reshape(-1)[self.site]

    def lanes(self, lattice):
        out = np.zeros(self.n * 32, lattice.dtype)
        out[self.site] = lattice
        return out.reshape(self.n, 32)

    def of_four(self, purpose, first):
        """Word w mod 4 of block first + w div 4, for each word w."""
        return np.array(self.sample.block(purpose, first + np.arange((self.n + 3) // 4))).T.reshape(-1)[: self.n]

    def draw(self, purpose, start, lanes, chance):
        """u < chance, for each word and lane of the set."""
        blocks = np.array(self.sample.block(purpose, 3 * start + np.arange(3)[:, None])).swapaxes(0, 1)
        high = (bits(blocks[:2].reshape(8, self.n)) << np.arange(7, -1, -1)[:, None, None]).sum(axis=0)
        chance = np.broadcast_to(chance, high.shape)
        is_open = lanes & (high == chance >> 24)
        rank = (np.cumsum(is_open, axis=1) - 1) % 4
        rest = np.take_along_axis(blocks[2].astype(np.int64).T >> 8, rank, axis=1)
        return lanes & ((high < chance >> 24) | (is_open & (rest < (chance & 0xFFFFFF))))

    def cluster_update(self, c):
        words = 2 * (c * self.n + np.arange(self.n))
        bonds = []
        for k, axis in ((0, 1), (1, 0)):
            equal = self.lanes(self.up == np.roll(self.up, -1, axis))
            bound = self.lattice(self.draw("texture", words + k, equal, self.bond))
            bonds.append(np.array([self.site[bound], np.roll(self.site, -1, axis)[bound]]))
        ends = np.concatenate(bonds, axis=1)
        count = 32 * self.n
        labels = connected_components(coo_matrix((np.ones(ends.shape[1]), ends), (count, count)), directed=False)[1]
        greatest = np.zeros(count, np.int64)
        greatest[labels] = np.arange(count)  # the last assignment wins
        turned = bits(self.of_four("order", c * ((self.n + 3) // 4))).reshape(-1)[greatest[labels]]
        self.up ^= turned[self.site] == 1

    def sweep(self, m):
        colours = np.add.outer(np.arange(self.side), np.arange(self.side)) % 2
        for colour in (0, 1):
            s = 2 * self.up.astype(np.int64) - 1
            cost = 2 * s * sum(np.roll(s, by, axis) for by in (-1, 1) for axis in (0, 1))
            costs = (colours == colour) & (cost > 0)
            chance = np.where(self.lanes(cost) == 4, self.four, self.eight)
            start = 2 * (m * self.n + np.arange(self.n)) + colour
            turned = self.lattice(self.draw("noise", start, self.lanes(costs), chance))
            self.up ^= turned | ((colours == colour) & (cost <= 0))


class Ising(SpinTest):
    def compare(self, count, size, *settings, seed=0, first=0, side=0, low=1.5, high=3.5, bins=0, start="cold", **how):
        made = self.samples("ising", count, *settings, seed=seed, first=first, size=size)
        rounds, clusters, sweeps = how.get("rounds", 24), how.get("clusters", 1), how.get("sweeps", 1)
        side = side or side_for(size)
        for k in range(count):
            sample = Sample(named_key(seed, "ising"), first + k)
            words = sample.words("scene", 2)
            temperature = self.temperature(made, k, words, CRITICAL, low, high, bins)
            chain = Chain(sample, side, temperature, start)
            for r in range(rounds):
                for c in range(clusters):
                    chain.cluster_update(r * clusters + c)
                for m in range(sweeps):
                    chain.sweep(r * sweeps + m)
            picture = np.repeat(shown(chain.up, size)[..., None], 3, axis=2)
            np.testing.assert_array_equal(made["x"][k], picture)
            s = 2 * chain.up.astype(np.int64) - 1
            energy = -np.sum(s * (np.roll(s, 1, 0) + np.roll(s, 1, 1))) / side**2
            # Each value is rounded once; sums are integers.
            np.testing.assert_allclose(made["latents"][k, 1:], [energy, s.mean()], rtol=2.0**-23)

    def test_default(self):
        self.compare(1, 64)
        self.compare(2, 33, seed=20240607, first=2**32 + 11)
        self.compare(2, 3, seed=3)

    def test_window_and_repetition(self):
        self.compare(1, 16, "side=70", "rounds=3", side=70, rounds=3, seed=4)
        self.compare(2, 41, "side=6", "rounds=9", side=6, rounds=9, seed=5)

    def test_hot_start_and_sweeps_alone(self):
        self.compare(3, 20, "start=hot", "rounds=2", start="hot", rounds=2, seed=6)
        self.compare(3, 20, "start=hot", "rounds=3", "clusters=0", start="hot", rounds=3, clusters=0, seed=7)
        self.compare(3, 20, "start=hot", "rounds=1", "clusters=0", "sweeps=0", start="hot", clusters=0, sweeps=0)
        self.compare(2, 20, "clusters=3", "sweeps=0", "rounds=4", clusters=3, sweeps=0, rounds=4, seed=8)

    def test_temperatures(self):
        settings = ("label=temperature", "bins=5", "t_low=0.6", "t_high=15", "rounds=3", "clusters=2", "sweeps=3")
        self.compare(6, 12, *settings, bins=5, low=0.6, high=15, rounds=3, clusters=2, sweeps=3, seed=9)

    def test_exact_distribution_of_16_spins(self):
        # Averages energy and |magnetisation| over all states of 4 x 4 spins at each sample's temperature.
        states = np.arange(2**16)
        s = (2 * ((states[:, None] >> np.arange(16)) & 1) - 1).reshape(-1, 4, 4)
        energy = -(s * (np.roll(s, 1, 1) + np.roll(s, 1, 2))).sum(axis=(1, 2))
        size = np.abs(s.sum(axis=(1, 2)))
        levels, where = np.unique(energy, return_inverse=True)
        moments = np.array([np.bincount(where, size**k) for k in (0, 1, 2)])
        made = self.samples("ising", 10000, "rounds=12", seed=10, size=4)
        temperature, measured, magnetisation = made["latents"].T.astype(np.float64)
        weight = moments[0] * np.exp(-(levels + 32) / temperature[:, None])
        weight /= weight.sum(axis=1, keepdims=True)
        for value, first, second in (
            (16 * measured, weight @ levels, weight @ levels**2),
            (16 * np.abs(magnetisation), weight @ (moments[1] / moments[0]), weight @ (moments[2] / moments[0])),
        ):
            # With this many samples, the mean is normal; 5.5 standard deviations are exceeded once in 2 * 10^7.
            self.assertLess(abs(np.sum(value - first)), 5.5 * np.sqrt(np.sum(second - first**2)))
        # Up must be as likely as down.
        self.assertLess(abs(magnetisation.sum()), 5.5 * np.sqrt(np.sum(magnetisation**2)))

    def test_energy_at_one_temperature(self):
        # Onsager's energy of the infinite lattice (Phys. Rev. 65 (1944) 117). At T = 3 the correlation length is about
        # two spins, so 64 spins per side differ by less than exp(-30).
        temperature = 3.0
        made = self.samples("ising", 500, "label=temperature", "bins=1", "t_low=3", "t_high=3", seed=11, size=64)
        self.assertEqual(made["metadata"]["sources"][0]["classes"], ["T 3"])
        np.testing.assert_array_equal(made["latents"][:, 0], temperature)
        energy = made["latents"][:, 1].astype(np.float64)
        # 5.5 standard deviations are exceeded once in 2 * 10^7.
        self.assertLess(abs(energy.mean() - onsager(temperature)), 5.5 * energy.std() / np.sqrt(len(energy)))


def onsager(temperature):
    """Energy per spin; the complete elliptic integral comes from the arithmetic-geometric mean."""
    k = 2 / temperature
    modulus = 2 * np.sinh(k) / np.cosh(k) ** 2
    a, b = 1.0, np.sqrt((1 - modulus) * (1 + modulus))
    for _ in range(40):
        a, b = (a + b) / 2, np.sqrt(a * b)
    return -(1 + (2 * np.tanh(k) ** 2 - 1) / a) / np.tanh(k)
