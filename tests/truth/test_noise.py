"""Images rebuilt from docs/generators/algorithms/noise.md: uniform values bit for bit, normal numbers within 4e-6.

Here, the f64 sum of a product of two f32 numbers and a third number is rounded twice, so it differs from fma once in
about 10^9 values. A normal number is a root, at most 5.8, times the program's own cosine; 4e-6 is 8 units in the last
place of such a root.
"""

import numpy as np

from truth import Sample, TruthTest, below, named_key, normal, unit


class Noise(TruthTest):
    def rebuild(self, count, *settings, seed=0, first=0, size=None):
        got = self.samples("noise", count, *settings, seed=seed, first=first, size=size)
        p = got["metadata"]["parameters"]
        side = 64 if size is None else size
        self.assertEqual(got["x"].shape, (count, side, side, 3))
        mean, sigma = np.float32(p["mean"]), np.float32(p["sigma"])
        np.testing.assert_array_equal(got["latents"], [[mean, sigma]] * count)
        draw = (np.arange(side)[:, None] << 16) | np.arange(side)
        for i in range(count):
            sample = Sample(named_key(seed, "noise"), first + i)
            label = {"uniform": 0, "gaussian": 1, "either": int(below(sample.words("label", 1)[0], 2))}[p["law"]]
            self.assertEqual(got["label"][i], label)
            w = sample.block("texture", draw)
            if label == 0:
                width = np.float32(3.4641016) * sigma
                low = mean - np.float32(0.5) * width
                x = np.stack(unit(w[:3]).astype(np.float64) * width + low, axis=-1)
                x = x.astype(np.float32)
            else:
                n0, n1 = normal(w[0], w[1])
                x = np.float64(mean) + np.float64(sigma) * np.stack([n0, n1, normal(w[2], w[3])[0]], axis=-1)
            if p["palette"] == "grey":
                x = np.repeat(x[:, :, :1], 3, axis=2)
                np.testing.assert_array_equal(got["x"][i][:, :, 1:], np.repeat(got["x"][i][:, :, :1], 2, axis=2))
            if label == 0:
                np.testing.assert_array_equal(got["x"][i], x)
            else:
                np.testing.assert_allclose(got["x"][i], x, rtol=2**-23, atol=4e-6 * sigma)
        return got["label"]

    def test_images(self):
        labels = self.rebuild(8, seed=1)
        self.assertEqual(set(labels), {0, 1})
        self.rebuild(4, seed=2**63 - 1, first=2**32 - 2, size=37)
        self.rebuild(2, "mean=0.37", "sigma=0.11", "palette=grey", seed=2, first=2**45, size=129)

    def test_each_distribution(self):
        for law in ("uniform", "gaussian"):
            self.rebuild(3, "law=" + law, "mean=0.2", "sigma=0.7", seed=3, size=16)
            self.rebuild(1, "law=" + law, "palette=grey", seed=4, size=35)
        self.rebuild(2, "mean=1", "sigma=0", seed=5, size=17)
