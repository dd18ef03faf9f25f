"""Images rebuilt from docs/generators/algorithms/shapes.md in double precision, from the documented f32 numbers.

A position in the image is off by up to COVER = 2^-22 of its side, from rounding the position, the difference, the
rotation, sine and cosine. Distances are off by the same amount, and the cover by this times the sharpness and (side /
radius). A wave's phase, with at most 20 waves over the image, is off by about 20 * 2^-22, and the slope of the blend is
3; together this gives WAVE. Channels differ by these errors and by 2e-7 from their own rounding. No pixel is skipped,
because covers and waves are continuous.
"""

import numpy as np

from truth import Sample, TruthTest, below, named_key, uniform, unit

COVER = 2**-22  # relative to the side
WAVE = 1.5e-5  # for the share of the second colour
SHAPES = ("circle", "ring", "crescent", "triangle", "square", "pentagon", "hexagon", "star", "cross", "heart")


def distance(kind, u, v):
    a, h = np.abs(u), np.abs(v)
    if kind == "circle":
        return np.hypot(u, v) - 1
    if kind == "ring":
        return np.abs(np.hypot(u, v) - 1) - 0.25
    if kind == "crescent":
        return np.maximum(np.hypot(u, v) - 1.3973045, 1.1178436 - np.hypot(u, v - 0.76851746))
    if kind == "triangle":
        return np.maximum(-v, 0.8660254 * a + 0.5 * v) - 0.77756015
    if kind == "square":
        return np.maximum(a, h) - 0.88622693
    if kind == "pentagon":
        sides = [0.58778525 * a + 0.80901699 * v, 0.95105652 * a - 0.30901699 * v, -v]
        return np.max(sides, axis=0) - 0.92994960
    if kind == "hexagon":
        return np.maximum(a, 0.5 * a + 0.8660254 * h) - 0.95231281
    if kind == "star":
        sides = [0.58778525 * a - 0.80901699 * v, -0.58778525 * a - 0.80901699 * v,
                 0.95105652 * a + 0.30901699 * v, -0.95105652 * a + 0.30901699 * v, v]
        return np.sort(sides, axis=0)[-2] - 0.51695245
    if kind == "cross":
        return np.maximum(np.maximum(a, h) - 1.1889982, np.minimum(a, h) - 0.39633273)
    q = 0.46898872
    return np.minimum(0.70710678 * (a + h) - 0.66325021, np.hypot(a - q, v - q) - 0.66325021)


class Shapes(TruthTest):
    def rebuild(self, count, *settings, seed=0, first=0, size=None):
        got = self.samples("shapes", count, *settings, seed=seed, first=first, size=size)
        p = {k: np.float32(v) if isinstance(v, float) else v for k, v in got["metadata"]["parameters"].items()}
        side = 64 if size is None else size
        y, x = np.mgrid[:side, :side] + 0.5
        draw = (np.arange(side)[:, None] << 16) | np.arange(side)
        for i in range(count):
            sample = Sample(named_key(seed, "shapes"), first + i)
            label = int(below(sample.words("label", 1)[0], p["classes"]))
            self.assertEqual(got["label"][i], label)
            w = sample.words("scene", 18)
            one = np.float32(1)
            scale = uniform(w[0], p["scale_low"], p["scale_high"])
            margin = np.float32(1.672894) * scale
            place = [uniform(word, margin, one - margin) for word in w[1:3]]
            turns = unit(w[3])
            back, shape, second = unit(w[4:7]), unit(w[7:10]), unit(w[11:14])
            apart, k = int(below(w[10], 3)), np.float32(p["contrast"])
            f, b = shape[apart], back[apart]
            if f < b:
                shape[apart], back[apart] = f * (one - k), b * (one - k) + k
            else:
                shape[apart], back[apart] = f * (one - k) + k, b * (one - k)
            textures = ("none", "gradient", "stripes", "grain")
            texture = int(below(w[14], 4)) if p["texture"] == "any" else textures.index(p["texture"])
            wave_turns, period, phase = unit(w[15]), uniform(w[16], 0.05, 0.35), unit(w[17])
            wave = (0, 0, 0)
            if texture in (1, 2):
                period = period if texture == 2 else np.float32(1) / np.float32(0.35)
                wave = (period, wave_turns * np.float32(6.2831855), phase)
            latents = [*place, scale, turns * np.float32(6.2831855), *shape, *back, texture, *second, *wave]
            np.testing.assert_array_equal(got["latents"][i], np.array(latents, np.float32))

            radius = float(scale) * side
            c, s = (f(2 * np.pi * float(turns)) / radius for f in (np.cos, np.sin))
            dx, dy = x - float(place[0]) * side, float(place[1]) * side - y
            sharpness = radius / (1 + float(p["softness"]) * radius)
            cover = 0.5 - sharpness * distance(SHAPES[label], c * dx + s * dy, c * dy - s * dx)
            cover = np.clip(cover, 0, 1)[:, :, None]
            m, slack = np.zeros((side, side)), 0.0
            if texture == 3:
                m = unit(sample.block("texture", draw)[0]).astype(float)
            elif texture:
                waves = 1 / float(period)
                kx, ky = (f(2 * np.pi * float(wave_turns)) * waves / side for f in (np.cos, np.sin))
                t = kx * x - ky * y + float(phase)
                tri = np.abs(2 * (t - np.floor(t)) - 1)
                m, slack = tri**2 * (3 - 2 * tri), WAVE
            ground = back + (float(p["texture_strength"]) * m)[:, :, None] * (second.astype(float) - back)
            image = ground + cover * (shape - ground)
            allowed = COVER * side / radius * sharpness * ((cover > 0) & (cover < 1)) + slack + 2e-7
            self.assertLess(np.max(np.abs(got["x"][i] - image) / allowed), 1, (i, label, texture))
        return got

    def test_shapes(self):
        got = self.rebuild(60, seed=1)
        self.assertEqual(set(got["label"]), set(range(10)))
        self.rebuild(8, "scale_low=0.01", "scale_high=0.298", "contrast=0.9", seed=2**63 - 1, first=2**32 - 3, size=37)
        self.rebuild(4, "classes=3", "softness=0.7", "contrast=0", seed=2, first=2**45, size=129)

    def test_textures(self):
        for number, texture in enumerate(("gradient", "stripes", "grain")):
            self.rebuild(4, "texture=" + texture, seed=10 + number)
        got = self.rebuild(16, "texture=any", "texture_strength=1", seed=20, first=2**33, size=41)
        self.assertEqual(set(got["latents"][:, 10]), {0, 1, 2, 3})

    def test_all_have_the_area_of_the_disc_and_fit(self):
        # Uses a rotated grid of points, so that no edge is parallel to its rows.
        c, s = np.cos(0.4), np.sin(0.4)
        v, u = np.mgrid[-2:2:0.004, -2:2:0.004] + 0.002
        u, v = c * u + s * v, c * v - s * u
        for kind in SHAPES:
            inside = distance(kind, u, v) < 0
            self.assertLess(abs(np.sum(inside) * 0.004**2 / np.pi - 1), 5e-4, kind)
            self.assertLess(np.max(np.hypot(u, v)[inside]), 1.672894)
        self.assertGreater(1.0 - 2 * 1.672894 * 0.298, 0)
