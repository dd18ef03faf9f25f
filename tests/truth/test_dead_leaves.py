"""Images rebuilt from docs/generators/algorithms/dead_leaves.md: visible leaves, and colours bit for bit.

Radii are computed in f32 as documented, because the error of 1 - taper * u near 1 would move the edges of large leaves.
The outlines are in f64 here and differ from the program's by a few 2^-24 of the side, so a pixel whose centre is this
close to an edge may show another leaf. An image has 20 to 40 edge pixels per pixel of its side, so this affects about
one pixel in 10^5. The test allows 1 in 5000 pixels in a set of images, plus one (0 seen).

Fills are the program's own samples of the other generator; levels are built and read in f64 here. The program's
positions in a fill have four roundings of numbers below 2^8, at most 2^-17 each, and the cosine adds one of 2^-24 times
about 100 pixels. Between two pixels of a fill, a value changes by at most 1 along each axis. If a leaf shrinks its fill
to a scale s, these errors grow as 1 / s, but the value changes by s per pixel. So values differ by less than 1e-4.
"""

import numpy as np

from truth import Sample, TruthTest, below, fma, named_key, unit

ONE = np.float32(1)
CHUNK = 128
KINDS = ("circle", "square", "oriented_square", "rectangle", "triangle", "quadrilateral", "mixed")


def cos_sin(turns):
    angle = 2 * np.pi * np.asarray(turns, np.float64)
    return np.cos(angle), np.sin(angle)


class Law:
    """The distribution of radii and centres."""

    def __init__(self, p, side, share):
        r_min, r_max, spread = (np.float32(p[name]) for name in ("r_min", "r_max", "spread"))
        if spread != 1:
            r_min = r_min * np.exp((np.float32(2) * share - ONE) * np.log(spread))
        self.r_min, self.r_max, self.paper = r_min, r_max, p["law"] == "paper"
        self.side = side = np.float32(side)
        self.small = r_min * side
        ratio = r_min / r_max
        self.taper, self.linear = ONE - ratio * ratio, ONE - ratio
        self.log_ratio = np.log(r_max / r_min)
        cubic = np.float32(0.5) * side * side * self.taper / (self.small * self.small)
        square = np.float32(2) * (side + side) * self.linear / self.small
        total = (cubic + square) + np.float32(4) * self.log_ratio
        self.first = self.second = ONE
        if not self.paper and cubic != 0:
            self.first, self.second = cubic / total, (cubic + square) / total

    def leaves(self, words):
        """Centres and radii of leaves, from their words."""
        u = unit(words[2])
        with np.errstate(all="ignore"):
            radius = self.small / np.sqrt(ONE - self.taper * (u / self.first))
            other = self.small / (ONE - self.linear * ((u - self.first) / (self.second - self.first)))
            last = self.small * np.exp(self.log_ratio * ((u - self.second) / (ONE - self.second)))
        radius = np.where(u < self.first, radius, np.where(u < self.second, other, last))
        out = np.float32(0) if self.paper else radius
        span = self.side + np.float32(2) * out
        return fma(span, unit(words[0]), -out), fma(span, unit(words[1]), -out), radius


def edges(kind, v, r):
    """Four half planes (nx, ny, d) per leaf, from its kind and the words of its outline: [4, leaves] each."""
    u = unit(v).astype(np.float64)
    c, s = cos_sin(0.25 * u[0])
    upright = kind != 2
    wide = np.where(kind == 3, c, float(np.float32(0.70710678))) * r
    high = np.where(kind == 3, s, float(np.float32(0.70710678))) * r
    c, s = np.where(upright, 1, c), np.where(upright, 0, s)
    box = [c, -s, -c, s], [s, c, -s, -c], [wide, high, wide, high]
    u[3] = np.where(kind == 4, u[2], u[3])
    u = np.sort(u, axis=0)
    u = np.concatenate([u, u[:1] + 1])
    nx, ny = cos_sin(0.5 * (u[:-1] + u[1:]))
    polygon = nx, ny, r * cos_sin(0.5 * (u[1:] - u[:-1]))[0]
    return [np.where(kind >= 4, a, np.array(b)) for a, b in zip(polygon, box)]


class DeadLeaves(TruthTest):
    def rebuild(self, count, *settings, seed=0, first=0, size=None):
        got = self.samples("dead_leaves", count, *settings, seed=seed, first=first, size=size)
        p = got["metadata"]["parameters"]
        side = 64 if size is None else size
        self.off = 0
        fills = self.fills(p) if p["fill"] else None
        for i in range(count):
            self.image(got, i, p, side, Sample(named_key(seed, "dead_leaves"), first + i), fills)
        # A pixel is counted twice if there are dense labels.
        self.assertLessEqual(self.off, (1 + ("plane" in got)) * (count * side**2 / 5000 + 1))
        return got

    def fills(self, p):
        """Levels of the fills: samples of the other generator."""
        name, *settings = p["fill"]
        fills = self.samples(name, p["fills"], *settings, seed=p["fill_seed"], size=p["fill_side"])["x"]
        levels = [fills.astype(np.float64)]
        while levels[-1].shape[1] > 1:
            halves = self.halving(levels[-1].shape[1])
            levels.append(np.einsum("iy,jx,kyxc->kijc", halves, halves, levels[-1]))
        return levels

    @staticmethod
    def halving(side):
        """Weights of the previous level's pixels in each pixel of a level: [side / 2, side]."""
        half, odd = side // 2, side % 2
        weights = np.zeros((half, side))
        for i in range(half):
            weights[i, 2 * i : 2 * i + 2 + odd] = [half - odd * i, half, i + 1][: 2 + odd]
        return weights / side

    def read(self, p, fills, sample, shown, px, py):
        """The fill at each place, for the leaves `shown` there: [places, 3]."""
        w = sample.block("texture", 2**31 + shown)
        count, side = fills[0].shape[:2]
        low, high = p["fill_scale_low"], p["fill_scale_high"]
        cosine, sine = cos_sin((w[3] >> 16) / 2**16)
        step = (1 / low) * (low / high) ** ((w[3] & 0xFFFF) / 2**16)
        column = 2 * side * unit(w[1]).astype(np.float64) + step * (cosine * px - sine * py)
        row = 2 * side * unit(w[2]).astype(np.float64) + step * (sine * px + cosine * py)
        depth = np.clip(np.log2(step), 0, len(fills) - 1)
        k = below(w[0], count)
        seen = np.zeros((len(k), 3))
        for number, fill in enumerate(fills):
            # The weight is 1 at the level's own depth, 0 one level away, and linear in between.
            share = np.maximum(0, 1 - np.abs(depth - number))[:, None]
            seen += share * self.bilinear(fill, k, *(self.folded(v, side) * fill.shape[1] / side for v in (column, row)))
        return seen

    @staticmethod
    def folded(v, side):
        v = v % (2 * side)
        return np.minimum(v, 2 * side - v)

    @staticmethod
    def bilinear(fill, k, column, row):
        last = fill.shape[1] - 1

        def tap(v):
            place = np.clip(v - 0.5, 0, last)
            first = place.astype(np.int64)
            return first, np.minimum(first + 1, last), (place - first)[:, None]

        (x0, x1, tx), (y0, y1, ty) = tap(column), tap(row)
        upper = (1 - tx) * fill[k, y0, x0] + tx * fill[k, y0, x1]
        lower = (1 - tx) * fill[k, y1, x0] + tx * fill[k, y1, x1]
        return (1 - ty) * upper + ty * lower

    def image(self, got, i, p, side, sample, fills):
        words = sample.words("label", 2)
        label = int(below(words[0], 7)) if p["kind"] == "any" else KINDS.index(p["kind"])
        self.assertEqual(got["label"][i], label)
        law = Law(p, side, unit(words[1]))
        np.testing.assert_allclose(got["latents"][i], [law.r_min, law.r_max], rtol=2e-7 if p["spread"] != 1 else 0)
        py, px = (a.ravel() for a in np.mgrid[:side, :side] + 0.5)
        shown = np.full(side * side, p["max_leaves"], np.int64)
        open_ = np.arange(side * side)
        n = 0
        while len(open_) and n < p["max_leaves"]:
            number = np.arange(n, min(n + CHUNK, p["max_leaves"]))
            words = sample.block("scene", 2 * number)
            x, y, r = (a.astype(np.float64) for a in law.leaves(words))
            kind = below(words[3], 6) if label == 6 else np.full(len(number), label)
            nx, ny, d = edges(kind, np.array(sample.block("scene", 2 * number + 1)), r)
            dx, dy = px[open_] - x[:, None], py[open_] - y[:, None]
            on = np.max([a[:, None] * dx + b[:, None] * dy - c[:, None] for a, b, c in zip(nx, ny, d)], axis=0) <= 0
            on = np.where((kind == 0)[:, None], dx**2 + dy**2 <= r[:, None] ** 2, on)
            hit = np.any(on, axis=0)
            shown[open_[hit]] = number[np.argmax(on[:, hit], axis=0)]
            open_ = open_[~hit]
            n += CHUNK
        if "plane" in got:
            kind = below(sample.block("scene", 2 * shown)[3], 6) if label == 6 else np.full(len(shown), label)
            dense = (shown if p["dense"] == "leaf" else kind) + 1
            dense[shown == p["max_leaves"]] = 0
            self.off += np.sum(dense.reshape(side, side) != got["plane"][i])
        if fills is None:
            colours = unit(np.array(sample.block("texture", shown))[:3]).T.reshape(side, side, 3)
            self.off += np.sum(np.any(colours != got["x"][i], axis=2))
        else:
            colours = self.read(p, fills, sample, shown, px, py).reshape(side, side, 3)
            self.off += np.sum(np.any(np.abs(colours - got["x"][i]) > 1e-4, axis=2))

    def test_defaults(self):
        self.rebuild(3, size=48, seed=1)
        self.rebuild(3, seed=2**63 - 1, first=2**32 - 1, size=37)

    def test_each_kind(self):
        for number, kind in enumerate(KINDS):
            self.rebuild(1, "kind=" + kind, "r_min=0.05", size=33, seed=2, first=number + 2**40)

    def test_distributions_of_radii(self):
        self.rebuild(2, "law=paper", "r_min=0.05", size=40, seed=3)
        self.rebuild(3, "spread=3", "r_min=0.1", "r_max=0.4", size=35, seed=4)
        self.rebuild(2, "r_min=0.2", "r_max=0.2", size=64, seed=5)
        self.rebuild(2, "r_min=0.3", "r_max=2", size=101, seed=6)

    def test_background_leaf(self):
        got = self.rebuild(2, "max_leaves=30", size=48, seed=7)
        for i in range(2):
            sample = Sample(named_key(7, "dead_leaves"), i)
            back = unit(np.array(sample.block("texture", 30))[:3])
            self.assertGreater(np.mean(np.all(got["x"][i] == back, axis=2)), 0.01)

    def test_dense_labels(self):
        for dense in ("leaf", "shape"):
            for kind in ("square", "mixed"):
                self.rebuild(2, "--plane", "dense=" + dense, "kind=" + kind, "max_leaves=300", size=40, seed=13)

    def test_fills(self):
        self.rebuild(3, "fill=textures", size=48, seed=8)
        self.rebuild(2, "fill=[noise, law=uniform]", "fills=3", "fill_side=9", "fill_seed=5", "max_leaves=60", size=37,
                     seed=9, first=2**40)
        self.rebuild(2, "fill=ising", "fills=20", "fill_side=32", "fill_scale_low=3", "fill_scale_high=3", "law=paper",
                     size=64, seed=10)
        self.rebuild(2, "fill=noise", "fills=5", "fill_side=21", "fill_scale_low=0.125", "fill_scale_high=0.75", size=45,
                     seed=11)
        self.rebuild(1, "fill=ifs", "fills=8", "fill_side=64", "fill_scale_low=0.25", "fill_scale_high=0.25", size=64,
                     seed=12)
