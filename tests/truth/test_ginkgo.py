"""Jets rebuilt from docs/generators/algorithms/ginkgo.md in double precision.

The program's f32 numbers lose most precision in differences of nearly equal numbers: m - sqrt(t1) loses m / (m -
sqrt(t1)) units of 2^-24, at most 2000 because the fraction c is 0.999. `slack`, a relative error of t, carries the
effect on masses and densities from branching to branching and serves as the tolerance. A jet with a parton within its
slack of t_cut is skipped (at most one per comparison). The likelihood ratio uses only the first branching, which has no
such differences. Momenta may differ by 2e-6 of the jet's energy: a branching's momentum q is a root, with an error of
about 2^-24 m sqrt(m / (m - m1 - m2)) if its parts are nearly at rest, and each boost adds rounding errors (4e-7 seen).
"""

import numpy as np

from jets import JetTest, places
from truth import Sample, below, named_key, unit, unit_open

EPS = 2.0**-24
C = float(np.float32(0.999))


def energy(parton):
    return np.sqrt(parton[1] @ parton[1] + parton[0])


def boosted(part, frame, m):
    g = (energy(part) + frame[1] @ part[1] / (energy(frame) + m)) / m
    return part[0], part[1] + g * frame[1]


class Rate:
    def __init__(self, r):
        self.r = float(np.float32(r))
        self.cut = np.exp(-self.r * C)
        self.norm = np.log(self.r / (1 - self.cut))

    def fraction(self, word):
        u = float(unit_open(word))
        return min(max(-np.log(1 - u + u * self.cut) / self.r, 0), C)

    def log_density(self, t, a, b, t1, t2):
        m, m1, m2 = np.sqrt(t), np.sqrt(t1), np.sqrt(t2)
        seen = np.exp(-self.r * (a + b)) / (m - m1) ** 2
        other = t1 / (m - m2) ** 2
        if other < C:
            seen += np.exp(-self.r * (t2 / t + other)) / (m - m2) ** 2
        self.edge = abs(other - C) < 1e-5
        return 2 * self.norm - np.log(8 * np.pi * t) + np.log(seen)


class Jet:
    def __init__(self, p, seed, number):
        sample = Sample(named_key(seed, "ginkgo"), number)
        words = sample.block("scene", 0)
        self.label = int(below(words[0], 2))
        m0 = float(np.float32(p["qcd_mass"] if self.label else p["w_mass"]))
        span = np.float64(p["momentum_high"] - p["momentum_low"]).astype(np.float32)
        self.momentum = np.float32(float(unit(words[1])) * float(span) + float(np.float32(p["momentum_low"])))
        jet = (m0**2, np.full(3, float(self.momentum) * 0.57735026))
        roots, rate = [Rate(p["w_root_rate"]), Rate(p["qcd_root_rate"])], Rate(p["rate"])
        t_cut = float(np.float32(p["t_cut"]))
        present, waiting, final = (m0**2, np.zeros(3), 4 * EPS), [], []
        logs, self.allowed, k, self.edge = [], 0.0, 1, False
        while True:
            t, momentum, slack = present
            self.edge |= abs(t / t_cut - 1) < slack
            if t > t_cut and len(final) + len(waiting) + 1 < 128:
                w = sample.block("scene", k)
                law = roots[self.label] if k == 1 else rate
                a, b = law.fraction(w[0]), law.fraction(w[1])
                m, t1 = np.sqrt(t), t * a
                m1 = np.sqrt(t1)
                rest = m - m1
                t2 = rest**2 * b
                m2 = np.sqrt(t2)
                q = np.sqrt((rest - m2) * (m + m1 + m2) * (m + m1 - m2) * (m - m1 + m2)) / (2 * m)
                v, turn = float(unit(w[2])), 2 * np.pi * float(unit(w[3]))
                sine = 2 * np.sqrt(v * (1 - v))
                own = q * np.array([sine * np.cos(turn), sine * np.sin(turn), 2 * v - 1])
                first = boosted((t1, own), (t, momentum), m)
                # -ln of a number near 1 also loses precision: it has an absolute error of 2^-24 in r a.
                s1 = slack + EPS * (4 + 2 / (law.r * a + 1e-9))
                s2 = slack + EPS * (6 + 3 * m / rest + 2 / (law.r * b + 1e-9))
                s2 += s1 * m1 / rest - slack * m1 / rest
                if k == 1:
                    self.fractions = a, b
                    logs.append([root.log_density(t, a, b, t1, t2) for root in roots])
                    self.edge |= roots[0].edge
                else:
                    logs.append([rate.log_density(t, a, b, t1, t2)] * 2)
                    self.edge |= rate.edge
                self.allowed += slack + 8 * EPS + 2 * (s1 - slack + 2 * EPS) * m1 / rest + 4 * EPS * m / rest
                self.allowed += 2 * s2 * m2 / (m - m2) + 4 * EPS * abs(logs[-1][0])
                k += 1
                pair = [(*first, s1), (t2, momentum - first[1], s2)]
                present, other = pair if t1 < t2 else pair[::-1]
                waiting.append(other)
            else:
                final.append((t, momentum))
                if not waiting:
                    break
                present = waiting.pop()
        if p["frame"] == "lab":
            final = [boosted(parton, jet, m0) for parton in final]
        self.logs = np.sum(logs, axis=0)
        self.ratio = logs[0][0] - logs[0][1]
        rows = [[energy(parton), *parton[1]] for parton in final]
        rows.sort(key=lambda row: -row[0])
        self.count = len(rows)
        self.x = np.array(rows[: p["items"]]) / p["unit"]
        self.globals = np.array([energy(jet), *jet[1]]) / p["unit"]
        self.cloud = places(np.array(rows)[:, 1:], np.pi / 4)


class Ginkgo(JetTest):
    def rebuild(self, count, *settings, seed=0, first=0):
        got = self.samples("ginkgo", count, *settings, seed=seed, first=first)
        p = got["metadata"]["parameters"]
        left = 0
        for i in range(count):
            jet = Jet(p, seed, first + i)
            self.assertEqual(got["label"][i], jet.label)
            latents = got["latents"][i].astype(float)
            self.assertEqual(latents[6], jet.momentum)
            np.testing.assert_allclose(got["globals"][i], jet.globals, rtol=4 * EPS)
            np.testing.assert_allclose(latents[3:5], jet.fractions, rtol=8 * EPS, atol=4 * EPS)
            if jet.edge:
                left += 1
                continue
            x = got["x"][got["offsets"][i]:got["offsets"][i + 1]]
            self.assertEqual(latents[5], jet.count)
            self.assertEqual(len(x), len(jet.x))
            np.testing.assert_allclose(x, jet.x, rtol=0, atol=2e-6 * jet.globals[0])
            np.testing.assert_allclose(latents[:2], jet.logs, rtol=0, atol=jet.allowed + 1e-7 * abs(jet.logs[0]))
            self.assertLess(abs(latents[2] - jet.ratio), 1e-5)
        self.assertLessEqual(left, 1)

    def test_jets(self):
        self.rebuild(80, seed=1)
        self.rebuild(40, seed=2**63 - 1, first=2**32 + 1)

    def test_other_constants(self):
        self.rebuild(30, "frame=rest", "qcd_mass=30", "t_cut=1", seed=3)
        self.rebuild(30, "items=5", "unit=100", "momentum_low=0", "momentum_high=1000", "rate=5", seed=4, first=2**50)
        # Jets of up to a few hundred partons.
        self.rebuild(10, "t_cut=0.8", "items=128", "rate=0.1", "w_root_rate=0.1", "qcd_root_rate=0.2", seed=5)

    def views(self, count, *settings, seed):
        got = self.samples("ginkgo", count, *settings, seed=seed)
        for i in range(count):
            jet = Jet(got["metadata"]["parameters"], seed, i)
            self.assertEqual(got["label"][i], jet.label)
            self.assertLess(abs(got["latents"][i, 2] - jet.ratio), 1e-5)
            if not jet.edge:
                yield got, got["metadata"]["parameters"], i, jet

    def test_images(self):
        # Momenta are exact to 2e-6 of the jet's energy (see above), so the direction of a 1 GeV constituent is exact to
        # 10^-3.
        left = 0
        for settings in (("pixels=25",), ("norm=square", "pixel=0.04"), ("norm=none", "unit=10", "pixels=32")):
            for got, p, i, jet in self.views(40, "output=image", *settings, seed=7):
                left += self.leaves_image(got, p, i, jet.cloud, 1e-3, outside=3e-5)
        self.assertLessEqual(left, 15)

    def test_features(self):
        left = 0
        for got, p, i, jet in self.views(60, "output=features", "unit=10", seed=8):
            left += self.leaves_features(got, p, i, jet.cloud, jet.globals * p["unit"], 1e-3, atol=1e-4, rtol=3e-3)
        self.assertLessEqual(left, 8)

    def test_likelihood_ratio_has_mean_one(self):
        # Tests w / qcd over QCD jets and its inverse over W jets. Six standard errors are exceeded once in 5e8.
        got = self.samples("ginkgo", 6000, seed=6)
        for label, sign in ((0, -1), (1, 1)):
            ratio = np.exp(sign * got["latents"][got["label"] == label, 2].astype(float))
            self.assertLess(abs(np.mean(ratio) - 1), 6 * np.std(ratio) / np.sqrt(len(ratio)))
