"""Pulses rebuilt from docs/generators/algorithms/nu_telescope.md, and known properties of such telescopes: Cherenkov
geometry, the distribution of delays, and the best reconstruction with a small array.

Distances, expectations and times are f32 in the program and f64 here. Positions near 1000 m are off by 2^-13 m after a
few roundings, times by CLOSE ns, and delays by SHARE of their value (a power of a rounded number). Counts, modules and
flags must be equal, because no comparison in these samples is that close to an edge.
"""

import math
import unittest

import numpy as np
from scipy import special, stats

from truth import Sample, TruthTest, named_key, normal, unit, unit_open

CLOSE, SHARE = 4e-3, 2e-5
RARE = 1e-7  # false alarm rate of a test of a distribution; seeds are fixed
C = 0.299792458  # m / ns
TRIES = 16

DEFAULTS = {
    "output": "pulses", "hypotheses": "both", "strings": 78, "modules": 60, "string_spacing": 125, "module_spacing": 17,
    "zenith_low": 0, "zenith_high": math.pi, "azimuth_low": 0, "azimuth_high": 2 * math.pi, "vertex_radius": 500,
    "vertex_height": 500, "energy_low": 100, "energy_high": 10000, "start": 500, "phase_index": 1.3195,
    "group_index": 1.35634, "tau": 556.7, "lambda": 33.29, "lambda_a": 98, "jitter": 3, "light": 30000,
    "track_gain": 0.00175, "cascade_length": 5.3, "cascade_forward": 0.5, "area": 0.005, "attenuation": 30,
    "acceptance": 0.6, "saturation": 64, "charge_width": 0.3, "noise_rate": 500, "window_low": -4000,
    "window_high": 8000, "coincidence": 1000, "unit": 1, "time_unit": 1, "items": 512,
}
ONE_ANGLE = {
    "strings": 8, "modules": 16, "string_spacing": 60, "module_spacing": 20, "azimuth_low": 0, "azimuth_high": 0,
    "vertex_radius": 0, "vertex_height": 0, "energy_low": 100, "energy_high": 100, "start": 0, "area": 0.001,
    "jitter": 100, "noise_rate": 5000, "window_low": -1500, "window_high": 2500, "saturation": 1024, "unit": 100,
    "time_unit": 500, "items": 64,
}


def modules_of(p):
    """[strings * modules, 3], string by string, each from the top down."""
    points = [(a, b) for b in range(-60, 61) for a in range(-60, 61) if (a + b) % 2]
    points.sort(key=lambda q: (q[0] ** 2 + 3 * q[1] ** 2, abs(q[1]), q[0] * q[1] < 0, q[1], q[0]))
    k = np.arange(p["modules"])
    z = ((p["modules"] - 1) / 2 - k) * p["module_spacing"]
    spacing = p["string_spacing"]
    return np.array([
        (a / 2 * spacing, b * math.sqrt(3) / 2 * spacing, height) for a, b in points[: p["strings"]] for height in z
    ])


class Light:
    """Expected light in modules at [M, 3] for events: travel direction [..., 3], vertex, energy, track or not."""

    def __init__(self, p, places, travel, vertex, energy, track):
        cosine = 1 / p["phase_index"]
        sine = math.sqrt(1 - cosine**2)
        r = places - vertex
        along = np.sum(r * travel, -1)
        if track:
            across = r - along[..., None] * travel
            d = np.linalg.norm(across, axis=-1)
            up = travel[..., 2] * cosine + sine * across[..., 2] / np.maximum(d, 1e-30)
            self.time = (along + d * (p["group_index"] - cosine) / sine) / C
            bright = p["light"] * p["area"] * (1 + p["track_gain"] * energy) / (2 * math.pi * sine)
            self.photons = bright / np.maximum(d, 1)
        else:
            d = np.linalg.norm(r, axis=-1)
            up = r[..., 2] / np.maximum(d, 1e-30)
            self.time = d * p["group_index"] / C
            bright = p["light"] * p["area"] * p["cascade_length"] * energy / (4 * math.pi)
            forward = 1 + p["cascade_forward"] * along / np.maximum(d, 1e-30)
            self.photons = bright * forward / np.maximum(d, 1) ** 2
        self.photons = self.photons * np.exp(-d / p["attenuation"]) * (1 + p["acceptance"] * up)
        self.shape = (0.8395 * d + 3.094 - 3.946 * up + 4.636 * up**2) / p["lambda"]
        self.time, self.shape = (np.broadcast_to(x, self.photons.shape) for x in (self.time, self.shape))


def rho_of(p):
    return 1 / p["tau"] + C / p["group_index"] / p["lambda_a"]


def gamma(sample, first, shape):
    """The program's gamma numbers of scale 1, by Marsaglia and Tsang, with one texture block per try."""
    small = shape < 1
    d = np.where(small, shape + 1, shape) - 1 / 3
    c = 1 / np.sqrt(9 * d)
    made, open_ = np.zeros(len(shape)), np.ones(len(shape), bool)
    power = np.ones(len(shape))
    for k in range(TRIES):
        words = sample.block("texture", first + k * 2**24)
        if k == 0:
            power = np.where(small, unit_open(words[3]).astype(np.float64) ** (1 / shape), 1.0)
        z = normal(words[0], words[1])[0]
        root = 1 + c * z
        cube = np.where(root > 0, root, 1) ** 3
        better = np.log(unit_open(words[2]).astype(np.float64)) < z**2 / 2 + d * (1 - cube + np.log(cube))
        made = np.where(open_ & (root > 0), d * cube * power, made)
        open_ &= ~((root > 0) & better)
    return made


class Event:
    """One event; `rows` as with output=truth."""

    def __init__(self, p, seed, number):
        sample = Sample(named_key(seed, "nu_telescope"), number)
        way, place = sample.block("scene", 0), sample.block("scene", 1)
        track = bool(sample.block("label", 0)[0] >> 31) if p["hypotheses"] == "both" else p["hypotheses"] == "track"
        u, v = ([float(unit(word)) for word in words] for words in (way, place))
        low, high = math.cos(p["zenith_high"]), math.cos(p["zenith_low"])
        cosine = low + u[0] * (high - low)
        azimuth = p["azimuth_low"] + u[1] * (p["azimuth_high"] - p["azimuth_low"])
        sine = math.sqrt(max(0, 1 - cosine**2))
        source = np.array([sine * math.cos(azimuth), sine * math.sin(azimuth), cosine])
        energy = p["energy_low"] * (p["energy_high"] / p["energy_low"]) ** u[2]
        start = p["start"] * (2 * u[3] - 1)
        radius, around = p["vertex_radius"] * math.sqrt(v[0]), 2 * math.pi * v[1]
        vertex = np.array([radius * math.cos(around), radius * math.sin(around), p["vertex_height"] * (2 * v[2] - 1)])
        self.places = modules_of(p)
        light = Light(p, self.places, -source, vertex, energy, track)
        counts = self.photons(p, sample, light)
        module = np.repeat(np.arange(len(counts)), counts)
        k = np.arange(len(module)) - np.repeat(np.cumsum(counts) - counts, counts)
        index = module * 1024 + k
        delay = gamma(sample, index, light.shape[module]) / rho_of(p)
        words = sample.block("noise", index)
        jitter, charge = normal(words[0], words[1])
        exact = start + light.time[module]
        time = exact + delay + p["jitter"] * jitter
        charge = np.maximum(1 + p["charge_width"] * charge, 0.05)
        self.kept_word = int(place[3])
        rows = [np.stack([time, charge, module, exact, delay, np.ones(len(module))], 1)] if len(module) else []
        rows += [self.noise(p, sample, s) for s in range(p["strings"])]
        rows = np.concatenate([part for part in rows if len(part)] or [np.zeros((0, 6))])
        self.rows = self.with_flags(p, rows)
        hit = len(np.unique(rows[:, 2]))
        self.latents = np.array([
            track, *source, azimuth, math.acos(cosine), *vertex, energy, math.log10(energy), start, len(rows),
            np.sum(rows[:, 5] == 0), hit, np.sum(counts == p["saturation"]),
        ])

    @staticmethod
    def photons(p, sample, light):
        modules, saturation = p["modules"], p["saturation"]
        string, module = np.divmod(np.arange(len(light.photons)), modules)
        fours = (modules + 3) // 4
        words = np.array(sample.block("texture", 2**29 + string * fours + module // 4))
        u = unit_open(words[module % 4, np.arange(len(module))]).astype(np.float64)
        counts = np.zeros(len(module), np.int64)
        first = -np.log(u)
        for i in np.flatnonzero((light.photons >= 2.0**-24) & (first < light.photons)):
            blocks = sample.block("texture", 2**28 + i * 256 + np.arange((saturation + 3) // 4))
            gaps = -np.log(unit_open(np.array(blocks).T.ravel()).astype(np.float64))[: saturation - 1]
            sums = first[i] + np.concatenate([[0], np.cumsum(gaps)])
            counts[i] = np.sum(sums < light.photons[i])
        return counts

    @staticmethod
    def noise(p, sample, string):
        mean = p["noise_rate"] * 1e-9 * (p["window_high"] - p["window_low"])
        if mean == 0:
            return []
        most = int(mean * p["modules"] + 12 * math.sqrt(mean * p["modules"]) + 40)
        words = sample.block("noise", 2**28 + string * 2**16 + np.arange(most))
        module = np.cumsum(-np.log(unit_open(words[0]).astype(np.float64))) / mean
        count = int(np.sum(module < p["modules"]))
        time = p["window_low"] + unit(words[1][:count]).astype(np.float64) * (p["window_high"] - p["window_low"])
        charge = np.maximum(1 + p["charge_width"] * normal(words[2], words[3])[0][:count], 0.05)
        sensor = string * p["modules"] + module[:count].astype(np.int64)
        nothing = np.zeros(count)
        return np.stack([time, charge, sensor, nothing, nothing, nothing], 1)

    def kept(self, items):
        """The rows of pulses that the program keeps."""
        pulses = len(self.rows)
        if pulses <= items:
            return self.rows
        start = (self.kept_word * pulses) >> 32
        steps = (start + np.arange(pulses + 1)) * items // pulses
        return self.rows[np.diff(steps) == 1]

    def with_flags(self, p, rows):
        first = np.full(len(self.places), np.nan)
        for time, sensor in zip(rows[:, 0], rows[:, 2].astype(int)):
            first[sensor] = np.fmin(first[sensor], time)
        by_string = np.pad(first.reshape(p["strings"], -1), ((0, 0), (2, 2)), constant_values=np.nan)
        near = np.zeros((p["strings"], p["modules"]), bool)
        for off in (0, 1, 3, 4):
            other = by_string[:, off : off + p["modules"]]
            near |= np.abs(other - by_string[:, 2:-2]) <= p["coincidence"]  # NaN: false
        sensor = rows[:, 2].astype(int)
        flags = ~near.ravel()[sensor]
        return np.column_stack([self.places[sensor], rows[:, :2], flags, rows[:, 2:]])


class SmallArray:
    """The likelihood of pulses if only hypothesis and zenith are unknown (preset one_angle)."""

    def __init__(self, p, angles=120):
        self.p, self.places = p, modules_of(p)
        self.cosines = (np.arange(angles) + 0.5) * 2 / angles - 1
        sine = np.sqrt(1 - self.cosines**2)
        travel = -np.stack([sine, 0 * sine, self.cosines], 1)[:, None, :]
        vertex = np.zeros(3)
        self.light = [Light(p, self.places, travel, vertex, p["energy_low"], track) for track in (False, True)]
        # Log densities of a delay with jitter, by shape and time, in closed form (parabolic cylinder functions).
        self.shapes = np.geomspace(0.05, 12, 160)
        self.times = np.arange(-800, 9001, 10.0)
        self.table = np.array([self.log_density(self.times, shape) for shape in self.shapes])

    def log_density(self, t, shape):
        rho, s = rho_of(self.p), self.p["jitter"]
        eta = rho * s - t / s
        log = np.empty_like(t)
        near = eta > -20  # elsewhere, jitter does not change the distribution of the delay
        d = special.pbdv(-shape, eta[near])[0]
        log[near] = shape * math.log(rho * s) - math.log(s * math.sqrt(2 * math.pi))
        log[near] += eta[near] ** 2 / 4 - t[near] ** 2 / (2 * s * s) + np.log(d)
        log[~near] = stats.gamma.logpdf(t[~near], shape, scale=1 / rho)
        return log

    def density(self, t, shape):
        x = np.interp(np.log(shape), np.log(self.shapes), np.arange(len(self.shapes)))
        y = np.clip((t - self.times[0]) / 10, 0, len(self.times) - 1.001)
        i, j = np.minimum(x.astype(int), len(self.shapes) - 2), y.astype(int)
        f, g = x - i, y - j
        rows = self.table[i, j] * (1 - g) + self.table[i, j + 1] * g
        more = self.table[i + 1, j] * (1 - g) + self.table[i + 1, j + 1] * g
        return np.where((t < self.times[0]) | (t > self.times[-1]), 0.0, np.exp(rows * (1 - f) + more * f))

    def log_likelihoods(self, sensor, time):
        """Log likelihoods [hypothesis, cosine], without terms that depend on neither."""
        p = self.p
        noise = p["noise_rate"] * 1e-9
        inside = (time > p["window_low"]) & (time < p["window_high"])
        logs = []
        for light in self.light:
            late = time - light.time[:, sensor]
            seen = light.photons[:, sensor] * self.density(late, light.shape[:, sensor])
            logs.append(-np.sum(light.photons, 1) + np.sum(np.log(seen + noise * inside + 1e-300), 1))
        return np.array(logs)

    def answers(self, made, i):
        """Posterior: probability of a track, mean and variance of the cosine, its cumulative distribution and bin
        edges."""
        x = made["x"][made["offsets"][i] : made["offsets"][i + 1]].astype(np.float64)
        place = x[:, :3] * self.p["unit"]
        sensor = np.argmin(np.sum((place[:, None] - self.places) ** 2, 2), 1)
        logs = self.log_likelihoods(sensor, x[:, 3] * self.p["time_unit"])
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        of_cosine = weights.sum(0)
        mean = of_cosine @ self.cosines
        cumulative = np.concatenate([[0], np.cumsum(of_cosine)])
        edges = np.linspace(-1, 1, len(self.cosines) + 1)
        return weights[1].sum(), mean, of_cosine @ self.cosines**2 - mean**2, cumulative, edges


class NuTelescopeTest(TruthTest):
    def compare(self, count, settings, seed, first=0, preset=None):
        p = DEFAULTS | (ONE_ANGLE if preset else {}) | settings
        written = [f"preset={preset}"] if preset else []
        written += [f"{name}={value}" for name, value in settings.items()]
        made = self.samples("nu_telescope", count, *written, seed=seed, first=first)
        self.assertEqual(made["metadata"]["parameters"], p)
        for i in range(count):
            event = Event(p, seed, first + i)
            latents = made["latents"][i].astype(np.float64)
            np.testing.assert_array_equal(latents[[0, 12, 13, 14, 15]], event.latents[[0, 12, 13, 14, 15]])
            np.testing.assert_allclose(latents[1:12], event.latents[1:12], rtol=4e-6, atol=2e-4)
            label = event.latents[0] if p["hypotheses"] == "both" else 0
            self.assertEqual(made["label"][i], label)
            seen = made["x"][made["offsets"][i] : made["offsets"][i + 1]].astype(np.float64)
            width = 10 if p["output"] == "truth" else 6
            rows = event.kept(p["items"])
            self.assertEqual(seen.shape, (len(rows), width))
            np.testing.assert_allclose(seen[:, :3] * p["unit"], rows[:, :3], rtol=1e-6, atol=1e-4)
            slack = CLOSE + SHARE * rows[:, 8]
            self.assertTrue(np.all(np.abs(seen[:, 3] * p["time_unit"] - rows[:, 3]) <= slack))
            np.testing.assert_allclose(seen[:, 4], rows[:, 4], atol=3e-6)
            np.testing.assert_array_equal(seen[:, 5], rows[:, 5])
            if width == 6:
                continue
            np.testing.assert_array_equal(seen[:, [6, 9]], rows[:, [6, 9]])
            self.assertTrue(np.all(np.abs(seen[:, 7] - rows[:, 7]) <= CLOSE))
            self.assertTrue(np.all(np.abs(seen[:, 8] - rows[:, 8]) <= slack))

    def test_default(self):
        self.compare(6, {"output": "truth"}, seed=3)
        self.compare(3, {}, seed=2**62 + 11, first=2**32 - 2)

    def test_other_arrays(self):
        self.compare(4, {"output": "truth", "strings": 19, "modules": 33, "energy_low": 5000, "saturation": 7,
                         "items": 100}, seed=4)
        self.compare(4, {"hypotheses": "track", "noise_rate": 0, "zenith_low": 1.5, "jitter": 15}, seed=5)
        self.compare(4, {"hypotheses": "cascade", "noise_rate": 8000, "coincidence": 300, "phase_index": 1.35,
                         "tau": 450, "charge_width": 0.5, "items": 2000}, seed=6)
        self.compare(6, {}, seed=7, preset="one_angle")

    def test_constants(self):
        """40.72 degrees; light is 3.0599 ns later per metre from the track; rho is 0.0040517 / ns."""
        p = DEFAULTS
        self.assertAlmostEqual(math.degrees(math.acos(1 / p["phase_index"])), 40.72, delta=0.005)
        light = Light(p, np.array([[1000.0, 0, 0]]), np.array([0.0, 0, 1]), np.zeros(3), 1, True)
        self.assertAlmostEqual(light.time[0] / 1000, 3.0599, delta=5e-5)
        self.assertAlmostEqual(rho_of(p), 0.0040517, delta=5e-8)

    def test_delays_and_counts(self):
        """Over many events together, delays must follow Pandel's distribution for the true geometry, and photon counts
        must match."""
        made = self.samples("nu_telescope", 300, "output=truth", "items=4000", "saturation=1024", "energy_low=1000", seed=8)
        p = DEFAULTS | {"energy_low": 1000, "saturation": 1024}
        places, shares, expected, found = modules_of(p), [], 0.0, 0
        for i in range(300):
            latents = made["latents"][i].astype(np.float64)
            light = Light(p, places, -latents[1:4], latents[6:9], latents[9], latents[0] == 1)
            x = made["x"][made["offsets"][i] : made["offsets"][i + 1]].astype(np.float64)
            x = x[x[:, 9] == 1]
            if np.max(light.photons) > 900:
                continue  # some modules could saturate
            expected += np.sum(light.photons)
            found += len(x)
            sensor = x[:, 6].astype(int)
            self.assertLess(np.max(np.abs(x[:, 7] - latents[11] - light.time[sensor]), initial=0), CLOSE)
            shares.append(special.gammainc(light.shape[sensor], x[:, 8] * rho_of(p)))
        shares = np.concatenate(shares)
        self.assertGreater(len(shares), 20000)
        self.assertGreater(stats.kstest(shares, "uniform").pvalue, RARE)
        self.assertGreater(2 * stats.norm.sf(abs(found - expected) / math.sqrt(expected)), RARE)

    def test_small_array_matches_its_posterior(self):
        """With preset one_angle, the truth must follow the posterior: ranks are uniform, and the probability of a track
        and the squared error match."""
        count, array = 300, SmallArray(DEFAULTS | ONE_ANGLE)
        made = self.samples("nu_telescope", count, "preset=one_angle", "items=200", seed=9)
        whole = np.trapz(np.exp(array.table), array.times, axis=1)
        np.testing.assert_allclose(whole[array.shapes < 4], 1, atol=2e-3)
        ranks, off, squares, variances, spread = [], 0.0, [], [], 0.0
        for i in range(count):
            track, mean, variance, cumulative, edges = array.answers(made, i)
            truth = float(made["latents"][i][3])
            ranks.append(np.interp(truth, edges, cumulative))
            off += made["label"][i] - track
            spread += track * (1 - track)
            squares.append((truth - mean) ** 2)
            variances.append(variance)
        self.assertGreater(stats.kstest(ranks, "uniform").pvalue, RARE)
        self.assertLess(abs(off), 5.5 * math.sqrt(spread))
        error = np.std(np.array(squares) - np.array(variances)) / math.sqrt(count)
        self.assertLess(abs(np.mean(squares) - np.mean(variances)), 5.5 * error)


if __name__ == "__main__":
    unittest.main()
