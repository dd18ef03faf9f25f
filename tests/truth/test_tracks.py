"""Hits of docs/generators/tracks.md, made anew in double precision.

What the program has in f32 before the way begins (momentum, direction, errors, widths of scattering) is off by some
units of 2^-24, 6e-8, each; a way of up to 7 m, with the curvature that goes with it, makes 1e-6 of its length of that,
and each of up to 20 kicks, up to 0.1 rad wide, as much of the lengths after it, all together below 2e-5. Where the program and this
script differ in the number of hits, something lies as near to an edge; that may happen to one event of each run.
"""

import math
import unittest

import numpy as np

from truth import Sample, TruthTest, below, named_key, normal, unit, unit_open

CYLINDERS = [(19, 3000, 0.8 / 352.8, 0, 0)] + [(r, 471.5, "pixel", 8, 2 * i + 2) for i, r in enumerate((32, 72, 116, 172))]
CYLINDERS += [(200, 2800, 1.8 / 352.8, 0, 0)]
CYLINDERS += [(r, 1084, "short", 13, 2 * i + 2) for i, r in enumerate((260, 360, 500, 660))]
CYLINDERS += [(r, 1084, "long", 17, 2 * i + 2) for i, r in enumerate((820, 1020))]
PIXEL_DISCS = (600, 700, 820, 960, 1100, 1300, 1500)
STRIP_DISCS = (1220, 1500, 1800, 2150, 2550, 2950)
RINGS = [(z, 30, 176, "pixel", (7, 9), (14 - 2 * i, 2 * i + 2)) for i, z in enumerate(PIXEL_DISCS)]
RINGS += [(z, 240, 700, "short", (12, 14), (12 - 2 * i, 2 * i + 2)) for i, z in enumerate(STRIP_DISCS)]
RINGS += [(z, 750, 1020, "long", (16, 18), (12 - 2 * i, 2 * i + 2)) for i, z in enumerate(STRIP_DISCS)]
RINGS.sort(key=lambda ring: (ring[0], ring[2]))


def f32(x):
    return float(np.float32(x))


def rotate(u, angle):
    c, s = math.cos(angle), math.sin(angle)
    return c * u[0] - s * u[1], c * u[1] + s * u[0]


class Way:
    def __init__(self, p, sample, t):
        words = sample.block("scene", 1 + t)
        u = [float(unit(w)) for w in words]
        e = 1 - p["pt_power"]
        if e == 0:
            self.pt = p["pt_low"] * (p["pt_high"] / p["pt_low"]) ** u[0]
        else:
            self.pt = p["pt_low"] * (1 + u[0] * ((p["pt_high"] / p["pt_low"]) ** e - 1)) ** (1 / e)
        self.eta = p["eta_max"] * (2 * u[1] - 1)
        phi = p["phi_max"] * (2 * u[2] - 1)
        self.q = 1 if int(words[3]) < 2**31 else -1
        place = sample.block("scene", 2**20 + int(below(np.uint32(2 * int(words[3]) % 2**32), p["vertices"])))
        self.vertex = [p["vertex_xy"] * float(g) for g in normal(place[0], place[1])]
        self.vertex.append(p["vertex_z"] * float(normal(place[2], place[3])[0]))
        self.p = self.pt * math.cosh(self.eta)
        self.momentum = [self.pt * math.cos(phi), self.pt * math.sin(phi), self.pt * math.sinh(self.eta)]
        self.at, self.u, self.cot = list(self.vertex), (math.cos(phi), math.sin(phi)), math.sinh(self.eta)
        self.bend = -self.q * 0.299792458e-3 * p["field"] / self.p

    def k(self):
        return self.bend * math.sqrt(1 + self.cot**2)

    def after(self, s):
        """Place and direction, by sines and cosines of the angle about the centre of the circle."""
        k = self.k()
        end = rotate(self.u, k * s)
        centre = self.at[0] - self.u[1] / k, self.at[1] + self.u[0] / k
        return [centre[0] + end[1] / k, centre[1] - end[0] / k, self.at[2] + s * self.cot], end

    def to_cylinder(self, r):
        """By the angles of the triangle of the axis, the circle's centre and the crossing."""
        k = self.k()
        centre = self.at[0] - self.u[1] / k, self.at[1] + self.u[0] / k
        d, big = math.hypot(*centre), 1 / abs(k)
        cosine = (d * d + big * big - r * r) / (2 * d * big)
        if abs(cosine) > 1:
            return None
        # Seen from the centre: the axis, and to either side of it the crossings.
        axis = math.atan2(-centre[1], -centre[0])
        here = math.atan2(self.at[1] - centre[1], self.at[0] - centre[0])
        turns = [(axis + side * math.acos(cosine) - here) * (1 if k > 0 else -1) for side in (1, -1)]
        turns = [turn % (2 * math.pi) for turn in turns]
        return min(turns) * big if min(turns) < math.pi else None

    def to_plane(self, z):
        s = (z - self.at[2]) / self.cot if self.cot else -1
        return s if s > 0 and abs(self.k() * s) < math.pi else None


def hits_of(p, sample, t):
    way, hits, cylinder, ring = Way(p, sample, t), [], 0, 0
    side = 0 if way.cot < 0 else 1
    while True:
        out = way.to_cylinder(CYLINDERS[cylinder][0]) if cylinder < len(CYLINDERS) else None
        along = way.to_plane((2 * side - 1) * RINGS[ring][0]) if ring < len(RINGS) else None
        if out is None and along is None:
            return way, hits
        on_cylinder = along is None or (out is not None and out <= along)
        place, u = way.after(out if on_cylinder else along)
        r = math.hypot(place[0], place[1])
        outwards = (place[0] * u[0] + place[1] * u[1]) / r
        if on_cylinder:
            j, (_, high, kind, volume, layer) = cylinder, CYLINDERS[cylinder]
            low, reach = 0, abs(place[2])
            cylinder += 1
        else:
            j, (z, low, high, kind, volumes, layers) = 12 + ring, RINGS[ring]
            volume, layer, reach = volumes[side], layers[side], r
            ring += 1
        if outwards <= 0:
            return way, hits
        if not low <= reach <= high:
            continue
        if not on_cylinder:
            while ring < len(RINGS) and RINGS[ring][0] == z:
                ring += 1
        way.at, way.u = place, u
        s = 1 / math.sqrt(1 + way.cot**2)
        c = way.cot * s
        if volume:
            words = sample.block("noise", 2 * (31 * t + j) + 1)
            if float(unit(words[2])) < f32(p["efficiency"]):
                g = [float(x) for x in normal(words[0], words[1])]
                turn, across = p[kind + "_along"] * g[0] / r, p[kind + "_across"] * g[1]
                if on_cylinder:
                    n = math.sqrt(1 + turn**2)
                    seen = [(place[0] - turn * place[1]) / n, (place[1] + turn * place[0]) / n, place[2] + across]
                else:
                    seen = [(1 + across / r) * place[0] - turn * place[1], (1 + across / r) * place[1] + turn * place[0]]
                    seen.append(place[2])
                hits.append(seen + [volume, layer, t + 1] + place + [way.p * s * u[0], way.p * s * u[1], way.p * c])
        if p["scattering"] == "highland":
            words = sample.block("noise", 2 * (31 * t + j))
            g = [float(x) for x in normal(words[0], words[1])]
            x0 = kind if not isinstance(kind, str) else p["pixel_thickness" if kind == "pixel" else "strip_thickness"]
            thickness = x0 / max(s * outwards if on_cylinder else abs(c), 0.05)
            beta = 1 / math.sqrt(1 + (p["mass"] / way.p) ** 2)
            theta = 0.0136 / (beta * way.p) * math.sqrt(thickness) * max(1 + 0.038 * math.log(thickness / beta**2), 0)
            d = np.array([s * u[0], s * u[1], c])
            d = d + theta * g[0] * np.array([-u[1], u[0], 0]) + theta * g[1] * np.array([c * u[0], c * u[1], -s])
            size = math.hypot(d[0], d[1])
            way.u, way.cot = (d[0] / size, d[1] / size), d[2] / size
            if place[0] * way.u[0] + place[1] * way.u[1] <= 0:
                return way, hits


def noise_of(p, sample):
    layers = [(i, 4 * math.pi * c[0] * c[1], c) for i, c in enumerate(CYLINDERS) if c[3]]
    for side in (1, 0):
        first = 12 if side else 31
        layers += [(first + i, math.pi * (ring[2] ** 2 - ring[1] ** 2), (ring, side)) for i, ring in enumerate(RINGS)]
    area, hits = sum(layer[1] for layer in layers), []
    for number, own, surface in layers:
        mean, total, k = p["noise"] * own / area, 0.0, 0
        while True:
            words = sample.block("texture", 2**16 * number + k)
            total -= math.log(float(unit_open(words[0])))
            if total >= mean:
                break
            phi, u = 2 * math.pi * total / mean, float(unit(words[1]))
            if number < 12:
                r, z, volume, layer = surface[0], surface[1] * (2 * u - 1), surface[3], surface[4]
            else:
                ring, side = surface
                r, z = math.sqrt(ring[1] ** 2 + u * (ring[2] ** 2 - ring[1] ** 2)), (2 * side - 1) * ring[0]
                volume, layer = ring[4][side], ring[5][side]
            place = [r * math.cos(phi), r * math.sin(phi), z]
            hits.append(place + [volume, layer, 0] + place + [0, 0, 0])
            k += 1
    return hits


class TracksTest(TruthTest):
    def compare(self, count, settings, seed, first=0):
        p = {
            "tracks_low": 1, "tracks_high": 10, "vertices": 1, "vertex_z": 55, "vertex_xy": 0.01, "pt_low": 0.5,
            "pt_high": 10, "pt_power": 1, "eta_max": 2.5, "phi_max": math.pi, "mass": 0.13957, "field": 2,
            "scattering": "highland", "pixel_thickness": 0.012, "strip_thickness": 0.013, "pixel_along": 0.0144,
            "pixel_across": 0.0162, "short_along": 0.0231, "short_across": 0.346, "long_along": 0.0346,
            "long_across": 3.12, "efficiency": 0.98, "noise": 10,
        } | settings
        written = ["columns=truth", "items=2000"] + [f"{name}={value}" for name, value in settings.items()]
        made = self.samples("tracks", count, *written, seed=seed, first=first)
        edges = 0
        for i in range(count):
            sample = Sample(named_key(seed, "tracks"), first + i)
            n = p["tracks_low"] + int(below(sample.block("scene", 0)[0], p["tracks_high"] - p["tracks_low"] + 1))
            self.assertEqual(made["label"][i], n - p["tracks_low"])
            rows = []
            ways = []
            for t in range(n):
                way, hits = hits_of(p, sample, t)
                rows += hits
                ways += [way] * len(hits)
            noise = noise_of(p, sample) if p["noise"] else []
            seen = made["x"][made["offsets"][i] : made["offsets"][i + 1]].astype(np.float64)
            if len(seen) != len(rows) + len(noise):
                edges += 1
                continue
            if not len(seen):
                continue
            wanted = np.array(rows + noise, np.float64)
            np.testing.assert_array_equal(seen[:, 3:6], wanted[:, 3:6])
            lengths, momenta = [0, 1, 2, 6, 7, 8], [9, 10, 11]
            scale = 1000 + np.abs(wanted[:, 2:3])
            self.assertLess(np.max(np.abs(seen - np.pad(wanted, ((0, 0), (0, 8))))[:, lengths] / scale), 2e-5)
            size = np.sqrt(np.sum(wanted[:, momenta] ** 2, 1, keepdims=True)) + 1e-9
            self.assertLess(np.max(np.abs(seen[:, momenta] - wanted[:, momenta]) / size), 2e-5)
            hits_by = np.bincount(wanted[:, 5].astype(int), minlength=n + 1)
            counts = (wanted[:, 5] > 0) & (hits_by[wanted[:, 5].astype(int)] >= 4)
            np.testing.assert_allclose(seen[:, 12], counts / max(counts.sum(), 1), rtol=1e-6)
            for row, way in zip(seen, ways):
                np.testing.assert_allclose(row[13:16], way.vertex, rtol=0, atol=1e-4)
                np.testing.assert_allclose(row[16:19], way.momentum, rtol=0, atol=2e-6 * way.p)
                self.assertEqual(row[19], way.q)
        self.assertLessEqual(edges, 1)

    def test_default(self):
        self.compare(40, {}, seed=3, first=2**32 - 10)

    def test_soft_and_forward(self):
        settings = {"pt_low": 0.1, "pt_power": 3, "eta_max": 3.5, "vertices": 4, "noise": 100, "tracks_high": 12}
        self.compare(30, settings, seed=4)

    def test_without_scattering(self):
        self.compare(30, {"scattering": "off", "pt_power": 0, "field": 3.8, "noise": 0, "efficiency": 1}, seed=5)


if __name__ == "__main__":
    unittest.main()
