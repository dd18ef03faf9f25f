"""spectrum: labels, latents and images rebuilt from docs/generators/algorithms/spectrum.md in double precision."""

import numpy as np

from truth import Sample, TruthTest, below, named_key, normal, unit

DEFAULTS = {
    "slope_low": 0.5, "slope_high": 3.5, "slope_cells": 6, "tilt": 0.05, "tilt_cells": 2, "palette": "correlated",
}
ULP = 2.0**-24


def amplitudes(n, s, d):
    """m at all N^2 frequencies, [ky mod N, kx mod N]"""
    k = np.abs(np.fft.fftfreq(n))
    with np.errstate(divide="ignore"):
        m = 1 / (k[None, :] ** (s + d) + k[:, None] ** (s - d))
    m[0, 0] = 0
    return m / np.sqrt((m**2).sum())


def fields(sample, n, s, d):
    """F0, F1, F2: [3, N, N]"""
    kx, ky = np.arange(n // 2 + 1), np.arange(-n // 2 + 1, n // 2 + 1)
    words = np.array(sample.block("texture", (kx << 16) + (ky[:, None] & 0xFFFF))[:3])
    m = amplitudes(n, s, d)[ky[:, None], kx]
    drawn = m * np.exp(2j * np.pi * unit(words).astype(np.float64))
    real = np.where(words >> np.uint32(31), -m, m)
    spectrum = np.zeros((3, n, n), complex)
    spectrum[:, ky[:, None] % n, kx] = drawn
    for column in (0, n // 2):
        rows = np.arange(1, n // 2)
        spectrum[:, n - rows, column] = np.conj(spectrum[:, rows, column])
        for row in (0, n // 2):
            spectrum[:, row, column] = real[:, list(ky).index(row), column]
    rows, columns = np.mgrid[:n, 1 : n // 2]
    spectrum[:, -rows % n, n - columns] = np.conj(spectrum[:, rows, columns])
    made = np.fft.ifft2(spectrum) * n**2
    assert np.abs(made.imag).max() < 1e-9
    return made.real


def rebuild(number, seed, size, settings):
    """-> label, latents, image before clamping, tolerance of the image"""
    p = {**DEFAULTS, **settings}
    sample = Sample(named_key(seed, "spectrum"), number)
    label = int(below(sample.words("label", 1)[0], p["slope_cells"] * p["tilt_cells"]))
    slope, tilt = divmod(label, p["tilt_cells"])
    w = sample.words("scene", 4)
    s = p["slope_low"] + (p["slope_high"] - p["slope_low"]) * (slope + float(unit(w[0]))) / p["slope_cells"]
    d = p["tilt"] * float(normal(w[1], w[2])[0])
    if p["tilt_cells"] == 2:
        d = abs(d) if tilt else -abs(d)
    n = 16
    while n < min(size, 1024):
        n *= 2
    f = np.moveaxis(fields(sample, n, s, d), 0, -1)[:size, :size]
    # A field is exact to 10^-6 (documented), plus 4 ln(1024) ulps for powers with rounded exponents up to 4.
    error = 1e-6 + 4 * np.log(1024) * ULP * np.abs(f).max()
    if p["palette"] == "correlated":
        count = 3 + int(below(w[3], 20))
        colours = unit(sample.words("colour", 3 * count)).astype(np.float64).reshape(count, 3)
        root = np.linalg.cholesky(np.cov(colours.T, bias=True))
        f = colours.mean(axis=0) + f @ root.T
        # The root of a covariance, which rounding changes by about 8 ulps of its entries (at most 1/4).
        error += 8 * ULP / 4 / np.diag(root).min() * np.abs(f).max()
    elif p["palette"] == "grey":
        f = f[..., [0, 0, 0]]
    span = f.max() - f.min()
    return label, (s, d), (f - f.min()) / span, 2 * error / span + 4 * ULP


class Spectrum(TruthTest):
    def compare(self, count, seed=0, first=0, size=32, **values):
        settings = [f"{name}={value}" for name, value in values.items()]
        made = self.samples("spectrum", count, *settings, seed=seed, first=first, size=size)
        for row in range(count):
            label, latents, image, tolerance = rebuild(first + row, seed, size, values)
            self.assertEqual(made["label"][row], label)
            # A few operations, and for the tilt a logarithm, root and cosine: 8 ulps of the largest value, 4.
            np.testing.assert_allclose(made["latents"][row], latents, rtol=0, atol=32 * ULP)
            self.assertLess(np.abs(made["x"][row] - image).max(), tolerance)
            self.assertLess(tolerance, 1e-4)

    def test_the_defaults(self):
        self.compare(8, size=64)
        self.compare(4, seed=2**62 + 5, first=2**32 + 7, size=33)

    def test_small_and_odd_sizes(self):
        for size in (9, 16, 17, 127):
            self.compare(2, seed=6, first=2**33, size=size)

    def test_the_other_palettes(self):
        self.compare(2, palette="independent")
        self.compare(2, palette="grey", seed=1, size=25)

    def test_other_cells(self):
        self.compare(6, slope_low=1, slope_high=4, slope_cells=5, tilt=0.17, tilt_cells=1)
        self.compare(1, slope_low=0, slope_high=0.1, slope_cells=1, tilt=0, tilt_cells=1)
