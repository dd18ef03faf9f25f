"""Samples rebuilt from docs/generators/algorithms/visual_atom.md: classes and latents exactly, pictures exactly, except
for the lines of the few vertices that rounding moves into the next pixel."""

import numpy as np

from resample import box_weights, resized
from truth import Sample, TruthTest, below, fma, named_key, uniform

F = np.float32
PERMUTATION = (
    "709baf3d9f052971c47e5e83505a7e6478ab0a5eecbb53b09118d587e4d8b84f"
    "a576b0b6d2e73f5ac356c9c97e5846f619f118091c4b092984724cf644d6da30"
    "492acb5a636ef254feb3f0a16dcaf7a57882ca36d95b7bc9167d32cef1082908"
    "a614b221e20cf321131b9efb106f57ad84c0392df46eacdde23d883d03e27dc4"
)
SETTINGS = {
    "classes": 1000, "class_seed": 1, "vertices_low": 200, "vertices_high": 1000, "orbits_low": 1, "orbits_high": 200,
    "noise_low": 0, "noise_high": 4, "line_width": 0.1, "radius_low": 10, "radius_high": 60, "waves_low": 0,
    "waves_high": 20, "oval": 2, "spread": 512,
}


def cos_sin(turns):
    angle = 2 * np.pi * np.float64(turns)
    return np.cos(angle).astype(F), np.sin(angle).astype(F)


def between(word, low, high):
    return low + below(word, high - low + 1)


def noise_knots():
    gradient = np.array([int(digit, 16) for digit in PERMUTATION])
    gradient = np.where(gradient < 8, gradient + 1, -1).astype(np.float64)[:, None]
    after = np.roll(gradient, -1, axis=0)
    x = (np.arange(1024) + 0.5) / 1024
    near = gradient * x
    values = 0.4 * (near + x**3 * (x * (6 * x - 15) + 10) * (after * (x - 1) - near))
    values = np.sort(values.ravel())
    inner = 256 * np.arange(1, 1024)
    knots = np.concatenate([values[:1], (values[inner - 1] + values[inner]) / 2, values[-1:]])
    return (np.round(knots * 2**16) / 2**16).astype(F)


KNOTS = noise_knots()


def noise(bits):
    j, part = bits >> 6, (bits & 63).astype(F)
    return fma((part + F(0.5)) / F(64), KNOTS[j + 1] - KNOTS[j], KNOTS[j])


def line_pixels(x, y):
    """The pixels of the closed polyline through (x, y), without the last pixel of each line."""
    to_x, to_y = np.roll(x, -1) - x, np.roll(y, -1) - y
    steep = abs(to_y) >= abs(to_x)
    length = np.maximum(abs(to_x), abs(to_y))
    across = np.minimum(abs(to_x), abs(to_y))
    count = np.maximum(length, 1)
    line = np.repeat(np.arange(len(x)), count)
    i = np.arange(len(line)) - np.repeat(np.cumsum(count) - count, count)
    length = count[line]
    aside = (2 * i * across[line] + length) // (2 * length)
    steep, to_x, to_y = steep[line], np.sign(to_x)[line], np.sign(to_y)[line]
    return x[line] + to_x * np.where(steep, aside, i), y[line] + to_y * np.where(steep, i, aside)


def contours(sample, size, start, cosine, sine, orbits, noise_step, step, colours, background):
    """Moves the vertices orbit by orbit and draws them on size x size pixels."""
    picture = np.full((size, size), background, np.int64)
    x, y = start
    n = len(x)
    for orbit in range(orbits):
        words = sample.block("texture", orbit // 4 * 65536 + np.arange(n))[orbit % 4]
        p, q = noise((words & np.uint32(0xFFFF)).astype(int)), noise((words >> np.uint32(16)).astype(int))
        x = fma(-(cosine * noise_step), p, x + cosine * step)
        y = fma(-(sine * noise_step), q, y + sine * step)
        column, row = line_pixels(np.floor(x).astype(int), np.floor(y).astype(int))
        inside = (column >= 0) & (column < size) & (row >= 0) & (row < size)
        shade = below(sample.block("colour", orbit // 4)[orbit % 4], colours)
        picture[row[inside], column[inside]] = min(shade, 255)
    return picture


def start_of(size, x, y, radius, ovals, cosine, sine):
    s, half = F(size) / F(512), F(0.5) * F(size)
    half_s, radius = F(0.5) * s, s * F(radius)
    return (
        fma(radius * ovals[0], cosine, fma(half_s, F(x), half)),
        fma(radius * ovals[1], sine, fma(half_s, F(y), half)),
    )


def classes_of(settings, k):
    """The parameters of the classes in the array k."""
    s = settings
    word = Sample(named_key(s["class_seed"], "visual_atom classes"), k).words("scene", 9)
    wave = between(word[5], s["waves_low"], s["waves_high"])
    other = between(word[6], s["waves_low"], max(s["waves_high"] - 1, s["waves_low"]))
    same = (wave == 0) | (s["waves_low"] == s["waves_high"])
    return {
        "radius": between(word[4], s["radius_low"], s["radius_high"]),
        "oval_x": uniform(word[7], 1, s["oval"]),
        "oval_y": uniform(word[8], 1, s["oval"]),
        "vertices": between(word[0], s["vertices_low"], s["vertices_high"]),
        "orbits": between(word[1], s["orbits_low"], s["orbits_high"]),
        "noise": uniform(word[2], s["noise_low"], s["noise_high"]),
        "line_width": uniform(word[3], 0, s["line_width"]),
        "wave_1": wave,
        "wave_2": np.where(same, between(word[6], s["waves_low"], s["waves_high"]), other + (other >= wave)),
    }


def rebuilt(settings, seed, number, size):
    sample = Sample(named_key(seed, "visual_atom"), number)
    label = below(sample.block("label", 0)[0], settings["classes"])
    words = sample.block("scene", 0)
    x, y = (int(between(word, -settings["spread"], settings["spread"])) for word in words[:2])
    k = classes_of(settings, label)
    n, s = int(k["vertices"]), F(size) / F(512)
    v = np.arange(n)
    cosine, sine = cos_sin(v.astype(F) / F(n))
    start = start_of(size, x, y, k["radius"], (k["oval_x"], k["oval_y"]), cosine, sine)
    waves = [F(0.5) * s * cos_sin((v * int(k[name]) % n).astype(F) / F(n))[1] for name in ("wave_1", "wave_2")]
    step = s * (k["noise"] + k["line_width"]) + (waves[0] + waves[1])
    picture = contours(sample, size, start, cosine, sine, int(k["orbits"]), s * k["noise"], step, 256, 0)
    return picture, int(label), latents_of(k, x, y)


def latents_of(k, x, y):
    sides = {"radius": 512, "noise": 512, "line_width": 512}
    of_class = [np.asarray(value, F) / F(sides.get(name, 1)) for name, value in k.items()]
    return [F(0.5 + x / 1024), F(0.5 + y / 1024), *of_class]


class ContourTest(TruthTest):
    """Checks for both generators that draw contours."""

    def check_pictures(self, name, defaults, rebuilt, cases):
        """The program's cosines are off by up to one ulp, which adds up to about 1e-4 pixels after 200 orbits. So about
        one vertex in 10^4 may be in the next pixel, which moves the lines to its neighbours. A thousandth of the pixels
        may differ."""
        for size, count, seed, first, changed in cases:
            with self.subTest(size=size, seed=seed, first=first, **changed):
                arguments = [f"{key}={value}" for key, value in changed.items()]
                made = self.samples(name, count, *arguments, seed=seed, first=first, size=size)
                render = 512 if "preset" in changed else changed.get("render", size)
                for row in range(count):
                    picture, label, latents = rebuilt({**defaults, **changed}, seed, first + row, render)
                    self.assertEqual(made["label"][row], label)
                    np.testing.assert_array_equal(made["latents"][row], np.array(latents, F))
                    if render == size:
                        wrong = np.any(made["x"][row] != (picture.astype(F) * F(1 / 255))[..., None], -1)
                    else:  # sums of up to 17^2 values in f32; a moved pixel is one of several
                        shrunk = resized(picture / 255, box_weights(render, size))
                        wrong = np.abs(made["x"][row] - shrunk[..., None]).max(-1) > 17**2 * 2.0**-24
                    self.assertLess(np.mean(wrong), 1e-3 * (render / size) ** 2)

    def check_ranges(self, name, of_class, classes):
        """The ranges of the latents starting at index `of_class` must equal the ranges in the classes."""
        for latent in self.samples(name, 1, size=16)["metadata"]["sources"][0]["latents"][of_class:]:
            values = classes[latent["name"]].astype(F)
            values = values / F(512) if latent["unit"] == "image side" else values
            self.assertEqual((F(latent["low"]), F(latent["high"])), (values.min(), values.max()), latent["name"])


class VisualAtom(ContourTest):
    def test_noise_table_has_the_documented_distribution(self):
        values = noise(np.arange(65536)).astype(np.float64)
        self.assertLess(abs(values.mean()), 5e-5)
        self.assertAlmostEqual(values.std(), 0.3290, delta=5e-5)
        self.assertAlmostEqual(abs(values).max(), 0.9521, delta=1e-4)

    def test_pictures(self):
        cases = (
            (64, 3, 0, 0, {}),
            (95, 2, 2**63 - 9, 2**33 + 5, {}),
            (512, 1, 1, 1, {}),
            (1024, 1, 2, 3, {"vertices_high": 250}),
            (64, 2, 5, 2**40, {"preset": "visualatom-21k", "classes": 21000}),
            (48, 2, 6, 3, {"render": 70}),
            (33, 3, 7, 12, {"classes": 5, "class_seed": 2**62 + 3, "vertices_low": 3, "vertices_high": 17, "oval": 3.3,
                            "waves_low": 6, "waves_high": 6, "orbits_low": 7, "orbits_high": 50, "noise_low": 1.25,
                            "noise_high": 6, "line_width": 0.7, "radius_low": 0, "radius_high": 512, "spread": 1024}),
            (64, 2, 9, 0, {"waves_low": 199, "waves_high": 200, "vertices_low": 1999, "vertices_high": 2000,
                           "orbits_high": 9}),
        )
        self.check_pictures("visual_atom", SETTINGS, rebuilt, cases)

    def test_classes_and_latents_of_many_samples(self):
        changed = {"orbits_high": 1, "vertices_high": 220}
        settings, count = {**SETTINGS, **changed}, 600
        made = self.samples("visual_atom", count, *(f"{k}={v}" for k, v in changed.items()), seed=3, size=16)
        sample = Sample(named_key(3, "visual_atom"), np.arange(count))
        label = below(sample.block("label", 0)[0], 1000)
        x, y = (between(word, -512, 512) for word in sample.block("scene", 0)[:2])
        np.testing.assert_array_equal(made["label"], label)
        np.testing.assert_array_equal(made["latents"].T, latents_of(classes_of(settings, label), x, y))

    def test_ranges_of_latents_match_the_classes(self):
        self.check_ranges("visual_atom", 2, classes_of(SETTINGS, np.arange(1000)))
