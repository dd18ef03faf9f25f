"""ode: parameters, initial values and trajectories of all six systems.

Latents are compared exactly, except that log-normal ones may differ by a few units in the last place (ULP).
Trajectories start from the program's own latents and take the documented steps in f64. How far f32 may deviate depends
on how the system amplifies rounding errors, so each trajectory is computed four more times: once with the state rounded
to f32 after each step, and three times with each number shifted at random by up to one ULP. At any time, the program
may be off by five times the largest deviation of these four so far.
"""

import unittest

import numpy as np

from truth import Sample, TruthTest, f32, named_key, normal, unit, unit_open

ULP = 2.0**-23
# The figure of eight: positions and velocities of the three bodies.
EIGHT = (0.97000436, -0.24308753, -0.97000436, 0.24308753, 0, 0)
EIGHT += (0.93240737 / 2, 0.86473146 / 2, 0.93240737 / 2, 0.86473146 / 2, -0.93240737, -0.86473146)

# Centres and widths of the latents, duration and step.
SYSTEMS = {
    "lorenz": ((10, 28, 8 / 3, 1, 1, 1), (2, 7, 0.5, 10, 10, 10), 2, 0.005),
    "double_pendulum": ((1, 1, 0, 0, 0, 0), (0.5, 0.5, 2.5, 2.5, 1, 1), 5, 0.005),
    "lotka_volterra": ((-0.125, -3, -0.125, -3), (0.5, 0.5, 0.5, 0.5), 20, 0.01),
    "sir": ((np.log(0.4), np.log(0.125)), (0.5, 0.2), 160, 0.1),
    "three_bodies": ((1, 1, 1, *EIGHT), (0.2,) * 3 + (0.1,) * 12, 6.32591398, 0.002),
}


def normals(sample, purpose, count):
    """The first normal numbers of a purpose, [numbers, samples], and the tolerance for their f32 values."""
    words = sample.words(purpose, count + count % 2)
    radius = np.sqrt(-2 * np.log(unit_open(words[0::2]).astype(np.float64)))
    angle = 2 * np.pi * unit(words[1::2]).astype(np.float64)
    z = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1, radius.shape[1])[:count]
    return z, 4 * ULP * np.repeat(radius, 2, axis=0)[:count]


def lorenz(p):
    return lambda u: np.array([p[0] * (u[1] - u[0]), u[0] * (p[1] - u[2]) - u[1], u[0] * u[1] - p[2] * u[2]])


def double_pendulum(p):
    m, l, g = p[0], p[1], 9.81

    def slope(u):
        t1, t2, o1, o2 = u
        sin, cos = np.sin(t1 - t2), np.cos(t1 - t2)
        below = 1 + m * sin * sin
        a1 = m * sin * (l * o2 * o2 + cos * o1 * o1) + g * ((1 + m) * np.sin(t1) - m * cos * np.sin(t2))
        a2 = sin * ((1 + m) * (o1 * o1 + g * np.cos(t1)) + m * cos * l * o2 * o2)
        return np.array([o1, o2, -a1 / below, a2 / (l * below)])

    return slope


def lotka_volterra(p):
    return lambda u: np.array([u[0] * (p[0] - p[1] * u[1]), u[1] * (p[3] * u[0] - p[2])])


def sir(p):
    return lambda u: np.array([-p[0] * u[0] * u[1], p[0] * u[0] * u[1] - p[1] * u[1], p[1] * u[1]])


def gravity(masses, softening, axes=2):
    """Accelerations at [body * axes + axis, ...] for masses: [bodies, ...]."""

    def acceleration(places):
        q = places.reshape(-1, axes, *places.shape[1:])
        d = q[None] - q[:, None]
        square = (d * d).sum(axis=2)
        pull = masses[None] * (square + softening**2 + (square == 0)) ** -1.5
        return (pull[:, :, None] * d).sum(axis=1).reshape(places.shape)

    return acceleration


def cluster(sample, bodies):
    """Initial values of n_body: positions and velocities [6 bodies, samples], and the approximate f32 error."""
    parts, off = [], []
    a = 3 * np.pi / 16
    for body in range(bodies):
        words = np.array([word for part in range(4) for word in sample.block("scene", 4 * body + part)])
        m = 0.999 * unit_open(words[0]).astype(np.float64)
        depth = np.sqrt(1 - m ** (2 / 3))
        radius = a * np.cbrt(m) / depth
        height, turn = 2 * unit(words[1]).astype(np.float64) - 1, 2 * np.pi * unit(words[2]).astype(np.float64)
        across = np.sqrt(1 - height**2)
        z = np.array([normal(words[k], words[k + 1]) for k in range(4, 16, 2)])
        speed = np.sqrt(2 / a * depth / (z * z).sum(axis=(0, 1)))
        place = radius * np.array([across * np.cos(turn), across * np.sin(turn), height])
        velocity = speed * np.array([z[0, 0], z[2, 0], z[4, 0]])
        parts.append((place, velocity))
        # Rounding errors of the cube root and of 1 - t^2 are amplified by 1 / depth^2 in radius and speed.
        share = 8 * ULP * (1 + 1 / depth**2)
        off.append((share * radius * np.ones((3, 1)), share * np.sqrt(2 / a * depth) * np.ones((3, 1))))
    # [kind, body, axis, samples], each minus its mean over the bodies.
    parts, off = (np.array(x).swapaxes(0, 1) for x in (parts, off))
    parts -= parts.mean(axis=1, keepdims=True)
    return parts.reshape(6 * bodies, -1), (off + off.mean(axis=1, keepdims=True)).reshape(6 * bodies, -1)


def motion(state, softening):
    """Kinetic energy, potential energy and angular momentum of equal masses, state: [6 bodies, ...]."""
    q, v = state.reshape(2, -1, 3, *state.shape[1:])
    bodies = len(q)
    d = q[None] - q[:, None]
    inverse = 1 / np.sqrt((d * d).sum(axis=2) + softening**2)
    potential = -inverse[np.triu_indices(bodies, 1)].sum(axis=0) / bodies**2
    return (v * v).sum(axis=(0, 1)) / 2 / bodies, potential, np.cross(q, v, axis=1).mean(axis=0)


def energies(masses, places, velocities, softening):
    """Kinetic plus potential energy, and kinetic minus potential, of three bodies in a plane, [samples] each."""
    q, v = places.reshape(3, 2, -1), velocities.reshape(3, 2, -1)
    kinetic = (masses[:, None] * v * v).sum(axis=(0, 1)) / 2
    depth = sum(
        masses[i] * masses[j] / np.sqrt(((q[i] - q[j]) ** 2).sum(axis=0) + softening**2)
        for i, j in ((0, 1), (0, 2), (1, 2))
    )
    return kinetic - depth, kinetic + depth


def runge_kutta(slope, u, h, rounded, steps):
    for _ in range(steps):
        k1 = slope(u)
        k2 = slope(u + h / 2 * k1)
        k3 = slope(u + h / 2 * k2)
        k4 = slope(u + h * k3)
        u = rounded(u + h / 6 * (k1 + k4 + 2 * (k2 + k3)))
    return u


def leapfrog(acceleration, u, h, rounded, steps):
    q, v = np.split(u, 2)
    a = acceleration(q)
    for _ in range(steps):
        v = v + h / 2 * a
        q = rounded(q + h * v)
        a = acceleration(q)
        v = rounded(v + h / 2 * a)
    return np.concatenate([q, v])


class Ode(TruthTest):
    def latents(self, system, made, seed, spread=1):
        """The program's latents, [numbers, samples], after they have been compared."""
        sample = Sample(named_key(seed, "ode"), made["sample"])
        np.testing.assert_array_equal(made["label"], 0)
        np.testing.assert_array_equal(made["weight"], 1)
        latents = made["latents"].T[: len(SYSTEMS[system][0])].astype(np.float64)
        middle, width = SYSTEMS[system][:2]
        middle, width = f32(middle)[:, None], f32(f32(spread) * f32(width))[:, None]
        if system in ("lotka_volterra", "sir"):
            z, dz = normals(sample, "scene", len(middle))
            expected = np.exp(middle + width * z)
            self.assertLess(np.max(np.abs(latents / expected - 1) / (width * dz + 8 * ULP)), 1)
        else:
            u = unit(sample.words("scene", len(middle))).astype(np.float64)
            np.testing.assert_array_equal(latents, (width * (2 * u - 1) + middle).astype(np.float32))
        return latents

    def follow(self, system, latents, x, points=32, duration=None, step=None, softening=0.1, floor=0):
        """Compares trajectories, x: [samples, features]."""
        count = latents.shape[1]
        own_duration, own_step = SYSTEMS[system][2:]
        interval = (duration or own_duration) / points
        steps = int(np.ceil((1 - 1e-9) * interval / (step or own_step)))
        h = f32(interval / steps)
        random = np.random.default_rng(7)

        def rounded(state):
            state = state.reshape(len(state), 5, count)
            state[:, 1] = f32(state[:, 1])
            state[:, 2:] *= 1 + ULP * random.uniform(-1, 1, state[:, 2:].shape)
            return state.reshape(len(state), -1)

        latents = np.tile(latents, (1, 5))
        if system == "three_bodies":
            slope, state = gravity(latents[:3], f32(np.tile(softening, 5))), latents[3:]
        else:
            slope = globals()[system](latents)
            state = {"lorenz": latents[3:], "double_pendulum": latents[2:], "lotka_volterra": [[30], [1]]}.get(
                system, f32([[1 - 1e-6], [1e-6], [0]])
            )
            state = np.broadcast_to(state, (len(state), 5 * count))
        method = leapfrog if system == "three_bodies" else runge_kutta
        states = []
        for _ in range(points):
            state = method(slope, state, h, rounded, steps)
            states.append(state)
        states = np.array(states).reshape(points, -1, 5, count)
        spread = np.abs(states[:, :, 1:] - states[:, :, :1]).max(axis=2)
        x = x.T.astype(np.float64).reshape(points, -1, count)
        tolerance = 5 * np.maximum.accumulate(spread, axis=0) + ULP * np.abs(x) + floor
        worst = np.max(np.abs(x - states[:, :, 0]) / tolerance)
        self.assertLess(worst, 1, f"{system}: off by {worst:.3g} times the tolerance")

    def own(self, system, count, *more):
        """The system with its default settings, and more samples of the same integration: latents, x, softening."""
        parts = []
        for seed, first in ((0, 0), (20240607, 2**32 + 11)):
            made = self.samples("ode", count, f"system={system}", seed=seed, first=first)
            parts.append((self.latents(system, made, seed), made["x"], np.full(count, 0.1)))
        latents, x, softening = zip(*parts, *more)
        self.follow(system, np.concatenate(latents, axis=1), np.concatenate(x), softening=np.concatenate(softening))

    def test_lorenz(self):
        self.own("lorenz", 20)
        made = self.samples("ode", 20, "spread=0.3", "points=5", "duration=0.8", "step=0.03", seed=2)
        latents = self.latents("lorenz", made, 2, spread=0.3)
        self.follow("lorenz", latents, made["x"], points=5, duration=0.8, step=0.03)

    def test_steps_of_an_interval(self):
        # The quotient of interval and step is 1 + 2^-52, 1 + 0.5e-9 and 1 + 2e-9, which gives one, one and two steps.
        # The roundings within so few steps count as well: a few ULP of slopes below 1000.
        for points, duration, step in ((9, 0.27, 0.03), (1, 0.03 * (1 + 0.5e-9), 0.03), (1, 0.03 * (1 + 2e-9), 0.03)):
            settings = (f"points={points}", f"duration={duration!r}", f"step={step!r}")
            made = self.samples("ode", 10, *settings, seed=3)
            latents = self.latents("lorenz", made, 3)
            self.follow("lorenz", latents, made["x"], points=points, duration=duration, step=step, floor=1e-5)

    def test_double_pendulum(self):
        self.own("double_pendulum", 8)

    def test_lotka_volterra(self):
        self.own("lotka_volterra", 10)

    def test_sir(self):
        self.own("sir", 20)
        made = self.samples("ode", 20, "system=sir", "spread=0.5", "points=1", "duration=60", "step=0.7", seed=2)
        self.follow("sir", self.latents("sir", made, 2, 0.5), made["x"], points=1, duration=60, step=0.7)

    def test_three_bodies_and_the_figure_of_eight(self):
        eight = self.samples("ode", 1, "preset=figure_eight", seed=1)
        latents = self.latents("three_bodies", eight, 1, spread=0)
        np.testing.assert_array_equal(latents[:, 0], np.float32((1, 1, 1, *EIGHT)))
        # After Simo's period, all three bodies are back at the start, within the leapfrog's error.
        self.assertLess(np.max(np.abs(eight["x"][0, -12:] - latents[3:, 0])), 1e-4)
        self.own("three_bodies", 6, (latents, eight["x"], np.zeros(1)))
        made = self.samples(
            "ode", 10, "system=three_bodies", "softening=0.3", "points=3", "duration=1", "step=0.01", seed=2
        )
        latents = self.latents("three_bodies", made, 2)
        self.follow("three_bodies", latents, made["x"], points=3, duration=1, step=0.01, softening=np.full(10, 0.3))

    def test_energy_error_of_three_bodies(self):
        for softening in (0.1, 0.0387):
            made = self.samples("ode", 400, "system=three_bodies", f"softening={softening}", seed=8)
            latents, x = (made[name].T.astype(np.float64) for name in ("latents", "x"))
            (energy, scale), (end, spread) = (
                energies(latents[:3], *np.split(state, 2), softening) for state in (latents[3:15], x[-12:])
            )
            off = np.abs(latents[15] - (end - energy) / scale)
            self.assertLess(np.max(off / (1 + spread / scale)), 8 * ULP)
            self.assertLess(np.quantile(np.abs(latents[15]), 0.9), 4e-3)

    def test_n_body(self):
        for bodies, count, softening, duration, step, points, seed in (
            (8, 12, 0.1, 2 * np.sqrt(2), 0.002, 32, 0),
            (2, 40, 0.05, 1, 0.005, 3, 1),
            (16, 8, 0.3, 0.8, 0.02, 5, 2),
        ):
            settings = [f"bodies={bodies}", f"softening={softening}", f"points={points}"]
            if seed > 0:
                settings += [f"duration={duration}", f"step={step}"]
            made = self.samples("ode", count, "system=n_body", *settings, seed=seed)
            np.testing.assert_array_equal(made["label"], 0)
            np.testing.assert_array_equal(made["weight"], 1)
            start, off = cluster(Sample(named_key(seed, "ode"), made["sample"]), bodies)
            random = np.random.default_rng(7)
            copies = 9

            def moved(state, by):
                state = state.reshape(len(state), copies, count)
                state[:, 1:] += by * random.uniform(-1, 1, state[:, 1:].shape)
                return state.reshape(len(state), -1)

            # A step rounds each number three times, after rounding the sum of accelerations.
            def rounded(state):
                return moved(state, ULP * (np.abs(state.reshape(len(state), copies, count)[:, :1]) + 0.1))

            state = moved(np.tile(start, (1, copies)), off[:, None])
            interval = duration / points
            steps = int(np.ceil((1 - 1e-9) * interval / step))
            pull = gravity(np.full((bodies, 1), 1 / bodies), softening, axes=3)
            states = [state]
            for _ in range(points):
                states.append(leapfrog(pull, states[-1], f32(interval / steps), rounded, steps))
            states = np.array(states).reshape(points + 1, 6 * bodies, copies, count)

            def compare(given, expected, floor):
                """expected: [..., copies, samples]; the first copy follows the documentation, and the others show how
                far it can be trusted."""
                reach = np.abs(expected[..., 1:, :] - expected[..., :1, :]).max(axis=-2)
                worst = np.max(np.abs(given - expected[..., 0, :]) / (5 * reach + floor))
                self.assertLess(worst, 1, f"{bodies} bodies: off by {worst:.3g} times the tolerance")

            compare(made["x"].T.reshape(points, 6 * bodies, count), states[1:], ULP)
            (t, w, spin), (t_end, w_end, _) = (motion(states[k], softening) for k in (0, -1))
            given = made["latents"].T.astype(np.float64)
            roundings = bodies * ULP
            compare(given[0], t + w, roundings * (t - w)[0])
            compare(given[1], -t / w, roundings * (t / -w)[0])
            compare(given[2:5], spin, roundings * np.abs(states[0, :, 0]).max())
            compare(given[5], (t_end + w_end - t - w) / (t - w), 2 * roundings)

    def test_noise(self):
        for system in ("lorenz", "three_bodies"):
            settings = (f"system={system}", "duration=1", "points=5")
            still = self.samples("ode", 20, *settings, seed=4)["x"].T.astype(np.float64)
            made = self.samples("ode", 20, *settings, "noise=0.3", seed=4)
            z, dz = normals(Sample(named_key(4, "ode"), made["sample"]), "noise", len(still))
            expected = still + f32(0.3) * z
            tolerance = 0.3 * dz + 2 * ULP * (np.abs(still) + np.abs(z))
            self.assertLess(np.max(np.abs(made["x"].T - expected) / tolerance), 1)


if __name__ == "__main__":
    unittest.main()
