"""Pictures rebuilt from docs/generators/algorithms/mandelbulb.md in double precision, with explicit angles.

At every step of an orbit, an f32 rounding error grows by the power n, so no single tolerance fits all pixels. Each
picture is therefore rendered twice, the second time with the camera farther away by SHIFT = 8 * 2^-24 of its distance,
the size of a point's rounding error. A pixel may differ by TOLERANCE plus FACTOR times the effect of the shift, which
is 0.001 or more for at most every tenth pixel. The shift does not always reveal that a ray grazes the solid, so each
comparison may miss one pixel.
"""

import numpy as np

from truth import Sample, TruthTest, below, named_key, uniform, unit

SHIFT = 2.0**-21
TOLERANCE = 1e-4
FACTOR = 10

RULES = """107 106 263 334 205 271 434 225 331 413 141 167 424 196 222 461 488 109 151 232 42 188 507 32 451 132 190 481
143 96 180 388 397 68 135 197 360 40 465 243 506 160 327 175 105 223 198 332 452 174 281 395 238 386 161 168 204 416 244
418 297"""
RULES = np.array([int(rule) for rule in RULES.split()])
# Pairs of rules; pairs that were not published come last.
LATE = [32, 40, 68, 96, 105, 109, 151, 190, 222, 223, 243, 297, 332, 360, 434, 506, 507]
FIRST = np.concatenate([RULES[~np.isin(RULES, LATE)], RULES[np.isin(RULES, LATE)]])
SECOND = np.array([32, 109, 222, 434])
BALL, CAMERA = 1.5, 2.5

DEFAULTS = {
    "form": "variations", "power_low": 2, "power_high": 18, "rules": 61, "second_rules": 0, "latitude": 90,
    "light": "random", "shadow": "true", "background": "white", "palette": "colour", "rays": 1, "precision": 0.3,
    "pace": 0.7, "iterations": 12, "steps": 96,
}
PRESETS = {
    "mandelbulbvar-1k": {"light": "fixed", "rays": 2, "pace": 1, "iterations": 100, "steps": 1000},
    "mandelbulbvar-hybrid": {
        "power_high": 12, "rules": 44, "second_rules": 4, "latitude": 30, "light": "fixed", "rays": 2, "pace": 1,
        "iterations": 100, "steps": 1000,
    },
    "mandelbulb-8": {"form": "classic", "power_low": 8, "power_high": 8},
}


def dot(a, b):
    return np.sum(a * b, -1)


def length(a):
    return np.sqrt(dot(a, a))


class Pictures:
    """Samples `numbers` of a seed: labels and latents, and all their pictures at once."""

    def __init__(self, p, seed, numbers):
        self.p = p | {name: float(np.float32(p[name])) for name in ("precision", "pace")}
        sample = Sample(named_key(seed, "mandelbulb"), np.array(numbers))
        self.classic = p["form"] == "classic"
        powers, firsts = p["power_high"] - p["power_low"] + 1, 1 if self.classic else p["rules"]
        seconds = powers * p["second_rules"] or 1
        self.label = below(sample.block("label", 0)[0], powers * firsts * seconds)
        first, second = self.label // seconds, self.label % seconds
        rules = FIRST if p["second_rules"] else RULES
        power, rule = p["power_low"] + first // firsts, rules[first % firsts]
        self.power, self.rule = np.stack([power, power], 1), np.stack([rule, rule], 1) * (not self.classic)
        if p["second_rules"]:
            self.power[:, 1] = p["power_low"] + second // p["second_rules"]
            self.rule[:, 1] = SECOND[second % p["second_rules"]]
        words = sample.words("scene", 4)
        most = np.float32(p["latitude"] / 360)
        a = 2 * np.pi * uniform(words[0], -most, most).astype(np.float64)
        b, t = (2 * np.pi * unit(word).astype(np.float64) for word in words[1:3])
        h = uniform(words[3], 0.3, 0.9).astype(np.float64)
        self.colours = unit(sample.words("colour", 9)).T.reshape(-1, 3, 3).astype(np.float64)
        self.right = np.stack([-np.sin(b), np.cos(b), 0 * b], 1)
        self.up = np.stack([-np.sin(a) * np.cos(b), -np.sin(a) * np.sin(b), np.cos(a)], 1)
        self.back = np.stack([np.cos(a) * np.cos(b), np.cos(a) * np.sin(b), np.sin(a)], 1)
        if p["light"] == "fixed":
            self.light = np.tile(np.array([-1, 1, 1]) / np.sqrt(3), (len(a), 1))
        else:
            across = np.cos(t)[:, None] * self.right + np.sin(t)[:, None] * self.up
            self.light = np.sqrt(1 - h * h)[:, None] * across + h[:, None] * self.back
        turn = np.arctan2(dot(self.light, self.up), dot(self.light, self.right)) % (2 * np.pi)
        latents = [self.power[:, 0], self.rule[:, 0], self.power[:, 1], self.rule[:, 1], a, b, turn]
        latents += [dot(self.light, self.back), *self.colours.reshape(-1, 9).T]
        self.latents = np.stack(latents, 1)

    def estimate(self, points, image):
        """Distances of points from the solids `image`, and the traps of their orbits."""
        z, growth, traps = points.copy(), np.ones(len(points)), np.ones((len(points), 3))
        going = np.arange(len(points))
        for step in range(self.p["iterations"]):
            r = length(z[going])
            going, r = going[r <= 4], r[r <= 4]
            if not len(going):
                break
            n, rule = self.power[image[going], step % 2], self.rule[image[going], step % 2]
            x, y, up = z[going].T
            theta, phi = n * np.arctan2(np.hypot(x, y), up), n * np.arctan2(y, x)
            growth[going] = np.minimum(n * r ** (n - 1) * growth[going] + 1, 1e30)
            if self.classic:
                parts = [np.cos(phi) * np.sin(theta), np.sin(phi) * np.sin(theta), np.cos(theta)]
            else:
                parts = []
                for bits in (rule >> 6, rule >> 3, rule):
                    angle = np.where(bits & 2, theta, phi)
                    parts.append(np.where(bits & 4, np.sin(angle), np.cos(angle)) * np.where(bits & 1, -1, 1))
            new = (r**n)[:, None] * np.stack(parts, 1) + points[going]
            z[going] = new
            near = np.stack([np.abs(new[:, 2]), np.sum(np.abs(new), 1) / 1.5, length(new)], 1)
            traps[going] = np.minimum(traps[going], near)
        r = np.maximum(length(z), 1e-18)
        return r * np.log(r) / (2 * growth), traps

    def march(self, start, d, t, end, near, slope, image):
        """The end points of rays, and which rays hit, that is, reach a distance below near + slope t."""
        t, hit, going = t.copy(), np.ones(len(t), bool), np.arange(len(t))
        for _ in range(self.p["steps"]):
            distance = self.estimate(start[going] + t[going, None] * d[going], image[going])[0]
            goes = distance >= near[going] + slope * t[going]
            going, distance = going[goes], distance[goes]
            t[going] += self.p["pace"] * distance
            hit[going[t[going] >= end[going]]] = False
            going = going[t[going] < end[going]]
            if not len(going):
                break
        return t, hit

    def draw(self, size, shift=0.0):
        """Pictures [N, size, size, 3]."""
        p, k, count = self.p, self.p["rays"], len(self.label)
        middle = (np.arange(size * k) + 0.5) / (size * k) - 0.5
        q, x = (np.tile(v.ravel(), count) for v in np.meshgrid(-middle, middle, indexing="ij"))
        image = np.repeat(np.arange(count), (size * k) ** 2)
        colours = np.full((len(image), 3), float(p["background"] == "white" and p["palette"] != "depth"))
        far = np.sqrt(x**2 + q**2 + 1)
        half = (CAMERA / far) ** 2 + BALL**2 - CAMERA**2
        meets = np.flatnonzero(half > 0)
        image, x, q, far, half = image[meets], x[meets, None], q[meets, None], far[meets], np.sqrt(half[meets])
        d = (x * self.right[image] + q * self.up[image] - self.back[image]) / far[:, None]
        start, slope = CAMERA * (1 + shift) * self.back[image], p["precision"] / (k * size)
        t, hit = self.march(start, d, CAMERA / far - half, CAMERA / far + half, 0 * far, slope, image)
        image, start, d, t, meets = image[hit], start[hit], d[hit], t[hit], meets[hit]
        if p["palette"] == "depth":
            colours[meets] = np.clip(1 - (t - 1) / 4, 0.25, 1)[:, None]
        else:
            colours[meets] = self.shade(start + t[:, None] * d, slope * t, image)
        return colours.reshape(count, size, k, size, k, 3).mean((2, 4))

    def shade(self, at, step, image):
        p, light = self.p, self.light[image]
        normal = np.zeros_like(at)
        for corner in np.array([(1, -1, -1), (-1, -1, 1), (-1, 1, -1), (1, 1, 1)], np.float64):
            normal += corner * self.estimate(at + step[:, None] * corner, image)[0][:, None]
        normal /= np.maximum(length(normal), 1e-300)[:, None]
        facing = np.maximum(dot(normal, light), 0)
        if p["shadow"] == "true":
            lit = np.flatnonzero(facing > 0)
            start, towards = at[lit] + 2 * step[lit, None] * normal[lit], light[lit]
            along = dot(start, towards)
            end = np.sqrt(np.maximum(along**2 - dot(start, start) + BALL**2, 0)) - along
            dark = self.march(start, towards, 0 * along, end, step[lit], 0, image[lit])[1]
            facing[lit[dark]] = 0
        traps, n = self.estimate(at, image)[1], self.power[image, 0]
        weights = 0.12 + 0.88 * traps ** np.stack([np.ones(len(n)), n, n], 1)
        mixed = np.einsum("ik,ikc->ic", weights, self.colours[image])
        if p["palette"] == "grey":
            mixed = np.mean(weights, 1, keepdims=True)
        return np.clip(mixed * ((0.25 + 0.75 * facing) * dot(at, at))[:, None], 0, 1) * np.ones(3)


class MandelbulbTest(TruthTest):
    def compare(self, count, size, settings, seed, first=0, preset=None):
        p = DEFAULTS | (PRESETS[preset] if preset else {}) | settings
        written = [f"preset={preset}"] if preset else []
        written += [f"{name}={value}" for name, value in settings.items()]
        made = self.samples("mandelbulb", count, *written, seed=seed, first=first, size=size)
        told = made["metadata"]["parameters"]
        self.assertEqual(told, p | {"shadow": p["shadow"] == "true"})
        own = Pictures(p, seed, np.arange(first, first + count))
        np.testing.assert_array_equal(made["label"], own.label)
        np.testing.assert_array_equal(made["latents"][:, :4], own.latents[:, :4])
        np.testing.assert_array_equal(made["latents"][:, 8:], own.latents[:, 8:].astype(np.float32))
        # Angles in f32 are up to 6.3 rad. The light's angle is an arc tangent of components sqrt(1 - h^2).
        off = np.abs(made["latents"][:, 4:8] - own.latents[:, 4:8])
        off[:, 1:3] = np.minimum(off[:, 1:3], 2 * np.pi - off[:, 1:3])
        off[:, 2] *= np.sqrt(1 - own.latents[:, 7] ** 2)
        self.assertTrue(np.all(off <= 16 * 2**-24), off.max(0) * 2**24)
        image = own.draw(size)
        unsteady = np.max(np.abs(own.draw(size, SHIFT) - image), -1)
        off = np.max(np.abs(made["x"] - image), -1)
        wrong = off > TOLERANCE + FACTOR * unsteady
        self.assertLessEqual(np.sum(wrong), 1, np.argwhere(wrong))
        self.assertLess(np.mean(unsteady > 1e-3), 0.1)
        self.assertLess(np.median(off), 2e-6)
        return made, own

    def test_default(self):
        self.compare(6, 16, {}, seed=0)
        self.compare(4, 17, {}, seed=2**61 + 5, first=2**32 - 3)

    def test_presets(self):
        self.compare(3, 6, {}, seed=3, first=2**40, preset="mandelbulbvar-1k")
        self.compare(4, 5, {}, seed=4, preset="mandelbulbvar-hybrid")
        self.compare(2, 13, {}, seed=5, preset="mandelbulb-8")

    def test_palettes_backgrounds_and_light(self):
        self.compare(4, 13, {"palette": "depth"}, seed=6)
        self.compare(3, 13, {"palette": "grey", "background": "black", "shadow": "false"}, seed=6)
        self.compare(3, 13, {"light": "fixed", "latitude": 0, "second_rules": 2, "rules": 3}, seed=6)

    def test_limits_of_rays(self):
        self.compare(4, 13, {"iterations": 1, "pace": 0.5, "precision": 2}, seed=7)
        self.compare(2, 13, {"steps": 8, "iterations": 5, "pace": 0.3}, seed=7)
        self.compare(2, 5, {"rays": 3, "precision": 0.1, "power_low": 2, "power_high": 3}, seed=7)
        self.compare(2, 9, {"form": "classic", "iterations": 15}, seed=7)

    def test_no_ray_passes_through_the_inside(self):
        """Points that stay near for all powers are inside, so a ray must stop before its first such point. The estimate
        is not a bound, so a few rays may emerge from a thin part."""
        for settings in (["preset=mandelbulb-8"], []):
            count, size = 4, 10
            made = self.samples("mandelbulb", count, *settings, "palette=depth", seed=21, size=size)
            own = Pictures(DEFAULTS | (PRESETS["mandelbulb-8"] if settings else {}), 21, np.arange(count))
            middle = (np.arange(size) + 0.5) / size - 0.5
            q, x = (np.tile(v.ravel(), count)[:, None] for v in np.meshgrid(-middle, middle, indexing="ij"))
            image = np.repeat(np.arange(count), size**2)
            d = x * own.right[image] + q * own.up[image] - own.back[image]
            d /= length(d)[:, None]
            t = np.linspace(1, 4, 81)
            points = CAMERA * own.back[image][:, None] + t[:, None] * d[:, None]
            inside = own.estimate(points.reshape(-1, 3), np.repeat(image, len(t)))[0].reshape(len(image), -1) < 0
            met = inside.any(1)
            stopped = 1 + 4 * (1 - made["x"][..., 0].ravel()[met])
            late = stopped > t[np.argmax(inside[met], 1)] + 0.01
            self.assertGreater(np.mean(met), 0.4)
            self.assertLessEqual(np.sum(late), 0.01 * np.sum(met))

    def test_names_of_classes(self):
        single = [f"power{n}-rule{rule}" for n in range(2, 19) for rule in RULES]
        second = [f"power{n}-rule{rule}" for n in range(2, 13) for rule in SECOND]
        pairs = [f"power{n}-rule{r}_{other}" for n in range(2, 13) for r in FIRST[:44] for other in second]
        for settings, wanted in (([], single), (["preset=mandelbulbvar-hybrid"], pairs)):
            made = self.samples("mandelbulb", 1, *settings, "rays=1", size=1)
            self.assertEqual(made["metadata"]["sources"][0]["classes"], wanted)
