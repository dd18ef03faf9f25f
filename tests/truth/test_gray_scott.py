"""Images rebuilt bit for bit from docs/generators/algorithms/gray_scott.md; all operations are correctly rounded."""

import numpy as np

from truth import Sample, TruthTest, below, fma, named_key, uniform, unit

ONE = np.float32(1)
POINTS = (  # F and k of alpha to mu
    (0.012, 0.0500), (0.020, 0.0470), (0.024, 0.0550), (0.042, 0.0590), (0.018, 0.0550), (0.026, 0.0590),
    (0.034, 0.0630), (0.038, 0.0610), (0.046, 0.0594), (0.058, 0.0630), (0.028, 0.0618), (0.050, 0.0650),
)


class Chain:
    """One grid, followed over time."""

    def __init__(self, p, seed, number):
        self.n = n = p["cells"]
        self.sample = sample = Sample(named_key(seed, "gray_scott"), number)
        self.label = int(below(sample.words("label", 1)[0], 12))
        w = sample.words("scene", 2)
        spread = np.float32(p["spread"])
        feed, kill = (np.float32(value) for value in POINTS[self.label])
        self.feed = fma(spread * np.float32(5e-4), uniform(w[0], -1, 1), feed)
        self.kill = fma(spread * np.float32(2e-4), uniform(w[1], -1, 1), kill)
        squares = max(1, int(np.float32(p["squares"]) * np.float32(n) * np.float32(n)))
        corners = sample.block("texture", np.arange(squares))
        covered = np.zeros((n, n), bool)
        part = np.arange(min(p["square"], n))
        for x, y in zip(below(corners[0], n), below(corners[1], n)):
            covered[np.ix_((y + part) % n, (x + part) % n)] = True
        w = sample.block("noise", np.arange(n * n).reshape(n, n))
        half = np.float32(0.5)
        self.u = np.where(covered, fma(np.float32(0.01), unit(w[0]) - half, half), ONE)
        self.v = np.where(covered, fma(np.float32(0.005), unit(w[1]) - half, np.float32(0.25)), np.float32(0))
        self.age = 0

    def step(self):
        u, v, four = self.u, self.v, np.float32(-4)
        around = [
            (np.roll(q, 1, 0) + np.roll(q, -1, 0)) + (np.roll(q, 1, 1) + np.roll(q, -1, 1)) for q in (u, v)
        ]
        r = u * (v * v)
        spread = fma(np.float32(0.2097152), fma(four, u, around[0]), u)
        self.u = spread + fma(self.feed, ONE - u, -r)
        spread = fma(np.float32(0.1048576), fma(four, v, around[1]), v)
        self.v = spread + fma(-(self.feed + self.kill), v, r)
        self.age += 1

    def picture(self, side, grey):
        w = self.sample.words("colour", 8)
        dark, light = uniform(w[2:5], 0, 0.25), uniform(w[5:8], 0.75, 1)
        if grey:
            dark, light = np.zeros(3, np.float32), np.ones(3, np.float32)
        x, y = ((below(word, self.n) + np.arange(side)) % self.n for word in w[:2])
        t = np.clip(self.v[np.ix_(y, x)] * (ONE / np.float32(0.45)), 0, 1)
        return fma(t[:, :, None], light - dark, dark)


class GrayScott(TruthTest):
    def rebuild(self, numbers, *settings, seed=0, first=0, size=None):
        """Compares samples first + n for all n in `numbers`."""
        got = self.samples("gray_scott", max(numbers) + 1, *settings, seed=seed, first=first, size=size)
        p = got["metadata"]["parameters"]
        lanes, frames = p["lanes"], p["frames"]
        chains, labels = {}, set()
        for k in numbers:
            lane, turn = (first + k) % lanes, (first + k) // lanes + (first + k) % lanes * frames // lanes
            number, steps = turn // frames * lanes + lane, p["warm_up"] + turn % frames * p["stride"]
            if number not in chains or chains[number].age > steps:
                chains[number] = Chain(p, seed, number)
            chain = chains[number]
            while chain.age < steps:
                chain.step()
            labels.add(chain.label)
            self.assertEqual(got["label"][k], chain.label)
            np.testing.assert_array_equal(got["latents"][k], np.array([chain.feed, chain.kill, steps], np.float32))
            image = chain.picture(64 if size is None else size, p["palette"] == "grey")
            np.testing.assert_array_equal(got["x"][k], image)
        return labels

    def test_defaults(self):
        # All steps on a smaller grid, then a few steps on the full grid.
        self.rebuild([0], "cells=48", seed=1)
        self.rebuild([0, 1], "warm_up=100", seed=1, first=2**40)

    def test_frames_of_chains(self):
        short = ["cells=40", "warm_up=20", "stride=10"]
        labels = self.rebuild(range(64), *short, "lanes=12", "frames=4", seed=2, size=37)
        self.assertGreater(len(labels), 8)
        self.rebuild(range(7), *short, "lanes=5", "frames=3", seed=2**63 - 1, first=2**32 - 3, size=48)

    def test_other_parameters(self):
        self.rebuild([0, 5], "cells=30", "warm_up=30", "squares=0.01", "square=7", "spread=0", "palette=grey", seed=3)
        self.rebuild([1], "cells=17", "warm_up=5", "square=20", "squares=0", "spread=0.3", seed=4, size=40)
