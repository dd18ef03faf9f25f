"""Reference for jet images and features in double precision, from docs/generators/algorithms/ginkgo.md, and methods
that compare the reference with samples.
"""

import numpy as np

from truth import TruthTest


def boosted(part, mass, frame, frame_mass):
    """Boosts the three-momentum `part` of this mass out of the rest frame of `frame`, a three-momentum of mass
    frame_mass."""
    energy, whole = np.sqrt(part @ part + mass**2), np.sqrt(frame @ frame + frame_mass**2)
    return part + frame * (energy + frame @ part / (whole + frame_mass)) / frame_mass


def places(momenta, jet_phi):
    """Converts rows (px, py, pz) to rows (pt, eta, phi)."""
    pt = np.hypot(momenta[:, 0], momenta[:, 1])
    phi = np.arctan2(momenta[:, 1], momenta[:, 0]) - jet_phi
    return np.stack([pt, np.arcsinh(momenta[:, 2] / pt), phi - 2 * np.pi * np.round(phi / (2 * np.pi))], axis=1)


def centred(jet):
    moved = jet.copy()
    moved[:, 1:] -= jet[:, 0] @ jet[:, 1:] / jet[:, 0].sum()
    return moved


def distances(a, b):
    return np.hypot(a[:, None, 1] - b[None, :, 1], a[:, None, 2] - b[None, :, 2])


def subjets(jet, left):
    """The subjets, and a margin: the smallest relative difference between the measures of a joined pair and of other
    pairs."""
    jet, margin = jet.copy(), 1.0
    while len(jet) > left:
        measure = np.minimum(jet[:, None, 0], jet[None, :, 0]) * distances(jet, jet)
        measure[np.tril_indices(len(jet))] = np.inf
        order = np.sort(measure, axis=None)
        margin = min(margin, order[1] / order[0] - 1 if order[1] < np.inf and order[0] > 0 else 1)
        i, j = np.unravel_index(np.argmin(measure), measure.shape)
        pt = jet[i, 0] + jet[j, 0]
        jet[i, 1:] = (jet[i, 0] * jet[i, 1:] + jet[j, 0] * jet[j, 1:]) / pt
        jet[i, 0] = pt
        jet[j] = jet[-1]
        jet = jet[:-1]
    return jet, margin


def image(jet, p):
    """Pixels, the share outside, and a margin: the distance to a pixel edge or to another orientation."""
    total, jet = jet[:, 0].sum(), centred(jet)
    pair, margin = subjets(jet, 2)
    eta, phi = jet[:, 1], jet[:, 2]
    lever = 1.0
    if len(pair) == 2:
        a, b = pair[0 if pair[1, 0] > pair[0, 0] else 1, 1:]
        lever = min(1.0, 10 * np.hypot(a, b))  # an angle over a short distance is less precise
        s, c = np.array([a, -b]) / np.hypot(a, b)
        eta, phi = c * eta + s * phi, c * phi - s * eta
        margin = min(margin, abs(pair[0, 0] - pair[1, 0]) / total)
    skew, size = jet[:, 0] @ eta**3, jet[:, 0] @ np.abs(eta) ** 3
    # If all constituents are on the axis up to rounding, the flip does not matter.
    margin = min(margin, lever * abs(skew) / size if size > 1e-15 * total else 1.0)
    eta = -eta if skew < 0 else eta
    n, width = p["pixels"], float(np.float32(p["pixel"]))
    column, line = n // 2 + 0.5 + eta / width, n // 2 + 0.5 - phi / width
    for at in (column, line):
        margin = min(margin, lever * np.min(np.abs(at - np.round(at))))
    column, line = np.floor(column).astype(int), np.floor(line).astype(int)
    seen = (column >= 0) & (column < n) & (line >= 0) & (line < n)
    pixels = np.zeros((n, n))
    np.add.at(pixels, (line[seen], column[seen]), jet[seen, 0] / total)
    outside = jet[~seen, 0].sum() / total
    if p["norm"] == "square":
        pixels /= np.sqrt((pixels**2).sum())
    elif p["norm"] == "none":
        pixels *= total / p["unit"]
    return pixels, outside, margin


def quotient(a, b):
    return min(a / b, 128.0) if b > 0 else 0.0


def features(jet, momentum, unit):
    """The sixteen features of a jet with total momentum (E, px, py, pz), and the margin of its subjets."""
    z, jet = jet[:, 0] / jet[:, 0].sum(), centred(jet)
    d = np.hypot(jet[:, 1], jet[:, 2])
    pt, mass = np.hypot(*momentum[1:3]), np.sqrt(max(momentum[0] ** 2 - momentum[1:] @ momentum[1:], 0))
    taus, margin = [], 1.0
    for n in (1, 2, 3):
        axes, apart = subjets(jet, n)
        margin = min(margin, apart)
        taus.append(z @ distances(jet, axes).min(axis=1))
    apart = distances(jet, jet)
    zr = z[:, None] * z[None, :] * apart
    e2 = zr.sum() / 2
    e3 = np.einsum("ij,k,ik,jk->", zr, z, apart, apart) / 6
    tau1, tau2, tau3 = taus
    values = [len(jet), pt / unit, mass / unit, z @ d, z @ np.sqrt(d), z @ d**2, np.sqrt(z @ z)]
    values += [tau1, tau2, tau3, quotient(tau2, tau1), quotient(tau3, tau2), e2, e3]
    return np.array([*values, quotient(e3, e2**2), quotient(e3, e2**3)]), margin


class JetTest(TruthTest):
    """Both methods compare jet i of the samples `got` with parameters p and the rows (pt, eta, phi) in `cloud`. They
    skip a jet whose margin is below `least`, and return whether they skipped it.
    """

    def leaves_image(self, got, p, i, cloud, least, outside):
        pixels, lost, margin = image(cloud, p)
        if margin < least:
            return True
        scale = cloud[:, 0].sum() / p["unit"] if p["norm"] == "none" else 1
        np.testing.assert_allclose(got["x"][i, :, :, 0], pixels, rtol=0, atol=3e-5 * scale)
        self.assertLess(abs(got["latents"][i, -1] - lost), outside)
        return False

    def leaves_features(self, got, p, i, cloud, momentum, least, atol, rtol):
        """`atol`: tolerance of the first ten features; `rtol`: tolerance of the features of subjets and pairs."""
        values, margin = features(cloud, momentum, p["unit"])
        if margin < least:
            return True
        seen = got["x"][i].astype(float)
        np.testing.assert_allclose(seen[:10], values[:10], rtol=1e-3, atol=atol)
        if len(cloud) > 3:  # otherwise subjets are constituents, and the quotients are pure rounding error
            np.testing.assert_allclose(seen[10:], values[10:], rtol=rtol, atol=1e-6)
        return False
