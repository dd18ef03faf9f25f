"""xy: whole Markov chains, rebuilt sweep by sweep in double precision, and the exact energy of 16 spins.

The program works in single precision. A spin is off by about 2^-22 unless its field is small, and over-relaxation
sweeps amplify the error (docs/generators/algorithms/xy.md), so the rebuilt chains are short. A draw is decided
differently about once in 10^6; these chains have about 2 * 10^4 draws, and all agree.
"""

import itertools

import numpy as np
from scipy.special import iv

from spins import SpinTest, shown, side_for
from truth import Sample, below, f32, named_key, unit

CRITICAL = 0.8929
TURN = 2 * np.pi


class Chain:
    """The angles [side, side] of one sample."""

    def __init__(self, sample, side, temperature, coupling, start):
        self.sample, self.side, self.temperature, self.coupling = sample, side, temperature, coupling
        row, column = np.indices((side, side))
        self.colour = (row + column) % 2
        self.number = self.colour * side * side // 2 + row * (side // 2) + column // 2
        self.angle = np.full((side, side), unit(sample.words("scene", 3)[2]) * TURN)
        if start == "hot":
            words = np.array(sample.block("init", self.number // 4))
            words = np.take_along_axis(words, self.number[None] % 4, 0)[0]
            self.angle = unit(words).astype(np.float64) * TURN

    def field(self):
        spin = np.exp(1j * self.angle)
        return sum(
            weight * np.roll(spin, by, axis) for axis, weight in ((1, 1.0), (0, self.coupling)) for by in (-1, 1)
        )

    def heat_bath(self, number):
        for colour in (0, 1):
            field = self.field()
            kappa = np.abs(field) / self.temperature
            # Best and Fisher, Appl. Stat. 28 (1979) 152.
            tau = 1 + np.sqrt(1 + 4 * kappa**2)
            rho = (tau - np.sqrt(2 * tau)) / (2 * kappa)
            r = (1 + rho**2) / (2 * rho)
            first = 2 * (number * self.side**2 + self.number)
            words = [word for block in (0, 1) for word in self.sample.block("noise", first + block)]
            left = self.colour == colour
            for t in range(4):
                turns, u = (unit(word).astype(np.float64) for word in words[2 * t : 2 * t + 2])
                z = np.cos(TURN * turns)
                f, c = (1 + r * z) / (r + z), kappa * (r - (1 + r * z) / (r + z))
                taken = left & (u < c * np.exp(1 - c))
                to = np.where(turns < 0.5, 1, -1) * np.arccos(np.clip(f, -1, 1))
                self.angle = np.where(taken, np.angle(field) + to, self.angle)
                left = left & ~taken

    def over_relax(self):
        for colour in (0, 1):
            mirrored = 2 * np.angle(self.field()) - self.angle
            self.angle = np.where(self.colour == colour, mirrored, self.angle)


def hue(angle):
    sextant = 6 * ((angle / TURN) % 1)[..., None]
    return np.clip(np.concatenate(
        (np.abs(sextant - 3) - 1, 2 - np.abs(sextant - 2), 2 - np.abs(sextant - 4)), axis=-1), 0, 1)


def torus(beta, most=4):
    """log Z and <W^2> of 4 x 4 spins: the sum over integer currents without sources, where a bond with current n has
    the weight I_n(beta). W is the current through a row. Rows of vertical currents are the states of a transfer
    matrix."""
    bond = iv(np.abs(np.arange(-40, 41)), beta)
    states = np.array(list(itertools.product(range(-most, most + 1), repeat=4)))
    z = squares = 0
    for through in range(0, 6):
        rows = states[states.sum(axis=1) == through]
        weight = np.prod(bond[rows + 40], axis=1)
        rows, weight = rows[weight > 1e-10], weight[weight > 1e-10]
        steps = np.cumsum(rows[:, None] - rows[None], axis=2)[:, :, :3]
        matrix = sum(
            bond[m + 40] * np.prod(bond[np.clip(m + steps, -40, 40) + 40], axis=2) for m in range(-most, most + 1))
        matrix *= np.sqrt(np.outer(weight, weight))
        square = matrix @ matrix
        of_these = (1 if through == 0 else 2) * np.sum(square * square.T)
        z += of_these
        squares += of_these * through**2
    return np.log(z), squares / z


class Xy(SpinTest):
    def compare(self, count, size, *settings, seed=0, first=0, side=0, low=0.4, high=1.4, bins=0, start="cold",
                coupling=1, mirrors=-1, rounds=4, vector=False):
        made = self.samples("xy", count, *settings, f"rounds={rounds}", seed=seed, first=first, size=size)
        side = side or side_for(size)
        most = mirrors if mirrors >= 0 else side // 4
        for k in range(count):
            sample = Sample(named_key(seed, "xy"), first + k)
            words = sample.words("scene", 3)
            temperature = self.temperature(made, k, words, CRITICAL, low, high, bins)
            chain = Chain(sample, side, temperature, f32(coupling), start)
            for r in range(rounds):
                chain.heat_bath(r)
                for _ in range(int(below(r * 0x9E3779B9 % 2**32, most + 1))):
                    chain.over_relax()
            angle = chain.angle
            seen = shown(angle, size)
            picture = hue(seen)
            if vector:
                picture = np.stack((0.5 + 0.5 * np.cos(seen), 0.5 + 0.5 * np.sin(seen), 0 * seen + 0.5), axis=-1)
            np.testing.assert_allclose(made["x"][k], picture, atol=3e-3)
            across, down = np.roll(angle, -1, 1) - angle, np.roll(angle, -1, 0) - angle
            bonds = np.sum(np.cos(across) + coupling * np.cos(down))
            sines = np.sum(np.sin(across)) ** 2 + np.sum(coupling * np.sin(down)) ** 2
            a, d = ((gap + np.pi) % TURN - np.pi for gap in (across, down))
            winding = np.rint((a + np.roll(d, -1, 1) - np.roll(a, -1, 0) - d) / TURN).astype(int)
            self.assertEqual(winding.sum(), 0)
            expected = [-bonds, np.abs(np.exp(1j * angle).sum()), 0.5 * (bonds - sines / temperature)]
            np.testing.assert_allclose(made["latents"][k, 1:4] * side**2, expected, atol=2e-4 * side**2)
            self.assertEqual(round(float(made["latents"][k, 4]) * side**2), np.maximum(winding, 0).sum())

    def test_chains(self):
        self.compare(3, 32, rounds=2)
        self.compare(3, 33, "mirrors=2", mirrors=2, seed=20240607, first=2**32 + 11)
        self.compare(2, 3, seed=3, rounds=9)

    def test_window_repetition_and_vectors(self):
        self.compare(1, 16, "side=38", "mirrors=2", side=38, mirrors=2, seed=4)
        self.compare(2, 41, "side=6", "colour=vector", side=6, vector=True, seed=5)

    def test_hot_start_and_coupling(self):
        self.compare(3, 20, "start=hot", "mirrors=0", start="hot", mirrors=0, seed=6)
        settings = ("label=temperature", "bins=5", "t_low=0.1", "t_high=3", "coupling=0.3", "start=hot")
        self.compare(6, 12, *settings, bins=5, low=0.1, high=3, coupling=0.3, start="hot", rounds=3, seed=9)

    def test_sixteen_spins(self):
        # Values at beta = 1 / 0.9, 1 / 1.2 and 1 / 2, to check the sum over currents.
        known = {0.9: (-1.493330, 0.713098), 1.2: (-1.221288, 0.512700), 2.0: (-0.607409, 0.107426)}
        h = 1e-3
        grid = {}
        for t, (energy, helicity) in known.items():
            values = [torus(1 / t + k * h)[0] for k in (-2, -1, 1, 2)]
            slope = (8 * (values[2] - values[1]) - (values[3] - values[0])) / (12 * h)
            self.assertAlmostEqual(-slope / 16, energy, delta=2e-6)
            self.assertAlmostEqual(t * torus(1 / t)[1], helicity, delta=2e-6)
            grid[t] = energy
        # Temperatures are between 1.15 and 1.25, where the energy is nearly linear.
        made = self.samples("xy", 6000, "t_low=1.15", "t_high=1.25", "label=temperature", "bins=1", seed=10, size=4)
        temperature, energy = made["latents"][:, 0].astype(np.float64), made["latents"][:, 1].astype(np.float64)
        slope = (energy_of(1.25) - energy_of(1.15)) / 0.1
        off = energy - (grid[1.2] + slope * (temperature - 1.2))
        # With this many samples, the mean is normal, and off by over 5 standard deviations once in 10^6. The curvature
        # of the energy contributes less than 0.0003.
        self.assertLess(abs(off.mean()), 5 * off.std() / np.sqrt(len(off)) + 3e-4)

    def test_chains_at_one_temperature(self):
        # Without vertical bonds, each row is a chain, with an energy of -I1(1 / T) / I0(1 / T) per spin. The periodic
        # boundary changes it by (I1 / I0)^32 < 10^-7.
        settings = ("coupling=0", "label=temperature", "bins=1", "t_low=0.8", "t_high=0.8")
        made = self.samples("xy", 400, *settings, seed=11, size=32)
        np.testing.assert_array_equal(made["latents"][:, 0], np.float32(0.8))
        angle = (np.arange(10000) + 0.5) * np.pi / 10000
        weight = np.exp(np.cos(angle) / 0.8)
        energy = made["latents"][:, 1].astype(np.float64)
        # 5.5 standard deviations are exceeded once in 2 * 10^7.
        off = energy.mean() + np.sum(weight * np.cos(angle)) / np.sum(weight)
        self.assertLess(abs(off), 5.5 * energy.std() / np.sqrt(len(energy)))


def energy_of(t, h=1e-3):
    return -(torus(1 / t + h, 3)[0] - torus(1 / t - h, 3)[0]) / (2 * h) / 16
