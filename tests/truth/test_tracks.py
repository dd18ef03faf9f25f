"""Hits rebuilt from docs/generators/algorithms/tracks.md one by one, and known properties of such detectors: the helix,
Highland's widths, errors, losses, noise, the momentum spectrum and Gluckstern's formula.

The program keeps the initial values of a path in f32 (momentum, direction, errors, widths of kicks). Each of four
functions (power or exponential of pT, exponential of eta, azimuth, a kick) may be off by 4 ulps, 4 * 2^-24. Such an
error moves a particle by this share of its path length, perpendicular to the path. The crossing moves by this distance
divided by the cosine to the surface's normal. The tolerance is the sum, ULPS = 16, plus the rounding of the coordinate
itself. Momenta are off by the same share, and rotated by the error of the path length divided by the radius. Counts of
hits, layers and particles are exact: no crossing in these samples is that close to an edge.
"""

import csv
import json
import math
import os
import subprocess
import tempfile

import numpy as np
from scipy import stats

from truth import Sample, TruthTest, below, f32, named_key, normal, unit, unit_open

ULPS = 16 * 2.0**-24
RARE = 1e-7  # false alarm rate of a test of a distribution; seeds are fixed
CURVE = 0.299792458e-3  # GeV / (T mm)

DEFAULTS = {
    "columns": "hits", "tracks_low": 1, "tracks_high": 10, "vertices": 1, "vertex_z": 55, "vertex_xy": 0.01,
    "pt_low": 0.5, "pt_high": 10, "pt_power": 1, "eta_max": 2.5, "phi_max": math.pi, "mass": 0.13957, "field": 2,
    "scattering": "highland", "pixel_thickness": 0.012, "strip_thickness": 0.013, "pixel_along": 0.0144,
    "pixel_across": 0.0162, "short_along": 0.0231, "short_across": 0.346, "long_along": 0.0346, "long_across": 3.12,
    "efficiency": 0.98, "noise": 10, "unit": 1, "items": 256,
}
PRESETS = {
    "trackml": {
        "columns": "truth", "tracks_low": 10000, "tracks_high": 10000, "vertices": 200, "pt_low": 0.15,
        "pt_high": 100, "pt_power": 3, "eta_max": 3, "noise": 15000, "items": 131072,
    },
    "coarse": {
        "columns": "position", "tracks_low": 1, "tracks_high": 1, "pt_power": 2, "pt_high": 1000, "eta_max": 0.5,
        "phi_max": 0.25, "vertex_z": 0, "vertex_xy": 0, "scattering": "off", "pixel_along": 10, "pixel_across": 10,
        "short_along": 10, "short_across": 10, "long_along": 10, "long_across": 10, "efficiency": 1, "noise": 0,
        "unit": 250, "items": 10,
    },
}
MATERIAL = {"pixel": "pixel_thickness", "short": "strip_thickness", "long": "strip_thickness"}

# Radius, half length, thickness or kind, volume, layer.
CYLINDERS = [(19, 3000, 0.8 / 352.8, 0, 0)]
CYLINDERS += [(r, 471.5, "pixel", 8, 2 * i + 2) for i, r in enumerate((32, 72, 116, 172))]
CYLINDERS += [(200, 2800, 1.8 / 352.8, 0, 0)]
CYLINDERS += [(r, 1084, "short", 13, 2 * i + 2) for i, r in enumerate((260, 360, 500, 660))]
CYLINDERS += [(r, 1084, "long", 17, 2 * i + 2) for i, r in enumerate((820, 1020))]
# |z|, radii, kind, volumes and layers at -z and +z.
RINGS = []
for places, inner, outer, a_kind, volumes in (
    ((600, 700, 820, 960, 1100, 1300, 1500), 30, 176, "pixel", (7, 9)),
    ((1220, 1500, 1800, 2150, 2550, 2950), 240, 700, "short", (12, 14)),
    ((1220, 1500, 1800, 2150, 2550, 2950), 750, 1020, "long", (16, 18)),
):
    for number, place in enumerate(places):
        layers = (2 * (len(places) - number), 2 * number + 2)
        RINGS.append((place, inner, outer, a_kind, volumes, layers))
RINGS.sort(key=lambda ring: ring[:2])


class Event:
    """One event: `rows` as with columns=truth, `slack` (tolerances of positions, mm), and `latents`."""

    def __init__(self, p, seed, number):
        self.p = {name: value if isinstance(value, str) else f32(value) for name, value in p.items()}
        self.sample = Sample(named_key(seed, "tracks"), number)
        low, high = p["tracks_low"], p["tracks_high"]
        self.n = low + int(below(self.sample.block("scene", 0)[0], high - low + 1))
        self.particles(p)
        self.surfaces()
        self.rows, self.slack = [], []
        for t in range(self.n):
            self.follow(t)
        hits = np.array([row[5] for row in self.rows], np.int64)
        counts = np.bincount(hits, minlength=self.n + 1)
        weighty = counts >= 4
        for row in self.rows:
            row[12] = 1 / counts[weighty].sum() if weighty[row[5]] else 0.0
        self.add_noise()
        first = [self.pt[0], self.eta[0], self.direction[0, 0], self.direction[0, 1], self.vertex[0, 2]]
        kept = [self.n, len(self.rows), len(self.rows) - len(hits), self.q[0] / self.pt[0]]
        self.latents = np.array(kept + first)
        self.rows = np.array(self.rows, np.float64).reshape(-1, 20)
        self.slack = np.array(self.slack, np.float64)
        self.rows[:, [0, 1, 2, 6, 7, 8, 13, 14, 15]] /= self.p["unit"]
        self.slack /= self.p["unit"]

    def particles(self, p):
        own, words = self.p, self.sample.block("scene", 1 + np.arange(self.n))
        u = [unit(word).astype(np.float64) for word in words]
        e = 1 - p["pt_power"]
        if abs(e) < 1e-6:
            span = f32(math.log(p["pt_high"] / p["pt_low"]))
            pt = f32(own["pt_low"] * f32(np.exp(f32(u[0] * span))))
        else:
            span = f32((p["pt_high"] / p["pt_low"]) ** e - 1)
            pt = f32(own["pt_low"] * f32(f32(1 + u[0] * span) ** f32(1 / f32(e))))
            pt = np.clip(pt, own["pt_low"], own["pt_high"])
        self.pt = pt
        self.eta = f32(own["eta_max"] * f32(2 * u[1] - 1))
        turns = f32(f32(p["phi_max"] / (2 * math.pi)) * f32(2 * u[2] - 1))
        self.direction = f32(np.stack([np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)], 1))
        self.q = np.where(words[3] < 2**31, 1, -1)
        grown = f32(np.exp(np.abs(self.eta)))
        self.sh = np.copysign(0.5 * f32(grown - f32(1 / grown)), self.eta)
        self.size = f32(pt * f32(np.sqrt(f32(self.sh**2 + 1))))
        place = self.sample.block("scene", 2**20 + below(words[3] << np.uint32(1), p["vertices"]))
        across = normal(place[0], place[1])
        self.vertex = np.stack([
            f32(own["vertex_xy"] * f32(across[0])), f32(own["vertex_xy"] * f32(across[1])),
            f32(own["vertex_z"] * f32(normal(place[2], place[3])[0])),
        ], 1)

    def surfaces(self):
        """Errors, losses and kicks of all particles at all surfaces."""
        draws = 2 * (31 * np.arange(self.n)[:, None] + np.arange(31))
        kicks, words = self.sample.block("noise", draws), self.sample.block("noise", draws + 1)
        self.kicks = [f32(g) for g in normal(kicks[0], kicks[1])]
        self.errors = [f32(g) for g in normal(words[0], words[1])]
        self.seen = unit(words[2]) < np.float32(self.p["efficiency"])

    def follow(self, t):
        p, size = self.p, float(self.size[t])
        x, y, z = (float(v) for v in self.vertex[t])
        ux, uy = (float(v) / math.hypot(*self.direction[t]) for v in self.direction[t])
        cot, bend = float(self.sh[t]), -float(self.q[t]) * CURVE * p["field"] / size
        k = bend * math.sqrt(1 + cot * cot)
        beta = 1 / math.sqrt((p["mass"] / size) ** 2 + 1)
        side = 0 if cot < 0 else 1
        s = 1 / math.sqrt(1 + cot * cot)
        born = [x, y, z, size * s * ux, size * s * uy, size * s * cot, int(self.q[t])]
        cylinder, ring, length, hit_plane = 0, 0, 0.0, None
        while True:
            out = along = math.inf
            if cylinder < len(CYLINDERS):
                gap = CYLINDERS[cylinder][0] ** 2 - x * x - y * y
                forwards, across = x * ux + y * uy, y * ux - x * uy
                root = forwards**2 + (1 + k * across - k * k * gap / 4) * gap
                if root >= 0 and forwards + math.sqrt(root) > 0:
                    tau = gap / (forwards + math.sqrt(root))
                    h = k * tau / 2
                    out = tau * math.atan(h) / h if h else tau
            while ring < len(RINGS) and RINGS[ring][0] == hit_plane:
                ring += 1
            if ring < len(RINGS) and cot:
                reach = ((2 * side - 1) * RINGS[ring][0] - z) / cot
                if reach > 0 and abs(k * reach) < math.pi:
                    along = reach
            way = min(out, along)
            if way == math.inf:
                return
            half = k * way / 2
            chord = way * (math.sin(half) / half if half else 1)
            c, s = math.cos(half), math.sin(half)
            there = x + chord * (c * ux - s * uy), y + chord * (c * uy + s * ux), z + way * cot
            c, s = math.cos(2 * half), math.sin(2 * half)
            turned = c * ux - s * uy, c * uy + s * ux
            outwards = there[0] * turned[0] + there[1] * turned[1]
            if outwards <= 0:
                return
            on_cylinder = out <= along
            r = math.hypot(there[0], there[1])
            if on_cylinder:
                j, (r, high, kind, volume, layer) = cylinder, CYLINDERS[cylinder]
                cylinder += 1
                if abs(there[2]) > high:
                    continue
            else:
                j, (plane, low, high, kind, volumes, layers) = 12 + ring, RINGS[ring]
                ring += 1
                if not low <= r <= high:
                    continue
                volume, layer, hit_plane = volumes[side], layers[side], plane
            length += way * math.sqrt(1 + cot * cot)
            (x, y, z), (ux, uy) = there, turned
            s = 1 / math.sqrt(1 + cot * cot)
            c = cot * s
            slope = s * outwards / r if on_cylinder else abs(c)
            if volume and self.seen[t, j]:
                f = f32(p[kind + "_along"] * self.errors[0][t, j]) / r
                off = f32(p[kind + "_across"] * self.errors[1][t, j])
                if on_cylinder:
                    shrink = math.sqrt(1 + f * f)
                    measured = [(x - f * y) / shrink, (y + f * x) / shrink, z + off]
                else:
                    measured = [(1 + off / r) * x - f * y, (1 + off / r) * y + f * x, z]
                momentum = [size * s * ux, size * s * uy, size * c]
                self.rows.append(measured + [volume, layer, t + 1, x, y, z] + momentum + [0.0] + born)
                self.slack.append(ULPS * length / slope)
            if p["scattering"] == "off":
                continue
            thickness = (p[MATERIAL[kind]] if isinstance(kind, str) else kind) / max(slope, 0.05)
            theta = 0.0
            if thickness > 0:
                theta = 0.0136 / (beta * size) * math.sqrt(thickness)
                theta *= max(1 + 0.038 * math.log(thickness / beta**2), 0)
            g1, g2 = theta * self.kicks[0][t, j], theta * self.kicks[1][t, j]
            d = (s + g2 * c) * ux - g1 * uy, (s + g2 * c) * uy + g1 * ux
            ux, uy, cot = d[0] / math.hypot(*d), d[1] / math.hypot(*d), (c - g2 * s) / math.hypot(*d)
            k = bend * math.sqrt(1 + cot * cot)
            if x * ux + y * uy <= 0:
                return

    def add_noise(self):
        for number, area, volume, layer, surface in LAYERS:
            mean = self.p["noise"] * area / AREA
            if mean == 0:
                continue
            words = self.sample.block("texture", 2**16 * number + np.arange(int(mean + 8 * math.sqrt(mean) + 20)))
            total = np.cumsum(f32(-np.log(unit_open(words[0]).astype(np.float64))))
            count = int(np.sum(total < mean))
            phi = 2 * np.pi * f32(total[:count] / mean)
            u = unit(words[1][:count]).astype(np.float64)
            if number < 12:
                r, z = np.full(count, float(surface[0])), surface[1] * (2 * u - 1)
            else:
                r = np.sqrt(surface[1] ** 2 + u * (surface[2] ** 2 - surface[1] ** 2))
                z = np.full(count, surface[0] * (1.0 if number < 31 else -1.0))
            for place in zip(r * np.cos(phi), r * np.sin(phi), z):
                self.rows.append([*place, volume, layer, 0, *place] + 11 * [0.0])
                self.slack.append(ULPS * 1500)


LAYERS = [(i, 4 * math.pi * c[0] * c[1], c[3], c[4], c) for i, c in enumerate(CYLINDERS) if c[3]]
for a_side in (1, 0):
    for number, ring in enumerate(RINGS):
        area = math.pi * (ring[2] ** 2 - ring[1] ** 2)
        LAYERS.append(((12 if a_side else 31) + number, area, ring[4][a_side], ring[5][a_side], ring))
AREA = sum(layer[1] for layer in LAYERS)


class TracksTest(TruthTest):
    def compare(self, count, settings, seed, first=0, preset=None):
        p = DEFAULTS | (PRESETS[preset] if preset else {}) | settings
        written = [f"preset={preset}"] if preset else []
        written += [f"{name}={value}" for name, value in settings.items()]
        made = self.samples("tracks", count, *written, seed=seed, first=first)
        self.assertEqual(made["metadata"]["parameters"], p)
        columns = {"position": 3, "hits": 5, "truth": 20}[p["columns"]]
        for i in range(count):
            event = Event(p, seed, first + i)
            self.assertEqual(made["label"][i], event.n - p["tracks_low"])
            np.testing.assert_array_equal(made["latents"][i][:3], event.latents[:3])
            np.testing.assert_allclose(made["latents"][i][3:5], event.latents[3:5], rtol=ULPS)
            np.testing.assert_allclose(made["latents"][i][5:], event.latents[5:], rtol=4 * 2**-24, atol=4 * 2**-24)
            seen = made["x"][made["offsets"][i] : made["offsets"][i + 1]].astype(np.float64)
            rows, slack = event.rows[: p["items"], :columns], event.slack[: p["items"]]
            self.assertEqual(seen.shape, rows.shape)
            np.testing.assert_array_equal(seen[:, 3:6], rows[:, 3:6])
            off = np.abs(seen - rows)
            for lengths in ([0, 1, 2], [6, 7, 8])[: 2 if columns == 20 else 1]:
                allowed = slack[:, None] + ULPS * np.abs(rows[:, lengths])
                self.assertTrue(np.all(off[:, lengths] <= allowed), np.max(off[:, lengths] / (allowed + 1e-300)))
            if columns == 20:
                size = np.linalg.norm(rows[:, 16:19], axis=1, keepdims=True)
                curves = CURVE * p["field"] / np.maximum(np.hypot(rows[:, 16], rows[:, 17]), 1e-9)
                turned = (ULPS + slack * p["unit"] * curves)[:, None]
                self.assertTrue(np.all(off[:, 9:12] <= turned * size))
                self.assertTrue(np.all(off[:, 16:19] <= ULPS * size))
                np.testing.assert_allclose(seen[:, 12], rows[:, 12], rtol=2**-24)
                np.testing.assert_allclose(seen[:, 13:16], rows[:, 13:16], rtol=ULPS)
                np.testing.assert_array_equal(seen[:, 19], rows[:, 19])

    def test_default(self):
        self.compare(5, {"columns": "truth"}, seed=3)
        self.compare(5, {"columns": "truth"}, seed=2**62 + 11, first=2**32 - 2)

    def test_columns_and_full_sets(self):
        for columns in ("position", "hits", "truth"):
            self.compare(3, {"columns": columns, "items": 25}, seed=8, first=2**40)

    def test_presets(self):
        self.compare(20, {}, seed=5, preset="coarse")
        self.compare(1, {"tracks_low": 150, "tracks_high": 150, "noise": 300}, seed=5, preset="trackml")

    def test_soft_forward_and_many_vertices(self):
        settings = {"columns": "truth", "tracks_low": 60, "tracks_high": 60, "items": 3000}
        self.compare(1, settings | {
            "pt_low": 0.05, "pt_high": 0.3, "pt_power": 0, "eta_max": 4, "field": 4, "vertices": 7, "vertex_z": 100,
            "vertex_xy": 1, "efficiency": 0.5, "noise": 500,
        }, seed=4)
        self.compare(1, settings | {
            "pt_power": 2.5, "mass": 2, "pixel_thickness": 0.2, "strip_thickness": 0.1, "unit": 1000, "phi_max": 1,
            "pixel_along": 30, "pixel_across": 20, "short_along": 50, "short_across": 40, "noise": 0,
        }, seed=4)
        wild = {"pt_low": 0.05, "pt_high": 0.1, "pixel_thickness": 0.2, "strip_thickness": 0.2, "noise": 0, "mass": 0.5}
        self.compare(1, settings | wild, seed=7)

    def test_straight_and_without_matter(self):
        settings = {"columns": "truth", "tracks_low": 40, "tracks_high": 40, "items": 3000}
        self.compare(1, settings | {"field": 0, "eta_max": 0, "noise": 0}, seed=6)
        self.compare(1, settings | {"scattering": "off", "pt_power": 8, "unit": 0.001, "efficiency": 1}, seed=6)
        self.compare(1, settings | {"pixel_thickness": 0, "strip_thickness": 0, "mass": 0}, seed=6)

    def barrel(self, n, **settings):
        """n particles from the origin that meet only the cylinders: returns the rows of their hits."""
        plain = {
            "columns": "truth", "tracks_low": n, "tracks_high": n, "eta_max": 0.4, "vertex_z": 0, "vertex_xy": 0,
            "noise": 0, "items": 131072,
        }
        written = [f"{name}={value}" for name, value in (plain | settings).items()]
        return self.samples("tracks", 1, *written, seed=9)["x"].astype(np.float64)

    def test_helix_spectrum_and_losses(self):
        """A particle from the origin reaches radius r at azimuth phi0 - q asin(r / 2 R), rotated by twice that angle,
        and at z = sinh(eta) 2 R asin(r / 2 R), where R = p_T / (0.2998 B)."""
        n = 1000
        x = self.barrel(n, scattering="off", pt_power=3, efficiency=0.9)
        pt, q = np.hypot(x[:, 16], x[:, 17]), x[:, 19]
        r, big = np.hypot(x[:, 6], x[:, 7]), pt / (CURVE * 2)
        turn = np.arcsin(r / (2 * big))
        for place, angle in (((6, 7), turn), ((9, 10), 2 * turn)):
            off = np.arctan2(x[:, place[1]], x[:, place[0]]) - np.arctan2(x[:, 17], x[:, 16]) + q * angle
            self.assertLess(np.max(np.abs((off + np.pi) % (2 * np.pi) - np.pi)), 2e-6)
        np.testing.assert_allclose(x[:, 8], x[:, 18] / pt * 2 * big * turn, atol=1e-3)
        self.assertLess(np.max(np.abs(x[:, 11] - x[:, 18])), 1e-5)
        radii = [c[0] for c in CYLINDERS if c[3]]
        self.assertEqual(sorted(set(np.round(r, 2))), radii)
        self.assertGreater(stats.binomtest(len(x), 10 * n, 0.9).pvalue, RARE)

        x = x[np.unique(x[:, 5], return_index=True)[1]]
        pt, eta = np.hypot(x[:, 16], x[:, 17]), np.arcsinh(x[:, 18] / np.hypot(x[:, 16], x[:, 17]))
        share = (1 - (0.5 / pt) ** 2) / (1 - (0.5 / 10) ** 2)
        turns = np.arctan2(x[:, 17], x[:, 16]) / (2 * np.pi) + 0.5
        for values in (share, eta / 0.8 + 0.5, turns):
            self.assertGreater(stats.kstest(np.clip(values, 0, 1), "uniform").pvalue, RARE)
        self.assertGreater(stats.binomtest(int(np.sum(x[:, 19] > 0)), len(x), 0.5).pvalue, RARE)

    def test_highland_and_errors(self):
        """For straight, slow particles perpendicular to the layers, kinks between adjacent layers and errors are normal
        numbers, with widths from Highland's formula (PDG 2024, 34.16) and from the parameters."""
        n = 800
        x = self.barrel(n, field=0, eta_max=0, pt_low=1, pt_high=1, mass=1, efficiency=1).reshape(n, 10, 20)
        beta = math.sqrt(0.5)
        phi = np.arctan2(x[:, :, 10], x[:, :, 9])
        rise = np.arcsin(np.clip(x[:, :, 11] / np.linalg.norm(x[:, :, 9:12], axis=2), -1, 1))
        for matter, layers in ((0.012, [0, 1, 2]), (0.013, [4, 5, 6, 7, 8])):
            theta = 0.0136 / beta * math.sqrt(matter) * (1 + 0.038 * math.log(matter / beta**2))
            for angle in (phi, rise):
                kinks = angle[:, [layer + 1 for layer in layers]] - angle[:, layers]
                kinks = ((kinks + np.pi) % (2 * np.pi) - np.pi) / theta
                self.assertGreater(stats.kstest(kinks.ravel(), "norm").pvalue, RARE)
                squares, count = np.sum(kinks**2), kinks.size
                self.assertGreater(2 * min(stats.chi2.cdf(squares, count), stats.chi2.sf(squares, count)), RARE)
        for layers, along, across in (
            ([0, 1, 2, 3], 0.0144, 0.0162), ([4, 5, 6, 7], 0.0231, 0.346), ([8, 9], 0.0346, 3.12),
        ):
            hit, true = x[:, layers, :3], x[:, layers, 6:9]
            r = np.hypot(true[..., 0], true[..., 1])
            turned = (hit[..., 1] * true[..., 0] - hit[..., 0] * true[..., 1]) / r
            for error, width in ((turned, along), (hit[..., 2] - true[..., 2], across)):
                self.assertGreater(stats.kstest((error / width).ravel(), "norm").pvalue, RARE)

    def test_noise_is_uniform_over_the_area(self):
        made = self.samples("tracks", 1, "tracks_high=1", "efficiency=0", "noise=20000", "items=131072", seed=12)["x"]
        x = made.astype(np.float64)
        self.assertGreater(2 * min(stats.poisson.cdf(len(x), 20000), stats.poisson.sf(len(x) - 1, 20000)), RARE)
        counts = [np.sum((x[:, 3] == layer[2]) & (x[:, 4] == layer[3])) for layer in LAYERS]
        self.assertEqual(sum(counts), len(x))
        wanted = np.array([layer[1] for layer in LAYERS]) / AREA * len(x)
        self.assertGreater(stats.chisquare(counts, wanted).pvalue, RARE)
        self.assertGreater(stats.kstest(np.arctan2(x[:, 1], x[:, 0]) / (2 * np.pi) + 0.5, "uniform").pvalue, RARE)
        barrel, discs = x[x[:, 3] == 17], x[x[:, 3] == 18]
        self.assertGreater(stats.kstest(barrel[:, 2] / 2168 + 0.5, "uniform").pvalue, RARE)
        share = (discs[:, 0] ** 2 + discs[:, 1] ** 2 - 750**2) / (1020**2 - 750**2)
        self.assertGreater(stats.kstest(np.clip(share, 0, 1), "uniform").pvalue, RARE)

    def test_coarse_resolution_matches_gluckstern(self):
        """The best fit of q / p_T to azimuths has a normal error with variance 1 / I(w)."""
        n = 1000
        made = self.samples("tracks", n, "preset=coarse", seed=13)
        r = np.array([c[0] for c in CYLINDERS if c[3]], np.float64)
        x = made["x"].astype(np.float64).reshape(n, 10, 3) * 250
        truth = made["latents"][:, 3].astype(np.float64)
        self.assertGreater(stats.kstest(truth / 4 + 0.5, "uniform").pvalue, RARE)
        azimuth = np.arctan2(x[..., 1], x[..., 0])
        start = np.arctan2(made["latents"][:, 7], made["latents"][:, 6]).astype(np.float64)
        half = CURVE * 2 * r / 2

        def slopes(w):
            return half * r / np.sqrt(1 - (w[:, None] * half) ** 2)

        def information(a):
            return (np.sum(a**2, 1) - np.sum(a * r, 1) ** 2 / np.sum(r**2)) / 100

        # A measurement is rotated by arctan(error / r); to first order, the error of a fit is linear in it.
        crossing = start[:, None] - np.arcsin(truth[:, None] * half)
        error = r * np.tan(azimuth - crossing)
        self.assertGreater(stats.kstest((error / 10).ravel(), "norm").pvalue, RARE)
        a = slopes(truth)
        project = a - r * (np.sum(a * r, 1) / np.sum(r**2))[:, None]
        shift = -np.sum(project * error, 1) / np.sum(project**2, 1)
        pulls = shift * np.sqrt(information(a))
        self.assertGreater(stats.kstest(pulls, "norm").pvalue, RARE)
        even = (np.arange(4000) + 0.5) / 1000 - 2
        self.assertAlmostEqual(math.sqrt(np.mean(1 / information(slopes(even)))), 0.0788, delta=0.00005)
        # For eta: z grows by cot = sinh(eta) per arc length, and eta is uniform in +-0.5.
        arcs = np.arcsin(even[:, None] * half) / (even[:, None] * half) * r
        error = 10 * math.sqrt(np.mean(1 / np.sum(arcs**2, 1)) * math.tanh(0.5) / 0.5)
        self.assertAlmostEqual(error, 0.0058, delta=0.00005)

    def test_files_of_trackml(self):
        """The rows of columns=truth, sorted by volume, layer, z and x, with numbers exact to f32."""
        settings = ["columns=truth", "tracks_low=5", "items=60", "efficiency=0.3"]
        made = self.samples("tracks", 2, *settings, seed=3, first=10**9)
        with tempfile.TemporaryDirectory() as folder:
            folder = os.path.join(folder, "events.trackml")
            command = [os.environ["WELLSPRING"], "export", "tracks", *settings, "--count", "2", "--seed", "3"]
            command += ["--first", str(10**9), "--out", folder]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            files = {}
            for name in os.listdir(folder):
                with open(os.path.join(folder, name), encoding="utf-8", newline="") as file:
                    files[name] = json.load(file) if name.endswith(".json") else list(csv.reader(file))
        self.assertEqual(len(files), 7)
        self.assertEqual(files["metadata.json"]["parameters"], made["metadata"]["parameters"])
        for i in range(2):
            x = made["x"][made["offsets"][i] : made["offsets"][i + 1]]
            x = x[np.lexsort((x[:, 0], x[:, 2], x[:, 4], x[:, 3]))]
            hits, truth, particles = (files[f"event{10**9 + i}-{name}.csv"] for name in ("hits", "truth", "particles"))
            self.assertEqual(hits[0], "hit_id,x,y,z,volume_id,layer_id,module_id".split(","))
            self.assertEqual(truth[0], "hit_id,particle_id,tx,ty,tz,tpx,tpy,tpz,weight".split(","))
            self.assertEqual(particles[0], "particle_id,vx,vy,vz,px,py,pz,q,nhits".split(","))
            ids, none = np.arange(1, len(x) + 1)[:, None], np.zeros((len(x), 1))
            np.testing.assert_array_equal(np.array(hits[1:], np.float32), np.hstack([ids, x[:, :5], none]))
            np.testing.assert_array_equal(np.array(truth[1:], np.float32), np.hstack([ids, x[:, 5:13]]))
            numbers, firsts, counts = np.unique(x[:, 5], return_index=True, return_counts=True)
            own = numbers > 0
            wanted = np.hstack([numbers[:, None], x[firsts, 13:], counts[:, None]])[own]
            np.testing.assert_array_equal(np.array(particles[1:], np.float32), wanted)
