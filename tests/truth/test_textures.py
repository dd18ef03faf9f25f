"""textures: labels, latents and images rebuilt from docs/generators/algorithms/textures.md in double precision."""

import numpy as np

from truth import Sample, TruthTest, below, named_key, uniform, unit

KINDS = ["perlin", "simplex", "worley_f1", "worley_f2", "worley_edges"]
MEAN = np.array([0, 0, 0.4221, 0.6993, 0.2771])
DEVIATION = np.array([0.30506114, 0.53901, 0.1834, 0.1674, 0.2028])
# The steepest slope of each noise per cell (largest differences of 200,000 points: 2.9, 7.3, 1, 1, 2).
SLOPE = np.array([4, 8, 1, 1, 2])
DEFAULTS = {
    "kind": "any", "frequency_low": 2, "frequency_high": 16, "scale_cells": 2, "octaves_low": 1, "octaves_high": 6,
    "octave_cells": 2, "warp_low": 0, "warp_high": 1, "warp_cells": 2, "gain_low": 0.4, "gain_high": 0.65,
    "lacunarity_low": 1.8, "lacunarity_high": 2.2, "palette": "colour",
}
PERLIN_FBM = {
    "kind": "perlin", "octaves_low": 6, "octave_cells": 1, "warp_high": 0, "warp_cells": 1, "gain_low": 0.5,
    "gain_high": 0.5, "lacunarity_low": 2, "lacunarity_high": 2,
}
WORLEY_1996 = {"kind": "worley_f1", "octaves_high": 1, "octave_cells": 1, "warp_high": 0, "warp_cells": 1}
ULP = 2.0**-24


def word32(value):
    return np.asarray(value, np.int64).astype(np.uint32)


def mix(h):
    h = h ^ (h >> np.uint32(16))
    h = h * np.uint32(0x85EBCA6B)
    h = h ^ (h >> np.uint32(13))
    h = h * np.uint32(0xC2B2AE35)
    return h ^ (h >> np.uint32(16))


def key_of(key, number):
    return [mix(word + np.array([number], np.uint32)) for word in key]


def lattice_hash(i, j, key):
    return mix((mix(word32(i) ^ key[0]) + word32(j)) ^ key[1])


def along_gradient(bits, dx, dy):
    cosine, sine = np.cos(np.pi / 8), np.sin(np.pi / 8)
    gx, gy = np.where(bits & 1, sine, cosine), np.where(bits & 1, cosine, sine)
    return np.where(bits & 2, -gx, gx) * dx + np.where(bits & 4, -gy, gy) * dy


def perlin(key, x, y, shift=0):
    def fade(t):
        return t**3 * (10 - 15 * t + 6 * t**2)

    i, j = np.floor(x), np.floor(y)
    corners = [
        [along_gradient(lattice_hash(i + a, j + b, key) >> np.uint32(shift), x - i - a, y - j - b) for a in (0, 1)]
        for b in (0, 1)
    ]
    rows = [row[0] + fade(x - i) * (row[1] - row[0]) for row in corners]
    return np.sqrt(2) * (rows[0] + fade(y - j) * (rows[1] - rows[0]))


def simplex(key, x, y):
    skew, back = (np.sqrt(3) - 1) / 2, (3 - np.sqrt(3)) / 6
    i, j = np.floor(x + (x + y) * skew), np.floor(y + (x + y) * skew)
    total = 0
    dx, dy = x - i + (i + j) * back, y - j + (i + j) * back
    right = dx > dy  # the triangle with corner (i + 1, j)
    for a, b in ((0, 0), (np.where(right, 1, 0), np.where(right, 0, 1)), (1, 1)):
        ex, ey = dx - a + (a + b) * back, dy - b + (a + b) * back
        near = np.maximum(0, 0.5 - ex**2 - ey**2) ** 4
        total = total + near * along_gradient(lattice_hash(i + a, j + b, key), ex, ey)
    return 99.204 * total


def worley(key, x, y):
    i, j = np.floor(x), np.floor(y)
    # Tests all 5 x 5 cells, more than the documented 4 x 4.
    a, b = np.meshgrid(np.arange(-2, 3), np.arange(-2, 3))
    i, j = i[..., None] + a.ravel(), j[..., None] + b.ravel()
    h = lattice_hash(i, j, key)
    dx = i + 0.05 + 0.9 * (h & np.uint32(0xFFFF)) / 65536 - x[..., None]
    dy = j + 0.05 + 0.9 * (h >> np.uint32(16)) / 65536 - y[..., None]
    nearest = np.sqrt(np.partition(dx**2 + dy**2, 1, axis=-1)[..., :2])
    return nearest[..., 0], nearest[..., 1]


def noise(kind, key, x, y):
    if kind == 0:
        return perlin(key, x, y)
    if kind == 1:
        return simplex(key, x, y)
    first, second = worley(key, x, y)
    return (first, second, second - first)[kind - 2]


def rebuild(number, seed, size, settings):
    """-> label, latents, image, tolerance of the image"""
    p = {**DEFAULTS, **settings}
    sample = Sample(named_key(seed, "textures"), number)
    kinds = range(5) if p["kind"] == "any" else [KINDS.index(p["kind"])]
    cells = (len(kinds), p["scale_cells"], p["octave_cells"], p["warp_cells"])
    label = int(below(sample.words("label", 1)[0], np.prod(cells)))
    kind, scale, octaves, warp = (int(place) for place in np.unravel_index(label, cells))
    kind = kinds[kind]
    w = sample.words("scene", 10)
    u = unit(w).astype(np.float64)
    ratio = p["frequency_high"] / p["frequency_low"]
    f = p["frequency_low"] * ratio ** ((scale + u[2]) / p["scale_cells"])
    ends = [
        p["octaves_low"] + cell * (p["octaves_high"] - p["octaves_low"] + 1) // p["octave_cells"]
        for cell in (octaves, octaves + 1)
    ]
    n = ends[0] + int(below(w[3], ends[1] - ends[0]))
    g = float(uniform(w[4], p["gain_low"], p["gain_high"]))
    lacunarity = float(uniform(w[5], p["lacunarity_low"], p["lacunarity_high"]))
    warp = p["warp_low"] + (p["warp_high"] - p["warp_low"]) * (warp + u[6]) / p["warp_cells"]
    if p["palette"] == "grey":
        colours = np.repeat(np.arange(4) / 3, 3).reshape(4, 3)
    else:
        colours = unit(sample.words("colour", 12)).astype(np.float64).reshape(4, 3)
    latents = np.concatenate([[kind, 1 / f, n, g, lacunarity, warp, 2 * np.pi * u[7]], colours.ravel()])

    c, s = np.cos(2 * np.pi * u[7]) * f / size, np.sin(2 * np.pi * u[7]) * f / size
    y, x = np.mgrid[:size, :size] + 0.5
    x, y = c * x - s * y + u[8], s * x + c * y + u[9]
    error = 8 * ULP * max(np.abs(x).max(), np.abs(y).max())
    if warp > 0:
        key = key_of(w[:2], 8)
        a, b = perlin(key, x / 2, y / 2), perlin(key, x / 2, y / 2, shift=3)
        error += warp * SLOPE[0] * error / 2 + 16 * ULP * warp
        x, y = x + warp * a, y + warp * b
    v, wrong = 0, 0
    for o in range(n):
        seen = 1 if o == 0 else np.clip(size / (f * lacunarity**o) - 1, 0, 1)
        if seen > 0:
            v = v + g**o * seen * (noise(kind, key_of(w[:2], o), x, y) - MEAN[kind])
            wrong += g**o * seen * (SLOPE[kind] * error + 16 * ULP)
        x, y = lacunarity * (0.8 * x - 0.6 * y) + 0.3125, lacunarity * (0.6 * x + 0.8 * y) + 0.6875
        error = 1.4 * lacunarity * error + 4 * ULP * max(np.abs(x).max(), np.abs(y).max())
    steep = 0.2 / (DEVIATION[kind] * np.sqrt(sum(g ** (2 * o) for o in range(n))))
    q = np.clip(0.5 + steep * v, 0, 1) * 3
    part = np.minimum(np.floor(q), 2).astype(int)
    image = colours[part] + (q - part)[..., None] * (colours[part + 1] - colours[part])
    return label, latents, image, 3 * steep * wrong + 8 * ULP


class Textures(TruthTest):
    def compare(self, count, *settings, values=None, seed=0, first=0, size=32):
        values = values or {}
        settings = settings or [f"{name}={value}" for name, value in values.items()]
        made = self.samples("textures", count, *settings, seed=seed, first=first, size=size)
        for row in range(count):
            label, latents, image, tolerance = rebuild(first + row, seed, size, values)
            self.assertEqual(made["label"][row], label)
            # A power, a logarithm and four operations: 16 ulp of the values.
            np.testing.assert_allclose(made["latents"][row], latents, rtol=16 * ULP, atol=1e-30)
            # A position is off by a few ulp of its distance from the corner in cells. Each octave multiplies earlier
            # errors by the lacunarity, the noise multiplies them by its slope, and the gradient by 3 x 0.2 / deviation.
            self.assertLess(np.abs(made["x"][row] - image).max(), tolerance)
            self.assertLess(tolerance, 4e-3)

    def test_the_defaults(self):
        self.compare(10, size=48)
        self.compare(4, seed=2**62 + 5, first=2**32 + 7, size=33)

    def test_each_kind(self):
        for kind in KINDS:
            values = {"kind": kind, "octaves_high": 3, "octave_cells": 1, "warp_cells": 1, "warp_high": 2}
            self.compare(2, values=values, seed=3, first=2**40, size=25)

    def test_the_presets(self):
        self.compare(3, "preset=perlin-fbm", values=PERLIN_FBM, seed=1)
        self.compare(3, "preset=worley-1996", values=WORLEY_1996, seed=1)

    def test_other_cells_and_grey(self):
        values = {
            "scale_cells": 3, "frequency_low": 0.25, "frequency_high": 3, "octaves_low": 2, "octaves_high": 8,
            "octave_cells": 3, "warp_low": 1, "warp_high": 8, "warp_cells": 4, "gain_low": 0.9, "gain_high": 1,
            "lacunarity_low": 1, "lacunarity_high": 1.5, "palette": "grey",
        }
        self.compare(6, values=values, seed=9, size=31)
