"""ifs_multi: labels, targets, latents and images rebuilt from docs/generators/algorithms/ifs_multi.md and ifs.md."""

import numpy as np

from test_ifs import chaos, hsv, on_canvas, place, plasma, svd_class
from truth import Sample, TruthTest, below, fma, named_key, uniform, unit

F = np.float32
DEFAULTS = {
    "categories": 60, "maps_low": 2, "maps_high": 4, "jitters": 24, "instances_low": 1, "instances_high": 5,
    "size_low": 0.15, "size_high": 0.6, "points": 0, "walkers": 256, "burn_in": 32, "background": "plasma",
}


class Blocks:
    """A sample's blocks of purpose `texture`, starting with number `first`."""

    def __init__(self, sample, first):
        self.sample, self.first = sample, first

    def block(self, purpose, draw):
        return self.sample.block(purpose, self.first + draw)


def grid_of(sample, i, system, turns, style, g, p):
    """-> colours of a fractal's grid, [G, G, 3]"""
    maps, upto, window, start = system
    window = list(window)
    if turns & 4:
        maps, window, start = maps[:, [3, 2, 1, 0, 5, 4]], window[2:] + window[:2], start[::-1]
    count = p["points"] or int(np.floor(fma(F(100000 / 112**2) * F(g), F(g), F(0.5))))
    walkers = max(1, min(p["walkers"], count // 4))
    blocks = -(-(p["burn_in"] + -(-count // walkers)) // 4)
    drawn_by = Blocks(sample, i * blocks * walkers)
    x, y, _ = chaos(maps, upto, start, count, drawn_by, p["walkers"], p["burn_in"])
    column = place(x, *window[:2], F(0), turns & 1, g)
    row = place(y, *window[2:], F(0), not turns & 2, g)
    inside = on_canvas(row, column, g)
    cells = np.zeros((g + 2, g + 2), int)
    np.add.at(cells, (row[inside], column[inside]), 1)
    mask, hue, saturation, value = style
    n = np.zeros((g, g), int)
    for r in range(3):
        for q in range(3):
            n += (mask >> (3 * r + q) & 1) * cells[2 - r : 2 - r + g, 2 - q : 2 - q + g]
    h = np.floor(fma(F(255), (n / F(max(n.max(), 1))).astype(F), hue)).astype(int) % 256
    return np.where((n > 0)[..., None], hsv(h, np.full(h.shape, saturation), np.full(h.shape, value)), 0).astype(F)


def stretched(grid, s):
    """-> [s, s, 3]"""
    g = len(grid)
    at = (np.arange(s, dtype=F) + F(0.5)) * (F(g) / F(s)) - F(0.5)
    first = np.floor(at).astype(int)
    t = (at - first.astype(F)).astype(F)
    low, high = np.clip(first, 0, g - 1), np.clip(first + 1, 0, g - 1)

    def mixed(a, b, share):
        return fma(np.broadcast_to(share, a.shape), b - a, a)

    rows = mixed(grid[:, low], grid[:, high], t[None, :, None])
    return mixed(rows[low], rows[high], t[:, None, None])


def rebuild(number, seed, size, settings):
    """-> label, target, latents, image"""
    p = {**DEFAULTS, **settings}
    sample = Sample(named_key(seed, "ifs_multi"), number)
    words, colours = sample.words("label", 49), sample.words("colour", 32)
    count = p["instances_low"] + int(below(words[0], p["instances_high"] - p["instances_low"] + 1))
    ground = sample.words("scene", 7)
    ranges = ((0.4, 0.8), (63.75, 255), (0, 255), (0.1, 0.3), (0.4, 0.6), (0.3, 0.6), (0.4, 0.6))
    decay, *scales = (uniform(w, *r) for w, r in zip(ground, ranges))
    if p["background"] == "plasma":
        z = plasma(sample, size, float(decay))
        h = np.floor(z * scales[0] + scales[1]).astype(int) % 256
        image = hsv(h, np.clip(z * scales[2] + scales[3], 0, 1), np.clip(z * scales[4] + scales[5], 0, 1))
    else:
        image = np.zeros((size, size, 3))
    target = np.zeros(p["categories"])
    latents = [count, decay]
    for i in range(count):
        w, c = words[1 + 6 * i : 7 + 6 * i], colours[4 * i : 4 * i + 4]
        k = int(below(w[0], p["categories"]))
        variations, upto, windows, starts = svd_class(k, p["jitters"], p["maps_low"], p["maps_high"])
        v = int(below(w[1], len(variations)))
        f = uniform(w[2], p["size_low"], p["size_high"])
        s = max(1, int(f * F(size)))
        left, top = (int(below(word, size)) - s // 2 for word in w[3:5])
        style = int(below(c[0], 511)) + 1, F(255) * unit(c[1]), uniform(c[2], 0.3, 1), uniform(c[3], 0.5, 1)
        system = variations[v], upto, windows[v], starts[v]
        square = stretched(grid_of(sample, i, system, int(below(w[5], 8)), style, max(1, size // 2), p), s)
        rows, columns = np.arange(s) + top, np.arange(s) + left
        rows, columns = (index[(index >= 0) & (index < size)] for index in (rows, columns))
        seen = square[rows[:, None] - top, columns - left]
        image[rows[:, None], columns] = np.where(
            (seen.max(axis=-1) >= 0.5 / 255)[..., None], seen, image[rows[:, None], columns]
        )
        target[k] = 1
        latents += [k, v, (left + s / 2) / size, (top + s / 2) / size, f, style[1]]
    latents += [0] * (2 + 6 * p["instances_high"] - len(latents))
    return k, target, latents, image


class IfsMulti(TruthTest):
    # Sines and cosines of the rotations may differ in the last bit of f32, which moves points by 10^-7 of the box. The
    # plasma's errors of 10^-6 may move its hue to the next of 256 steps. A cell has up to 16 pixels, so together this
    # affects one pixel in 300.

    def compare(self, count, preset=None, seed=0, first=0, size=33, **values):
        settings = ([f"preset={preset}"] if preset else []) + [f"{name}={value}" for name, value in values.items()]
        made = self.samples("ifs_multi", count, *settings, seed=seed, first=first, size=size)
        for row in range(count):
            label, target, latents, image = rebuild(first + row, seed, size, values)
            self.assertEqual(made["label"][row], label)
            np.testing.assert_array_equal(made["target"][row], target)
            np.testing.assert_allclose(made["latents"][row], latents, rtol=4 * 2.0**-24, atol=4 * 2.0**-24)
            differ = np.abs(made["x"][row] - image).max(axis=-1) > 32 * 2.0**-24
            self.assertLessEqual(differ.mean(), 1 / 300)

    def test_defaults(self):
        self.compare(6, categories=4)
        self.compare(3, categories=4, seed=2**62 + 5, first=2**32 + 7, size=48)

    def test_other_parameters(self):
        self.compare(
            3, categories=2, instances_low=6, instances_high=8, size_low=0.3, size_high=1, background="black",
            walkers=100, burn_in=7, jitters=3, maps_low=3, maps_high=6, size=40,
        )

    def test_the_preset(self):
        self.compare(2, "fractal-multi-1k", categories=3, points=9999)
