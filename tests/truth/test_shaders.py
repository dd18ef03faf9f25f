"""Samples rebuilt from docs/generators/algorithms/shaders.md in double precision: labels and latents exactly,
pictures up to rounding in f32, except near the jumps between tiles."""

import numpy as np

from truth import Sample, TruthTest, below, named_key, uniform, unit

F = np.float32
M32 = 0xFFFFFFFF


def fold(t):
    return abs(t - np.rint(t))


def cos(t):
    return np.cos(2 * np.pi * t)


def sin(t):
    return np.sin(2 * np.pi * t)


def angle(x, y):
    return np.arctan2(y, x) / (2 * np.pi)


def wave(t):
    return (1 + cos(t)) / 2


def edge(t, w):
    s = np.clip(t / w + 0.5, 0, 1)
    return 3 * s**2 - 2 * s**3


def mix(p, q, by):
    return p + (q - p) * by


def tile_word(i, j, seed):
    i, j = (np.asarray(v).astype(np.int64) & M32 for v in (i, j))
    i, j = i.astype(np.uint64), j.astype(np.uint64)
    h = ((i * np.uint64(0xD2511F53) + j * np.uint64(0xCD9E8D57)) & np.uint64(M32)) ^ np.uint64(seed)
    h = ((h ^ (h >> np.uint64(16))) * np.uint64(0x9E3779B9)) & np.uint64(M32)
    h = ((h ^ (h >> np.uint64(15))) * np.uint64(0xBB67AE85)) & np.uint64(M32)
    return (h ^ (h >> np.uint64(16))).astype(np.int64)


class Scene:
    """The random numbers of one sample, and quantities that programs and bends derive from them."""

    def __init__(self, seed, number, programs=16, domains=8, cells=1):
        sample = Sample(named_key(seed, "shaders"), number)
        self.label = int(below(sample.block("label", 0)[0], programs * domains * cells**2))
        kind, cell = divmod(self.label, cells**2)
        self.program, self.bend = divmod(kind, domains)
        words = sample.words("scene", 12)
        u = unit(words)
        self.a = (F(cell // cells) + u[0]) * (F(1) / F(cells))
        self.b = (F(cell % cells) + u[1]) * (F(1) / F(cells))
        self.c = u[2]
        self.x, self.y = F(0.25) + F(0.5) * u[3:5]
        self.unit = uniform(words[5], 0.3, 0.5)
        self.turn = u[6]
        self.f = u[7:11].astype(np.float64)
        self.seed = int(words[11])
        self.colour_words = sample.words("colour", 12)
        self.latents = np.array(
            [self.program, self.bend, self.a, self.b, self.c, self.x, self.y, self.unit, F(2 * np.pi) * self.turn,
             *u[7:11], unit(self.colour_words[0])], F,
        )

    def tile(self, i, j):
        return (tile_word(i, j, self.seed) >> 8) * 2.0**-24

    def tile_(self, i, j):
        return (tile_word(i, j, self.seed ^ M32) >> 8) * 2.0**-24

    def grow(self, low, high):
        return mix(low, high, float(self.a))

    def picture(self, size, grey=False):
        centre = np.arange(size) + 0.5
        x, y = np.meshgrid((centre / size - float(self.x)), -(centre / size - float(self.y)))
        x, y, t = x / float(self.unit), y / float(self.unit), float(self.turn)
        x, y = x * cos(t) + y * sin(t), y * cos(t) - x * sin(t)
        x, y = BENDS[self.bend](self, float(self.c), x, y)
        e = 1 / (float(self.unit) * size)
        level, tint = PROGRAMS[self.program](self, float(self.b), x, y, e)
        level, tint = (np.clip(v + 0 * x, 0, 1)[..., None] for v in (level, tint))
        dark, middle, light, fourth = self.colours(grey)
        shade = np.where(level < 0.5, mix(dark, middle, 2 * level), mix(middle, light, 2 * level - 1))
        return mix(shade, fourth, tint)

    def colours(self, grey):
        w = self.colour_words
        u = unit(w).astype(np.float64)
        h, g = u[0], (0.06 + 0.16 * u[1]) * (-1 if w[2] >= 2**31 else 1)
        o = 0.35 + 0.3 * u[10]
        values = [0.12 + 0.23 * u[4], 0.55 + 0.3 * u[6], 0.88 + 0.12 * u[8], 0.9]
        whites = [0.5 * u[5], 0.05 + 0.4 * u[7], 0.5 + 0.35 * u[9], 0.05 + 0.35 * u[11]]
        hues = [h, h + g, h + 2 * g, h + g + o]
        if grey:
            colours = [np.full(3, value) for value in (*values[:3], 0.9 * o)]
        else:
            colours = [colour(*hvw) for hvw in zip(hues, values, whites)]
        if w[3] >= 2**31:
            colours[0], colours[2] = colours[2], colours[0]
        return colours


def colour(hue, value, white):
    h = 6 * (hue - np.floor(hue))
    return value * mix(white, 1, np.clip([abs(h - 3) - 1, 2 - abs(h - 2), 2 - abs(h - 4)], 0, 1))


def plain(scene, c, x, y):
    return x, y


def folded(scene, c, x, y):
    t = 0.7 + 0.8 * c
    return t * fold(x / t) + scene.f[2], t * fold(y / t) + scene.f[3]


def swirl(scene, c, x, y):
    t = (-1 if scene.f[2] < 0.5 else 1) * (0.35 + 0.55 * c) * np.exp(-1.4 * (x * x + y * y))
    return x * cos(t) - y * sin(t), x * sin(t) + y * cos(t)


def kaleidoscope(scene, c, x, y):
    n, r = 3 + np.floor(6 * c), np.hypot(x, y)
    t = fold(n * angle(x, y)) / n
    return r * cos(t) + scene.f[2], r * sin(t) + scene.f[3]


def polar(scene, c, x, y):
    n = 2 + np.floor(4 * c)
    return n * np.log(x * x + y * y + 0.002) / (2 * np.pi) + scene.f[2], 2 * n * abs(angle(x, y)) + scene.f[3]


def warp(scene, c, x, y):
    strength, w = 0.12 + 0.18 * c, 0.9 - 0.4 * c
    x = x + strength * sin(w * y + scene.f[2])
    return x, y + strength * sin(w * x + scene.f[3])


def inversion(scene, c, x, y):
    k = (0.6 + 0.6 * c) / (x * x + y * y + 0.12)
    return x * k + scene.f[2], y * k + scene.f[3]


def quilt(scene, c, x, y):
    t = 0.8 + 0.8 * c
    i, j = np.floor(t * x), np.floor(t * y)
    u, v = t * x - i - 0.5, t * y - j - 0.5
    q = tile_word(i, j, scene.seed) >> 30
    u, v = np.where(q & 1, -v, u), np.where(q & 1, u, v)
    sign = np.where(q & 2, -1, 1)
    return sign * u / t + scene.f[2], sign * v / t + scene.f[3]


def stripes(s, b, x, y, e):
    t = s.grow(1.5, 3.5) * x + s.f[0] + 0.22 * b * sin(0.7 * y + s.f[1])
    i = np.floor(t)
    band = edge(0.2 + 0.22 * s.tile(i, 0) - abs(t - i - 0.5), 0.1 + 6 * e)
    return band, 0.8 * band * s.tile_(i, 1)


def rings(s, b, x, y, e):
    t = s.grow(1.6, 4) * np.sqrt(x**2 + (1 + 1.4 * b) * y**2) - s.f[0]
    return wave(t), 0.7 * wave(t) * s.tile(np.rint(t), 0)


def checker(s, b, x, y, e):
    m = s.grow(0.8, 1.8)
    x, y = m * (x + 1.4 * (b - 0.5) * y) + s.f[0], m * y + s.f[1]
    return 0.85 * edge(cos(x) * cos(y), 0.12 + 8 * e) + 0.6 * fold(x + 0.25) * fold(y + 0.25), 0


def plasma(s, b, x, y, e):
    m = s.grow(0.6, 1.3)
    s1, s2 = sin(m * x + s.f[0]), sin(m * (0.8 * y + 0.5 * x) + s.f[1])
    s3 = sin(m * np.hypot(x, y) + s.f[2] + 0.3 * b * s1)
    return 0.5 + 0.2 * (s1 + s2 + s3), 0.8 * wave((s2 - s1) / 2 + s.f[3])


def metaballs(s, b, x, y, e):
    x, y = 2.5 * fold(0.4 * x + 0.25) - 0.625, 2.5 * fold(0.4 * y + 0.25) - 0.625
    field = 0
    for k in range(4):
        radius = 0.15 + 0.13 * k * (0.7 + 0.5 * b)
        d = np.hypot(x - radius * cos(s.f[k]), y - radius * sin(s.f[k]))
        field = field + s.grow(0.012, 0.03) / (d**2 + 0.004)
    inside, depth = edge(field - 1, 0.1 + 8 * e), field / (1 + field)
    return mix(0.7 * depth, 1.6 * depth - 0.45, inside), mix(0.6 * depth * wave(6 * depth), 0.1, inside)


def moire(s, b, x, y, e):
    d = 0.12 + 0.28 * b
    to_x, to_y, m = d * cos(s.f[0]), d * sin(s.f[0]), s.grow(4, 8)
    one = wave(m * np.hypot(x + to_x, y + to_y) + s.f[1])
    two = wave(m * np.hypot(x - to_x, y - to_y) + s.f[2])
    return one * two + (one + two) / 4, one * (1 - two) / 2


def honeycomb(s, b, x, y, e):
    m, root = s.grow(1.8, 3.6), np.sqrt(3)
    x, y = m * x + s.f[0], m * y + s.f[1]
    i, k = np.rint(x), np.rint(y / root)
    i2, k2 = np.floor(x), np.floor(y / root)
    u, v, u2, v2 = x - i, y - root * k, x - i2 - 0.5, y - root * (k2 + 0.5)
    other = u2**2 + v2**2 < u**2 + v**2
    u, v = abs(np.where(other, u2, u)), abs(np.where(other, v2, v))
    i, j = np.where(other, i2, i), np.where(other, 2 * k2 + 1, 2 * k)
    out = np.maximum(u, u / 2 + 0.8660254 * v)
    body = edge(0.47 - 0.09 * b - out, 0.06 + 4 * e)
    return body * (1 - 1.6 * out**2) * (0.55 + 0.45 * s.tile(i, j)), 0.8 * body * s.tile_(i, j)


def tiled(s, m, x, y):
    x, y = m * x + s.f[0], m * y + s.f[1]
    i, j = np.floor(x), np.floor(y)
    return i, j, x - i - 0.5, y - j - 0.5


def truchet(s, b, x, y, e):
    i, j, u, v = tiled(s, s.grow(1.4, 2.8), x, y)
    u = np.where(tile_word(i, j, s.seed) >> 31, -u, u)
    d = np.minimum(abs(np.hypot(u + 0.5, v + 0.5) - 0.5), abs(np.hypot(u - 0.5, v - 0.5) - 0.5))
    half = 0.1 + 0.12 * b
    path = edge(half - d, 0.05 + 4 * e)
    return mix(0.22 * wave(2 * d), 1 - 0.7 * d**2 / half**2, path), 0.35 * (1 - path) * wave(d)


def weave(s, b, x, y, e):
    i, j, u, v = tiled(s, s.grow(1.8, 3.4), x, y)
    over, half = np.where((i + j) % 2 == 0, 1, -1), 0.3 + 0.16 * b
    row, column = edge(half - abs(v), 0.04 + 4 * e), edge(half - abs(u), 0.04 + 4 * e)
    row = row * np.where(over > 0, row, 1 - column)
    column = column * (1 - row)
    level = row * (0.65 + 0.35 * over * cos(u / 2)) * (1 - 0.45 * v**2 / half**2)
    level += column * (0.65 - 0.35 * over * cos(v / 2)) * (1 - 0.45 * u**2 / half**2)
    return level, 0.75 * column


def flow(s, b, x, y, e):
    m = s.grow(0.4, 0.9)
    s1, s2 = sin(m * x + s.f[0]), sin(m * y + s.f[1])
    total = s1 + s2 + sin(0.7 * m * (x - y) + s.f[2] + 0.2 * s1)
    line = edge(0.14 - fold((1.2 + 1.2 * b) * total), 0.2)
    return mix(0.4 + 0.13 * total, 0.97, line), (1 - line) * edge(total, 2) / 2


def rosette(s, b, x, y, e):
    r, k = np.hypot(x, y), cos((3 + np.floor(6 * b)) * angle(x, y))
    t = s.grow(1.2, 2.6) * r * (1 + 0.3 * k) - s.f[0]
    g, petal = t - np.floor(t), r / (r + 0.15) * (1 + k) / 2
    band = edge(0.42 - abs(g - 0.5), 0.2)
    return band * (0.4 + 0.6 * petal), 0.8 * band * (1 - petal) * g


def spirals(s, b, x, y, e):
    n, r2, t = 2 + np.floor(5 * float(s.a)), x * x + y * y, angle(x, y)
    w, q = (0.7 + 1.1 * b) * np.log(r2 + 0.0001) / 2, r2 / (r2 + 0.004)
    level = mix(0.5, edge(wave(n * t + w + s.f[0]) - 0.5, 0.6), q)
    return level, 0.65 * q * wave((n + 1) * t - w + s.f[1]) ** 2


def quasicrystal(s, b, x, y, e):
    n, m = 5 if b < 0.5 else 7, s.grow(2, 4)
    mean = sum(cos(m * (x * cos(k / 2 / n) + y * sin(k / 2 / n)) + s.f[k % 4]) for k in range(n)) / n
    return 1.7 * abs(mean), 0.6 * edge(mean - 0.05, 0.15)


def scales(s, b, x, y, e):
    m = s.grow(1.5, 3)
    x, y = m * x + s.f[0], -(m * y + s.f[1])
    j = np.floor(2 * y)
    shift = fold(j / 2)
    i = np.rint(x - shift)
    u, v = x - shift - i, y - j / 2
    below_it = u**2 + v**2 >= 0.25
    j, shift, v = j + below_it, np.where(below_it, 0.5 - shift, shift), v - 0.5 * below_it
    i = np.rint(x - shift)
    u = x - shift - i
    out = 2 * np.hypot(u, v)
    a = wave((1 + 2 * b) * out)
    return (a + 0.35 * (1 - out - a)) * (1 - out**4 / 2), 0.75 * s.tile(i, j) * (1 - 0.6 * a)


def bricks(s, b, x, y, e):
    m = s.grow(1.6, 3.2)
    y = 0.8 * (2 * m * y + s.f[1])
    j = np.floor(y)
    x = m * x + s.f[0] + (0.25 + 0.25 * b) * j
    i, w = np.floor(x), 0.05 + 5 * e
    body = edge(0.455 - abs(x - i - 0.5), w) * edge(0.428 - abs(y - j - 0.5), 1.6 * w)
    return body * (0.35 + 0.55 * s.tile(i, j)) * (0.8 + 0.3 * (y - j)), 0.7 * body * s.tile_(i, j)


def halftone(s, b, x, y, e):
    m, root = s.grow(4, 7), np.sqrt(2)
    x, y = m * (x + y) / root, m * (y - x) / root
    i, j = np.rint(x), np.rint(y)
    inner = sin(0.4 * (i + j) / (m * root) + s.f[1])
    size = wave(0.35 * (i - j) / (m * root) + s.f[0] + 0.25 * (0.5 + b) * inner)
    dot = edge(0.08 + 0.42 * size - np.hypot(x - i, y - j), 0.08 + 6 * e)
    return 0.08 + 0.87 * dot, 0.8 * dot * (1 - size)


BENDS = (plain, folded, swirl, kaleidoscope, polar, warp, inversion, quilt)
PROGRAMS = (
    stripes, rings, checker, plasma, metaballs, moire, honeycomb, truchet, weave, flow, rosette, spirals, quasicrystal,
    scales, bricks, halftone,
)


class Shaders(TruthTest):
    def compare(self, scene, label, latents, x, grey=False):
        """In f32, phases of about 16 turns are rounded to 1e-6 of a turn, and colours move by up to ten per turn, which
        gives 1e-5. At a steep edge or a stretching bend, a colour moves ten times as much. A pixel within about 1e-6 of
        a tile's border may show the next tile; fewer than one in 200 do."""
        self.assertEqual(label, scene.label)
        np.testing.assert_array_equal(latents, scene.latents)
        wrong = abs(scene.picture(len(x), grey) - x).max(-1)
        self.assertLess(np.mean(wrong > 1e-5), 0.1)
        self.assertLess(np.mean(wrong > 1e-4), 0.005)

    def test_every_program_under_every_bend(self):
        seed, first, count = 134, 2**33, 415
        made = self.samples("shaders", count, seed=seed, first=first, size=24)
        labels, rows = np.unique(made["label"], return_index=True)
        self.assertEqual(len(labels), 128)
        for row in rows:
            with self.subTest(number=first + row):
                self.compare(Scene(seed, first + int(row)), *(made[name][row] for name in ("label", "latents", "x")))

    def test_sizes_and_settings(self):
        for count, size, seed, settings, scene in (
            (9, 65, 0, ["preset=programs-1k"], {"cells": 3}),
            (9, 33, 1, ["cells=8", "palette=grey"], {"cells": 8}),
            (9, 16, 2, ["preset=programs-16"], {"domains": 1}),
            (9, 41, 2**63 - 1, ["programs=5", "domains=3", "cells=2"], {"programs": 5, "domains": 3, "cells": 2}),
        ):
            made = self.samples("shaders", count, *settings, seed=seed, size=size)
            for row in range(count):
                with self.subTest(settings=settings, number=row):
                    label, latents, x = (made[name][row] for name in ("label", "latents", "x"))
                    self.compare(Scene(seed, row, **scene), label, latents, x, "palette=grey" in settings)

    def test_names_of_classes(self):
        names = self.samples("shaders", 1, "cells=2", size=16)["metadata"]["sources"][0]["classes"]
        self.assertEqual(len(names), 16 * 8 * 4)
        programs = [function.__name__ for function in PROGRAMS]
        self.assertEqual([name.split("-")[0] for name in names[::32]], programs)
