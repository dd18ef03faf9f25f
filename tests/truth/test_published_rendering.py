"""Presets of the canvas generators compared with the published programs, rebuilt from their descriptions: 200 pictures
of the same classes and places with other random numbers, drawn at the published size and shrunk. Means, deviations and
spectra must agree within 3 %."""

import numpy as np

from resample import box_weights, resized, ring_amplitudes
from test_ifs import fractaldb_class, orbit
from test_visual_atom import PERMUTATION, line_pixels
from truth import TruthTest

GRADIENT = np.array([d + 1 if d < 8 else -1 for d in (int(digit, 16) for digit in PERMUTATION)])


def noise(rng, count):
    """pnoise1(uniform(0, 10000)) of the Python package `noise`."""
    x = rng.uniform(0, 10000, count)
    cell, x = np.floor(x).astype(int) & 255, x % 1
    near, after = GRADIENT[cell] * x, GRADIENT[(cell + 1) & 255] * (x - 1)
    return 0.4 * (near + x**3 * (x * (6 * x - 15) + 10) * (after - near))


def contours(rng, latents, noise_factor, waves, shades, background):
    """The loop of make_VisualAtom.sh and make_rcdb.py on 512x512 pixels, with Pillow's truncated coordinates."""
    picture = np.full((512, 512), background)
    n, c = int(latents["vertices"]), 512 * float(latents["noise"])
    angle = 2 * np.pi / n * np.arange(n)
    cosine, sine, radius = np.cos(angle), np.sin(angle), 512 * float(latents["radius"])
    x = radius * latents["oval_x"] * cosine + 512 * float(latents["centre_x"])
    y = radius * latents["oval_y"] * sine + 512 * float(latents["centre_y"])
    step = c + 512 * float(latents["line_width"]) + sum(0.5 * np.sin(angle * latents[wave]) for wave in waves)
    for _ in range(int(latents["orbits"])):
        shade = min(rng.integers(shades), 255)
        x = x + cosine * (step - noise_factor * c * noise(rng, n))
        y = y + sine * (step - noise_factor * c * noise(rng, n))
        column, row = line_pixels(np.trunc(x).astype(int), np.trunc(y).astype(int))
        inside = (column >= 0) & (column < 512) & (row >= 0) & (row < 512)
        picture[row[inside], column[inside]] = shade
    return picture / 255


def fractaldb(rng, label, variation):
    """200,000 points of one chain from the origin, scaled to 362x362 pixels. Each point pastes a random patch with
    opaque zeros."""
    variations = fractaldb_class(label, 0.4)[0]
    maps, first = variations[variation].astype(np.float64), variations[0].astype(np.float64)
    weight = np.abs(first[:, 0] * first[:, 3] - first[:, 1] * first[:, 2])
    chosen = rng.choice(len(maps), 199999, p=weight / weight.sum())
    points = orbit(maps[None], chosen)[:, 0]
    low, high = points.min(axis=1, keepdims=True), points.max(axis=1, keepdims=True)
    pixel = np.floor((points - low) / (high - low) * 350 + 6).astype(int)
    column, row = pixel[:, ((pixel >= 0) & (pixel < 362)).all(axis=0)]
    bits = rng.integers(1, 512, len(column))[:, None] >> np.arange(9) & 1
    picture = np.zeros((364, 364))
    picture[(row[:, None] + np.arange(9) // 3).ravel(), (column[:, None] + np.arange(9) % 3).ravel()] = bits.ravel()
    return picture[1:-1, 1:-1] * (127 / 255)


class PublishedRendering(TruthTest):
    def compare(self, name, draw, *settings):
        rng = np.random.default_rng(1)
        made = {size: self.samples(name, 200, *settings, size=size) for size in (224, 64)}
        names = [latent["name"] for latent in made[64]["metadata"]["sources"][0]["latents"]]
        latents = [dict(zip(names, row)) for row in made[64]["latents"]]
        theirs = [draw(rng, label, row) for label, row in zip(made[64]["label"], latents)]
        for size, samples in made.items():
            weights = box_weights(len(theirs[0]), size)
            shrunk = np.array([resized(picture, weights) for picture in theirs])
            ours = samples["x"][..., 0].astype(np.float64)
            for measure in (np.mean, np.std, ring_amplitudes):
                with self.subTest(size=size, measure=measure.__name__):
                    np.testing.assert_allclose(measure(ours), measure(shrunk), rtol=0.03)

    def test_visual_atom(self):
        waves = ("wave_1", "wave_2")
        self.compare("visual_atom", lambda rng, _, row: contours(rng, row, 1, waves, 256, 0), "preset=visualatom-1k")

    def test_rcdb(self):
        self.compare("rcdb", lambda rng, _, row: contours(rng, row, 2, (), 257, 255), "preset=rcdb-1k")

    def test_fractaldb(self):
        """Mirrored pictures have the same statistics."""
        self.compare(
            "ifs", lambda rng, label, row: fractaldb(rng, int(label), int(row["variation"])),
            "preset=fractaldb-1k", "categories=10", "patches=0", "keep_degenerate=false",
        )
