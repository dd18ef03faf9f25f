"""Jets rebuilt from docs/generators/algorithms/lund_shower.md in double precision.

A parton's pt has a few rounding errors per emission (relative 2^-24), positions have an error of about 2^-23 of their
value, and momenta add the rounding errors of an exponential and a sine. Rounding could add or remove an emission, which
would change the whole jet. With about 30 partons per jet, the probability is about 10^-6 per jet, and it does not
happen here. Values that depend on pixel edges, or on which of two equal pairs is joined, are skipped and counted.
"""

import numpy as np
from scipy.stats import chisquare, kstest, poisson

from jets import JetTest, boosted, places
from truth import Sample, below, f32, named_key, unit, unit_open

EPS = 2.0**-24


def direction(height, turn):
    u, phi = float(unit(height)), 2 * np.pi * float(unit(turn))
    sine = 2 * np.sqrt(u * (1 - u))
    return np.array([sine * np.cos(phi), sine * np.sin(phi), 2 * u - 1])


def line(word, mass, width):
    """A mass from a Breit-Wigner line."""
    if width == 0:
        return f32(mass)
    ends = np.arctan([((mass + side * width) ** 2 - mass**2) / (mass * width) for side in (-15, 15)])
    return np.sqrt(mass**2 + mass * width * np.tan(ends[0] + float(unit(word)) * (ends[1] - ends[0])))


class Jet:
    """Partons in the order of their emission: rows (pt, eta, phi), and l, softer and depth of each."""

    def __init__(self, p, seed, number):
        sample = Sample(named_key(seed, "lund_shower"), number)
        self.label = int(below(sample.block("label", 0)[0], len(p["classes"])))
        kind = p["classes"][self.label]
        w = sample.block("scene", 0)
        self.pt = f32(p["pt_low"]) + f32(p["pt_high"] - p["pt_low"]) * float(unit(w[0]))
        self.eta = f32(p["eta_max"]) * (2 * float(unit(w[1])) - 1)
        self.phi = 2 * np.pi * (float(unit(w[2])) - 0.5)
        prongs = self.prongs(p, kind, sample.block("scene", 1), sample.block("scene", 2))
        log_cut = np.log(p["kt_cut"])
        partons, rooms, self.lund, self.unfinished = [], [], [], 0
        prong_of, parents = list(range(len(prongs))), len(self.parents) - len(prongs) if len(prongs) > 1 else 0
        for i, prong in enumerate(prongs):
            others = np.delete(prongs, i, axis=0)
            phi = np.remainder(others[:, 2] - prong[2] + np.pi, 2 * np.pi) - np.pi
            theta = min([f32(p["radius"]), *np.hypot(others[:, 1] - prong[1], phi)])
            partons.append(prong.copy())
            rooms.append(np.log(prong[0] * theta) - log_cut)
            self.lund.append([-np.log(theta), 0, 0])
        rho = {c: f32(2 * p["alpha_s"] * c / np.pi) for c in (4 / 3, 3)}
        draw, emissions = 0, []
        for i, parton in enumerate(partons):  # the list grows during the loop
            prong = i < len(prongs)
            density, area = rho[4 / 3 if prong and kind != "gluon" else 3], 0.0
            while rooms[i] > 0:
                w = sample.block("texture", draw)
                draw += 1
                area -= np.log(float(unit_open(w[0]))) / density if density > 0 else -np.inf
                rest = rooms[i] ** 2 - 2 * area
                if not rest > 0:
                    break
                if len(partons) == 128:
                    self.unfinished += 1
                    break
                down = 2 * area / (rooms[i] + np.sqrt(rest))
                softer = float(unit_open(w[1])) * (rooms[i] - down)
                z, theta, turn = np.exp(-softer), np.exp(-self.lund[i][0] - down), 2 * np.pi * float(unit(w[2]))
                step = theta * np.array([0, np.cos(turn), np.sin(turn)])
                new = parton + (1 - z) * step
                new[0] = z * parton[0]
                parton -= z * step
                parton[0] -= new[0]
                room = rooms[i] - down - softer
                partons.append(new)
                rooms.append(room if p["cascade"] == "full" else 0.0)
                self.lund.append([self.lund[i][0] + down, softer, self.lund[i][2] + 1])
                prong_of.append(prong_of[i])
                if prong:
                    emissions.append((room, self.lund[i][0] + down, softer))
        self.partons = np.array(partons)
        best = max(emissions, key=lambda e: e[0], default=(0, 0, 0))
        self.latents = [self.pt, self.eta, self.phi, log_cut + best[0], best[1], best[2], len(emissions)]
        self.mothers = [parents + k + 1 for k in prong_of]
        self.add_soft(p, sample)
        self.cut(p)
        self.latents += [len(self.partons), self.unfinished]

    def add_soft(self, p, sample):
        """Soft particles, after all partons."""
        passed, soft = 0.0, []
        for draw in range(128 if p["soft"] > 0 else 0):
            w = sample.block("noise", draw)
            passed -= np.log(float(unit_open(w[0])))
            if not passed < f32(p["soft"]) or len(self.partons) + len(soft) == 128:
                break
            far, turn = f32(p["radius"]) * np.sqrt(float(unit_open(w[2]))), 2 * np.pi * float(unit(w[3]))
            pt = -f32(p["soft_pt"]) * np.log((1 - EPS) * float(unit_open(w[1])))
            soft.append([pt, self.eta + far * np.cos(turn), far * np.sin(turn)])
            self.lund.append([-np.log(far), 0, -1])
            self.mothers.append(1)
        self.partons = np.array([*self.partons, *soft])

    def cut(self, p):
        """Keeps the partons in a cone around the initial particle, and the hardest one."""
        phi = np.remainder(self.partons[:, 2] + np.pi, 2 * np.pi) - np.pi
        inside = np.hypot(self.partons[:, 1] - self.eta, phi) <= f32(p["cone"]) if p["cone"] > 0 else phi < 4
        inside[np.argmax(self.partons[:, 0])] = True
        self.partons = self.partons[inside]
        self.lund = [row for row, keep in zip(self.lund, inside) if keep]
        self.mothers = [row for row, keep in zip(self.mothers, inside) if keep]

    def prongs(self, p, kind, w, masses):
        self.parents = [(0.0, {"quark": 1, "gluon": 21, "W": 24, "top": 6}[kind], -1, 0)]
        if kind in ("quark", "gluon"):
            return np.array([[self.pt, self.eta, 0.0]])
        whole, made = np.array([self.pt, 0, self.pt * np.sinh(self.eta)]), []
        w_mass = line(masses[0], p["w_mass"], p["w_width"])
        self.parents = [(w_mass, 24, -1, 0), (0, 2, 2, 1), (0, -1, 2, 1)]
        flight = whole
        if kind == "top":
            mass = line(masses[1], p["top_mass"], p["top_width"])
            self.parents = [(mass, 6, -1, 0), (w_mass, 24, 2, 1), (0, 5, 2, 1), (0, 2, 2, 2), (0, -1, 2, 2)]
            flight = boosted(direction(w[2], w[3]) * (mass**2 - w_mass**2) / (2 * mass), w_mass, whole, mass)
            made.append(whole - flight)
        made.append(boosted(direction(w[0], w[1]) * w_mass / 2, 0, flight, w_mass))
        made.append(flight - made[-1])
        return places(np.array(made), 0)

    def momenta(self, phi):
        pt, eta, azimuth = self.partons[:, 0], self.partons[:, 1], self.partons[:, 2] + phi
        return np.stack([pt * np.cosh(eta), pt * np.cos(azimuth), pt * np.sin(azimuth), pt * np.sinh(eta)], axis=1)


class LundShower(JetTest):
    def jets(self, count, *settings, seed=0, first=0):
        got = self.samples("lund_shower", count, *settings, seed=seed, first=first)
        p = got["metadata"]["parameters"]
        for i in range(count):
            jet = Jet(p, seed, first + i)
            self.assertEqual(got["label"][i], jet.label)
            latents = got["latents"][i].astype(float)
            np.testing.assert_allclose(latents[:9], jet.latents, rtol=4 * EPS, atol=2e-5)
            yield got, p, i, jet

    def rebuild(self, count, *settings, **which):
        for got, p, i, jet in self.jets(count, *settings, **which):
            order = np.argsort(-jet.partons[:, 0], kind="stable")
            all_rows = jet.momenta(jet.phi) / p["unit"]
            rows = all_rows[order][: p["items"]]
            x = got["x"][got["offsets"][i]:got["offsets"][i + 1]].astype(float)
            self.assertEqual(len(x), len(rows))
            # Each emission rounds a coordinate of 2 to 4 by 2^-23, which rotates a momentum by the same angle. The
            # products of a decay inherit the rounding errors of the mother.
            tolerance = EPS * ((32 + 8 * len(all_rows)) * rows[:, :1] + 64 * all_rows[:, 0].sum())
            self.assertLess(np.max(np.abs(x[:, :4] - rows) / tolerance), 1)
            np.testing.assert_allclose(got["globals"][i], all_rows.sum(axis=0), atol=100 * EPS * all_rows[:, 0].sum())
            if p["columns"] == "lund":
                np.testing.assert_allclose(x[:, 4:], np.array(jet.lund)[order][: p["items"]], atol=4e-5)

    def test_jets(self):
        self.rebuild(60, seed=1)
        self.rebuild(30, seed=2**63 - 1, first=2**32 + 1)

    def test_other_constants(self):
        settings = ("classes=[top, gluon]", "alpha_s=0.2", "pt_low=300", "pt_high=3000", "eta_max=2.5", "columns=lund")
        self.rebuild(40, *settings, "radius=0.4", "kt_cut=0.5", "unit=100", "items=128", seed=3)
        self.rebuild(40, "preset=jetnet30", "cascade=primary", "w_mass=90", "top_mass=180", seed=4, first=2**50)
        self.rebuild(10, "alpha_s=0", seed=5)
        # These jets have more partons than fit in a row.
        self.rebuild(3, "classes=[gluon]", "alpha_s=0.8", "kt_cut=0.1", "items=128", seed=6)

    def test_images_and_features(self):
        left = 0
        for settings in (("pixels=25",), ("norm=square", "pixel=0.05"), ("norm=none", "unit=10", "alpha_s=0.2")):
            for got, p, i, jet in self.jets(40, "output=image", *settings, seed=7):
                left += self.leaves_image(got, p, i, jet.partons, 1e-4, outside=1e-5)
        self.assertLessEqual(left, 12)
        left = 0
        for got, p, i, jet in self.jets(60, "output=features", "unit=10", seed=8):
            # The mass of a jet with one parton is pure rounding error.
            atol = 0.2 if len(jet.partons) < 2 else 2e-3
            left += self.leaves_features(got, p, i, jet.partons, jet.momenta(0).sum(axis=0), 1e-4, atol, rtol=2e-3)
        self.assertLessEqual(left, 6)

    def test_soft_particles_and_cone(self):
        self.rebuild(40, "preset=jetnet30", seed=11)
        self.rebuild(40, "soft=8", "soft_pt=0.3", "cone=0.3", "columns=lund", "w_width=2", "top_width=1.4", seed=12)
        self.rebuild(3, "classes=[gluon]", "alpha_s=0.8", "kt_cut=0.1", "items=128", "soft=50", seed=13)
        # The number of soft particles is Poisson-distributed; the false alarm rate is 10^-7.
        got = self.samples("lund_shower", 4000, "classes=[quark]", "alpha_s=0", "soft=10", seed=14)
        law, edges = poisson(10), np.arange(2, 20)
        seen = [(got["latents"][:, 7] - 1 <= 2).sum(), *[(got["latents"][:, 7] - 1 == n).sum() for n in edges[1:]]]
        chance = np.array([law.cdf(2), *law.pmf(edges[1:])])
        chance = np.array([*chance, 1 - chance.sum()])
        self.assertGreater(chisquare([*seen, 4000 - sum(seen)], 4000 * chance).pvalue, 1e-7)
        got = self.samples("lund_shower", 500, "classes=[top]", "items=128", "columns=kinematics", "cone=0.8", seed=15)
        for i, (begin, end) in enumerate(zip(got["offsets"][:-1], got["offsets"][1:])):
            x, (_, eta, phi) = got["x"][begin:end].astype(float), got["latents"][i, :3].astype(float)
            away = np.hypot(x[:, 1] - eta, np.remainder(x[:, 2] - phi + np.pi, 2 * np.pi) - np.pi)
            self.assertLess(away[1:].max(initial=0), 0.8 + 1e-6)

    def test_kinematics(self):
        # Masses recomputed in f64 agree with the jet's. Positions are rounded by 2^-24, which moves a mass by up to
        # about 2^-24 of the energy; the mass has a relative error of about 2^-22.
        settings = ("classes=[gluon, W, top]", "items=128", "columns=kinematics", "pt_low=400", "pt_high=1200")
        got = self.samples("lund_shower", 400, *settings, seed=16)
        for i, (begin, end) in enumerate(zip(got["offsets"][:-1], got["offsets"][1:])):
            pt, eta, phi, mass = got["x"][begin:end].astype(float).T
            self.assertTrue((mass == 0).all())
            p = np.array([pt * np.cosh(eta), pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta)]).sum(axis=1)
            across = np.hypot(p[1], p[2])
            expected = [across, np.arcsinh(p[3] / across), np.arctan2(p[2], p[1])]
            np.testing.assert_allclose(got["globals"][i, :3], expected, rtol=4e-6, atol=4e-6)
            self.assertLess(abs(got["globals"][i, 3] - np.sqrt(max(p[0] ** 2 - p[1:] @ p[1:], 0))), 2e-3)
        # A single constituent off the axis has no mass: rounding m^2 by 2^-50 of the squared energy gives a mass of 3
        # 10^-8 of the energy.
        got = self.samples("lund_shower", 400, "classes=[gluon]", *settings[1:], "cone=0.2", "alpha_s=0.06", seed=18)
        alone = np.diff(got["offsets"]) == 1
        away = got["x"][got["offsets"][:-1][alone], 1] - got["latents"][alone, 1]
        self.assertGreater((np.abs(away) > 0.01).sum(), 5)
        self.assertLess(got["globals"][alone, 3].max(), 1e-4)

    def test_records(self):
        for settings in ((), ("w_width=2.085", "top_width=1.42", "soft=4", "cone=0.8", "unit=10")):
            for got, p, i, jet in self.jets(40, "columns=record", "items=128", *settings, seed=17):
                x = got["x"][got["offsets"][i]:got["offsets"][i + 1]].astype(float)
                first = len(jet.parents)
                seen = x[:first, 4:8] * [p["unit"], 1, 1, 1]
                parents = [row if len(jet.parents) > 1 else (0, *row[1:]) for row in jet.parents]
                np.testing.assert_allclose(seen, parents, rtol=2e-6, atol=0)
                order = np.argsort(-jet.partons[:, 0], kind="stable")
                rows = jet.momenta(jet.phi)[order] / p["unit"]
                np.testing.assert_allclose(x[first:, :4], rows, rtol=0, atol=4e-6 * x[:, 0].max())
                np.testing.assert_array_equal(x[first:, 7], np.array(jet.mothers)[order])
                depth = np.array(jet.lund)[order, 2]
                np.testing.assert_array_equal(x[first:, 5][depth > 0], 21)
                np.testing.assert_array_equal(x[first:, 5][depth < 0], 22)

    def test_widths(self):
        # Compares the masses of W and top with their Breit-Wigner law; the false alarm rate is 10^-7.
        settings = ("classes=[top]", "columns=record", "w_width=2.085", "top_width=1.42", "alpha_s=0")
        got = self.samples("lund_shower", 20000, *settings, seed=18)
        x = got["x"].reshape(20000, -1, 9).astype(float)
        for item, mass, width in ((0, 172.69, 1.42), (1, 80.377, 2.085)):
            seen = x[:, item, 4]
            self.assertLess(np.abs(seen - mass).max(), 15.01 * width)

            def angle(m):
                return np.arctan((m**2 - mass**2) / (mass * width))

            low, high = angle(mass - 15 * width), angle(mass + 15 * width)
            self.assertGreater(kstest((angle(seen) - low) / (high - low), "uniform").pvalue, 1e-7)
            # The mass in the column is the mass of the four-momentum.
            p = x[:, item, :4]
            np.testing.assert_allclose(p[:, 0] ** 2 - (p[:, 1:4] ** 2).sum(axis=1), seen**2, atol=3e-6 * 900**2)

    def test_filling_of_jetnet30(self):
        got = self.samples("lund_shower", 2000, "preset=jetnet30", seed=19)
        kept = np.diff(got["offsets"])
        for label in range(4):
            self.assertGreater(kept[got["label"] == label].mean(), 25)

    def test_published_distributions(self):
        # Each test has a false alarm rate of 10^-7.
        rho, room = 2 * 0.12 / np.pi, np.log(400)
        for kind, colour in (("quark", 4 / 3), ("gluon", 3)):
            got = self.samples("lund_shower", 20000, f"classes=[{kind}]", seed=9)["latents"].astype(float)
            law = poisson(rho * colour * room**2 / 2)
            edges = np.arange(int(law.ppf(1e-3)), int(law.ppf(1 - 1e-3)) + 1)
            seen = [(got[:, 6] <= edges[0]).sum(), *[(got[:, 6] == n).sum() for n in edges[1:]]]
            chance = [law.cdf(edges[0]), *law.pmf(edges[1:])]
            seen, chance = [*seen, 20000 - sum(seen)], np.array([*chance, 1 - sum(chance)])
            self.assertGreater(chisquare(seen, 20000 * chance).pvalue, 1e-7)
            # For the hardest emission, exp(-rho C ln^2(p R / kt) / 2) is the probability of no emission above kt.
            some = got[got[:, 6] > 0, 3]
            none = law.pmf(0)
            sudakov = np.exp(-rho * colour * (np.log(400) - some) ** 2 / 2)
            self.assertGreater(kstest((sudakov - none) / (1 - none), "uniform").pvalue, 1e-7)
            x = room * np.sqrt(3 * rho)
            q = np.cosh(2 * x) / 6 + 0.5 - 2 / 3 * np.cosh(x)
            mean = 1 + colour / 3 * (np.cosh(x) - 1)
            error = np.sqrt(colour / 3 * (np.cosh(x) - 1 + q) / 20000)
            self.assertLess(abs(got[:, 7].mean() - mean), 5.4 * error)
