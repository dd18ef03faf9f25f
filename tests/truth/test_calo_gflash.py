"""Showers rebuilt from docs/generators/algorithms/calo_gflash.md in double precision.

The program derives integer numbers of units, spots and cells from floats with 24 bits. Its T, alpha and incomplete
gamma function are off by a few units in the last place, so P(alpha, beta t) is off by up to SHARE (largest seen: 3e-7),
and a slice's energy is off by this share of the particle's energy. For showers near an edge, only the first latents
are compared. A shower is near an edge if the number of spots in one slice, before rounding, is within this error of a
half, or if a slice has so little energy that rounding decides whether it has a spot at all. At most 1 in 4 showers is
near an edge, usually one with many spots. In mode gflash_lite, 1 spot in 1000 plus 2 may be in another cell. Everything
else must agree.
"""

import numpy as np
from scipy.special import gammainc

from truth import Sample, TruthTest, below, named_key, normal, unit, unit_open

SHARE = 1e-6  # energy tolerance of a slice, relative to the particle's energy
MATERIALS = {  # Z, A, density, X0, lambda
    "W": (74, 183.84, 19.30, 6.76, 191.9),
    "Pb": (82, 207.2, 11.35, 6.37, 199.6),
    "Fe": (26, 55.845, 7.874, 13.84, 132.1),
    "Cu": (29, 63.546, 8.960, 12.86, 137.3),
    "PbWO4": (68.36, 170.87, 8.300, 7.39, 168.3),
    "Si": (14, 28.0855, 2.329, 21.82, 108.4),
    "LAr": (18, 39.948, 1.396, 19.55, 119.7),
    "polystyrene": (5.61, 10.434, 1.060, 43.79, 81.7),
}
PHOTON_RINGS = (  # sectors, edges in mm: layers 0, 1, 2, 3 and 12 of the CaloChallenge's first data set
    (1, (0, 5, 10, 30, 50, 100, 200, 400, 600)),
    (10, (0, 2, 4, 6, 8, 10, 12, 15, 20, 30, 40, 50, 70, 90, 120, 150, 200)),
    (10, (0, 2, 5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 130, 160, 200, 250, 300, 350, 400)),
    (1, (0, 50, 100, 200, 400, 600)),
    (1, (0, 100, 200, 400, 1000, 2000)),
)
PION_RINGS = (  # layers 0, 1, 2, 3, 12, 13 and 14
    (1, (0, 5, 10, 30, 50, 100, 200, 400, 600)),
    (10, (0, 1, 4, 7, 10, 15, 30, 50, 90, 150, 200)),
    (10, (0, 5, 10, 20, 30, 50, 80, 130, 200, 300, 400)),
    (1, (0, 50, 100, 200, 400, 600)),
    (10, (0, 10, 20, 30, 50, 80, 100, 130, 160, 200, 250, 300, 350, 400, 1000, 2000)),
    (10, (0, 10, 20, 30, 50, 80, 100, 130, 160, 200, 250, 300, 350, 400, 600, 1000, 2000)),
    (1, (0, 50, 100, 150, 200, 250, 300, 400, 600, 1000, 2000)),
)


class Medium:
    def __init__(self, p):
        self.sandwich = p["medium"] == "sampling"
        names = [p["material"], p["active"]] if self.sandwich else [p["material"]]
        thick = np.array([p["passive_mm"], p["active_mm"]] if self.sandwich else [1.0])
        z, a, density, x0, lam = np.array([MATERIALS[name] for name in names]).T
        critical = 2.66 * (x0 * z / a) ** 1.1  # MeV
        w = density * thick / np.sum(density * thick)
        self.z = np.sum(w * z)
        x = 1 / np.sum(w / x0)
        critical_over_x0 = np.sum(w * critical / x0)
        mm = 10 / (np.sum(density * thick) / np.sum(thick))
        self.critical = x * critical_over_x0
        self.x0 = x * mm
        self.radius = 21.2 / critical_over_x0 * mm
        self.lam = mm / np.sum(w / lam)
        if self.sandwich:
            self.fs = self.x0 / np.sum(thick)
            self.e = 1 - 1 / (1 + 0.007 * (z[0] - z[1]))


def geometry(p, m):
    """For each layer: front and back in radiation lengths, number of sectors, ring edges in mm."""
    if p["geometry"] == "cylinder":
        edges = p["ring_width"] * np.arange(p["rings"] + 1.0)
        fronts = p["front"] + p["layer_depth"] * np.arange(p["layers"])
        return [(front, front + p["layer_depth"], p["sectors"], edges) for front in fronts]
    if p["geometry"] in ("ds2", "ds3"):
        rings, width, sectors = (9, 4.65, 16) if p["geometry"] == "ds2" else (18, 2.325, 50)
        d = 3.4 / m.x0
        return [(k * d, (k + 1) * d, sectors, width * np.arange(rings + 1.0)) for k in range(45)]
    depths = [(1.7, 2.0), (2.5, 6.8), (6.8, 22.8), (22.8, 24.8)]
    for thick in (1.5, 4.1, 1.8):
        depths.append((depths[-1][1], depths[-1][1] + thick * m.lam / m.x0))
    rings = PHOTON_RINGS if p["geometry"] == "ds1-photon" else PION_RINGS
    return [(a, b, sectors, np.array(edges, float)) for (a, b), (sectors, edges) in zip(depths, rings)]


def profile(alpha, rate, t):
    return gammainc(alpha, rate * t)


class Part:
    """The electromagnetic or hadronic share of a shower: its longitudinal and lateral profiles and its number of
    spots."""

    def __init__(self, share, alpha, rate, spots, spots_alpha, spots_rate, lateral):
        self.share, self.alpha, self.rate, self.spots = share, alpha, rate, spots
        self.spots_alpha, self.spots_rate, self.lateral = spots_alpha, spots_rate, lateral


def spot_number(m, p, energy):
    if m.sandwich:
        return 10.3 / p["spot_resolution"] * energy**0.959
    return 93 * np.log(m.z) * energy**0.876


def lateral_law(m, energy, k):
    """Rc, Rt in mm and p at depth t after the start."""
    y = np.log(energy)

    def law(t):
        tau = t * k
        rc = 0.0251 + 0.00319 * y + (0.1162 - 0.000381 * m.z) * tau
        rt = np.exp(-2.59 * (tau - 0.645)) + np.exp((0.3585 + 0.0421 * y) * (tau - 0.645))
        rt = (0.659 - 0.00309 * m.z) * rt
        u = (0.401 + 0.00187 * m.z - tau) / (1.313 - 0.0686 * y)
        p = (2.632 - 0.00094 * m.z) * np.exp(u - np.exp(u))
        if m.sandwich:
            rc = rc + (-0.0203 * m.e + 0.0397 * np.exp(-tau) / m.fs)
            rt = rt + (-0.14 * m.e - 0.495 * np.exp(-tau) / m.fs)
            p = p + m.e * (0.348 - 0.642 * np.exp(-((tau - 1) ** 2)) / m.fs)
        return np.maximum(rc, 0.005) * m.radius, np.clip(rt, 0.01, 100) * m.radius, np.clip(p, 0, 1)

    return law


class Shower:
    """One sample, up to its cells; p: the parameters."""

    def __init__(self, p, seed, number):
        self.p, self.sample = p, Sample(named_key(seed, "calo_gflash"), number)
        self.m = m = Medium(p)
        self.layers = geometry(p, m)
        self.edge = False
        self.particle()
        self.slices()
        if p["mode"] == "mean":
            self.mean()
        else:
            self.draw_spots()
        self.read_out()

    def particle(self):
        p, m = self.p, self.m
        self.label = int(below(self.sample.block("label", 0)[0], len(p["particles"])))
        kind = p["particles"][self.label]
        w0, w1, w2, w3 = self.sample.block("scene", 0)
        if p["energies"]:
            energy = p["energies"][int(below(w0, len(p["energies"])))]
        else:
            low, high = p["energy_low"], p["energy_high"]
            energy = np.clip(low * (high / low) ** float(unit(w0)), low, high)
        z1, z2 = normal(w1, w2)
        e = -np.log(float(unit_open(w3)))
        self.g, h = normal(*self.sample.block("scene", 1)[:2])
        self.energy, self.em = energy, 1.0
        if kind == "pion":
            self.start = e * m.lam / m.x0
            fraction = 1 - (energy / p["hadron_scale"]) ** (p["hadron_k"] - 1) + p["hadron_em_sigma"] * h
            self.em = f = np.clip(fraction, 0, 1)
            self.alpha = p["hadron_shape"] + p["hadron_shape_slope"] * np.log(energy)
            rate = p["hadron_em_rate"]
            hadron_rate = (p["hadron_rate"] + p["hadron_rate_slope"] * np.log(energy)) * m.x0 / m.lam
            self.t = max(self.alpha - 1, 0) / rate
            em_energy = max(f * energy, 0.05)
            radius = p["hadron_radius"] * m.lam
            flat = (lambda t: (np.full_like(t, radius), np.full_like(t, radius), np.ones_like(t)))
            self.parts = [
                Part(f, self.alpha, rate, spot_number(m, p, em_energy), self.alpha, rate,
                     lateral_law(m, em_energy, rate / self.alpha)),
                Part(p["hadron_response"] * (1 - f), self.alpha, hadron_rate,
                     p["hadron_spots"] * (1 - f) * energy, self.alpha, hadron_rate, flat),
            ]
            return
        self.start = 0.0 if kind == "electron" else 9 / 7 * e
        log = np.log(energy * 1000 / m.critical)
        mean_t, mean_alpha = log - 0.812, 0.81 + (0.458 + 2.26 / m.z) * log
        by_t, by_alpha, rho = -1.4 + 1.26 * log, -0.58 + 0.86 * log, 0.705 - 0.023 * log
        spots_t, spots_alpha = 0.698 + 0.00212 * m.z, 0.639 + 0.00334 * m.z
        if m.sandwich:
            mean_t, mean_alpha = mean_t - 0.55 / m.fs - 0.69 * m.e, mean_alpha - 0.476 / m.fs
            by_t, by_alpha, rho = -2.5 + 1.25 * log, -0.82 + 0.79 * log, 0.784 - 0.023 * log
            spots_t, spots_alpha = 0.813 + 0.0019 * m.z, 0.844 + 0.0026 * m.z
        st, sa = 1 / max(by_t, 2), 1 / max(by_alpha, 2)
        plus, minus = np.sqrt((1 + rho) / 2) * z1, np.sqrt((1 - rho) / 2) * z2
        self.t = max(mean_t * np.exp(st * (plus + minus)), 1)
        self.alpha = np.clip(mean_alpha * np.exp(sa * (plus - minus)), 1.1, 500)
        k = (self.alpha - 1) / (self.t * self.alpha) * mean_alpha / (mean_alpha - 1)
        spots_alpha = max(self.alpha * spots_alpha, 1.1)
        self.parts = [Part(
            1.0, self.alpha, (self.alpha - 1) / self.t, spot_number(m, p, energy),
            spots_alpha, (spots_alpha - 1) / (self.t * spots_t), lateral_law(m, energy, k),
        )]

    def slices(self):
        """Arrays over the slices of all parts: layer, units, number of spots, Rc, Rt, p."""
        layer, t1, t2 = [], [], []
        for number, (front, back, _, _) in enumerate(self.layers):
            count = max(1, int(np.ceil((back - front) / self.p["slice"] - 1e-6)))
            edges = front + (back - front) / count * np.arange(count + 1) - self.start
            layer += [number] * count
            t1 += list(edges[:-1])
            t2 += list(edges[1:])
        t1, t2 = np.maximum(t1, 0), np.maximum(t2, 0)
        units, spots, lateral = [], [], []
        for part in self.parts:
            low, high = (profile(part.alpha, part.rate, t) for t in (t1, t2))
            faint = np.zeros(len(low), bool)
            for share in (low, high):
                steps = share * 2.0**24  # steps of f32 from 1/2 to 1
                faint |= (high > 0.5) & (high - low < 2.0**-23) & (np.abs(steps % 1 - 0.5) < 0.01)
            low, high = (np.float32(2.0**40 * part.share) * share.astype(np.float32) for share in (low, high))
            n = np.maximum(np.floor(high).astype(float) - np.floor(low), 0)
            low, high = (profile(part.spots_alpha, part.spots_rate, t) for t in (t1, t2))
            wanted = part.spots * (high - low) + 0.5
            if self.p["mode"] == "gflash":
                near = np.abs(wanted - np.round(wanted)) < SHARE / 4 * part.spots
                self.edge |= bool(np.any(near & (np.round(wanted) > 1) & (n > 0)))
                self.edge |= part.share > 0 and bool(np.any(faint))
            units.append(n)
            spots.append(np.where(n > 0, np.maximum(1, np.floor(wanted)), 0))
            lateral.append(part.lateral((t1 + t2) / 2))
        self.layer = np.tile(layer, len(self.parts))
        self.units, self.slice_spots = np.concatenate(units), np.concatenate(spots).astype(np.int64)
        self.rc, self.rt, self.core = np.concatenate(lateral, axis=1)
        self.visible = sum(np.floor(2.0**40 * part.share) for part in self.parts)

    def cells_before(self):
        return np.cumsum([0] + [sectors * (len(edges) - 1) for _, _, sectors, edges in self.layers])

    def mean(self):
        cells = []
        for number, (_, _, sectors, edges) in enumerate(self.layers):
            chosen = self.layer == number
            n, rc, rt, core = (a[chosen, None] for a in (self.units, self.rc, self.rt, self.core))
            within = core * edges**2 / (edges**2 + rc**2) + (1 - core) * edges**2 / (edges**2 + rt**2)
            cells += list(np.tile(np.floor(np.sum(n * np.diff(within), axis=0) / sectors), sectors))
        self.cells, self.spots, self.spot_units = np.array(cells), 0, 0

    def draw_spots(self):
        if self.p["mode"] == "gflash":
            self.spots = count = int(np.sum(self.slice_spots))
            words = self.sample.block("texture", np.arange(count))
            spots = self.slice_spots
            place = np.repeat(np.arange(len(spots)), spots)
            within = np.arange(count) - np.repeat(np.cumsum(spots) - spots, spots)
            total = self.units[place]
            units = np.floor(total / spots[place]) + (within < total % spots[place])
            lost = np.zeros(count, bool)
        else:
            wanted = sum(part.spots for part in self.parts) + 0.5
            self.edge |= bool(abs(wanted - np.round(wanted)) < SHARE * wanted)
            self.spots = count = max(1, int(wanted))
            words = self.sample.block("texture", np.arange(count))
            units = np.floor(self.visible / count) + (np.arange(count) < self.visible % count)
            at = ((words[3] >> np.uint32(8)).astype(np.uint64) * np.uint64(self.visible)) >> np.uint64(24)
            place = np.searchsorted(np.cumsum(self.units), at.astype(float), side="right")
            lost = place == len(self.units)
            place = np.minimum(place, len(self.units) - 1)
        radius = np.where(unit(words[0]) < self.core[place], self.rc[place], self.rt[place])
        v = unit(words[1]).astype(float)
        r2 = radius**2 * (v / (1 - v))
        self.cells = np.zeros(self.cells_before()[-1])
        for number, (_, _, sectors, edges) in enumerate(self.layers):
            chosen = (self.layer[place] == number) & ~lost
            ring = np.searchsorted(edges**2, r2[chosen], side="right") - 1
            cell = self.cells_before()[number] + below(words[2][chosen], sectors) * (len(edges) - 1) + ring
            kept = ring < len(edges) - 1
            np.add.at(self.cells, cell[kept], units[chosen][kept])
        self.spot_units = np.max(units, initial=0)

    def read_out(self):
        p, mev = self.p, 1000 * self.energy / 2**40
        self.leakage = (self.visible - np.sum(self.cells)) * mev
        x = self.cells * mev
        count = len(x)
        if p["sampling_term"] > 0:
            hit = np.flatnonzero(x > 0)
            s = 1000 * p["sampling_term"] ** 2
            k = x[hit] / s
            d = np.where(k < 1, k + 1, k) - 1 / 3
            value, first = np.zeros(len(hit)), None
            open_ = np.ones(len(hit), bool)
            for j in range(16):
                w = self.sample.block("texture", 2**31 + hit + j * count)
                first = w[3] if first is None else first
                g, _ = normal(w[0], w[1])
                base = 1 + g / np.sqrt(9 * d)
                v = np.where(base > 0, base, 1) ** 3
                taken = (base > 0) & (np.log(unit_open(w[2]).astype(float)) < g**2 / 2 + d * (1 - v + np.log(v)))
                value = np.where(open_ & taken, d * v, value)
                open_ &= ~taken
            value *= np.where(k < 1, np.exp(np.log(unit_open(first).astype(float)) / np.minimum(k, 1)), 1)
            x[hit] = s * value
        x = x * max(0, 1 + p["constant_term"] * self.g)
        if p["noise"] > 0:
            quarter = (count + 3) // 4
            w = self.sample.block("noise", np.arange(quarter))
            x = x + p["noise"] * np.concatenate([*normal(w[0], w[1]), *normal(w[2], w[3])])[:count]
        self.x = np.where(x < p["threshold"], 0, x) if p["threshold"] > 0 else x


class CaloGflash(TruthTest):
    def rebuild(self, count, *settings, seed=0, first=0):
        """Compares `count` showers; returns the program's arrays."""
        got = self.samples("calo_gflash", count, *settings, seed=seed, first=first)
        p = got["metadata"]["parameters"]
        scale = 1000 if p["unit"] == "GeV" else 1
        edges = 0
        for i in range(count):
            shower = Shower(p, seed, first + i)
            mev = 1000 * shower.energy
            self.assertEqual(got["label"][i], shower.label)
            latents = got["latents"][i].astype(float) * ([scale] + [1] * 4 + [scale] * 2 + [1])
            invisible = mev * (1 - shower.em) * (1 - p["hadron_response"])
            expected = [mev, shower.t, shower.alpha, shower.start]
            # Ten units in the last place: f and 1 - f are differences of numbers up to 1.
            np.testing.assert_allclose(latents[:4], expected, rtol=6e-7)
            np.testing.assert_allclose(latents[4:6] * [mev, 1], [mev * shower.em, invisible], rtol=0, atol=1e-6 * mev)
            if shower.edge:
                edges += 1
                continue
            self.assertEqual(latents[7], shower.spots)
            # The error of a cell is the sum of the errors of the slices in its layer.
            x, allowed = got["x"][i].astype(float) * scale, np.full(len(shower.x), 0.0)
            before = shower.cells_before()
            for layer in range(len(shower.layers)):
                allowed[before[layer]:before[layer + 1]] = SHARE * mev * np.sum(shower.layer == layer)
            off = np.abs(x - shower.x) > allowed + 1e-6 * np.abs(shower.x)
            strays = shower.spots // 1000 + 2 if p["mode"] == "gflash_lite" else 0
            self.assertLessEqual(np.sum(off), 2 * strays, (i, latents, x[off], shower.x[off]))
            stray_energy = strays * shower.spot_units * mev / 2**40
            self.assertLess(abs(latents[6] - shower.leakage), SHARE * mev * len(shower.layer) + stray_energy)
        self.assertLessEqual(edges, count / 4)
        return got

    def test_defaults(self):
        self.rebuild(8, "energy_high=10", seed=3)
        self.rebuild(6, "energy_high=10", seed=2**63 - 1, first=2**32 + 7)

    def test_particles_in_each_mode(self):
        particles = "particles=[photon, electron, pion]"
        self.rebuild(8, particles, "layers=40", "energies=[1, 8]", seed=5)
        self.rebuild(8, particles, "mode=gflash_lite", "energy_high=20", "material=W", "sectors=3", seed=6)
        self.rebuild(12, particles, "mode=mean", "material=Cu", "rings=6", "sectors=5", seed=7, first=2**40)

    def test_sandwich(self):
        settings = ["medium=sampling", "unit=GeV", "front=1.7", "rings=5", "sectors=7", "slice=0.3", "ring_width=7"]
        self.rebuild(6, *settings, "particles=[photon, pion]", "energies=[2, 5]", "layers=9", seed=8)
        self.rebuild(6, *settings, "mode=mean", "particles=[photon, pion]", "active=polystyrene", "active_mm=4", seed=9)

    def test_detectors_of_the_challenge(self):
        self.rebuild(12, "preset=ds1-photon", "mode=mean", seed=10)
        self.rebuild(12, "preset=ds1-pion", "mode=mean", seed=11)
        self.rebuild(4, "preset=ds1-photon", "energies=[0.512, 4.096]", seed=10)
        self.rebuild(8, "preset=ds1-pion", "energies=[2.048, 16.384]", seed=11)
        self.rebuild(4, "preset=ds2", "energy_high=5", seed=12)
        self.rebuild(1, "preset=ds3", "mode=mean", seed=13)

    def test_pions_of_other_constants(self):
        settings = ["hadron_shape=0.9", "hadron_shape_slope=0.2", "hadron_em_rate=0.4", "hadron_rate=1.4",
                    "hadron_rate_slope=0.05", "hadron_k=0.7", "hadron_scale=0.8", "hadron_em_sigma=0.2",
                    "hadron_response=0.5", "hadron_radius=0.4", "layers=30", "energies=[3, 7]"]
        self.rebuild(8, "particles=[pion]", *settings, "mode=mean", seed=14)
        self.rebuild(8, "particles=[pion]", *settings, "hadron_spots=9", "material=Fe", seed=15)

    def test_read_out(self):
        # Noise is f32 near 3.4 MeV, far below SHARE of 1 GeV. Covers gamma numbers with k < 1 (some MeV) and large k.
        steps = ["sampling_term=0.1", "constant_term=0.1", "noise=1", "threshold=2"]
        for number, step in enumerate(steps):
            self.rebuild(4, "energy_high=5", "rings=5", "sectors=2", step, seed=20 + number)
        self.rebuild(4, "energy_high=5", "geometry=ds2", "medium=sampling", *steps, seed=30)

    def test_resolution_of_the_presets(self):
        # Without a threshold, the sum of all voxels has the variance a^2 GeV times the energy inside. 6 standard errors
        # are exceeded 10 times in 10^9; the limits allow for the skewness of small signals.
        for preset, term, energies in (("ds1-photon", 0.1, (8.192, 65.536)), ("ds2", 0.166, (10, 100))):
            for energy in energies:
                got = self.samples("calo_gflash", 400, f"preset={preset}", f"energies=[{energy}]", "mode=mean",
                                   "threshold=0", "unit=GeV", seed=int(energy))
                inside = energy - got["latents"][:, 6].astype(float)
                pull = (got["x"].astype(float).sum(axis=1) - inside) / (term * np.sqrt(inside))
                self.assertLess(abs(pull.mean()), 6 / np.sqrt(400))
                self.assertLess(abs(pull.std() - 1), 6 * 1.1 / np.sqrt(800))
