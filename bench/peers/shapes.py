"""The ten shapes of the generator `shapes` with its defaults, as array code for NumPy, PyTorch and JAX.

A sample is one of ten shapes, drawn from its signed distance, with random position, scale, angle and two colours, on a
plain background.
"""

# Largest distance of an outline from its centre, divided by the scale; the shape stays inside the image.
REACH = 1.672894


def length(xp, a, b):
    return xp.sqrt(a * a + b * b)


def half_planes(xp, x, y, apothem, *normals):
    first, *others = (a * x + b * y for a, b in normals)
    for other in others:
        first = xp.maximum(first, other)
    return first - apothem


def star(xp, x, y):
    first, second = y, y - 1e9
    for a, b in (0.58778525, -0.80901699), (-0.58778525, -0.80901699), (0.95105652, 0.30901699), (-0.95105652, 0.30901699):
        other = a * x + b * y
        second = xp.maximum(second, xp.minimum(first, other))
        first = xp.maximum(first, other)
    return second - 0.51695245


def heart(xp, x, y):
    disc = length(xp, x - 0.46898872, y - 0.46898872)
    return xp.minimum(0.70710678 * (x + abs(y)), disc) - 0.66325021


# Signed distances of shapes of area pi at (+-x, y), x >= 0, as functions of (xp, x, y). `xp`: numpy, torch or jax.numpy.
DISTANCES = [
    lambda xp, x, y: length(xp, x, y) - 1,
    lambda xp, x, y: abs(length(xp, x, y) - 1) - 0.25,
    lambda xp, x, y: xp.maximum(length(xp, x, y) - 1.3973045, 1.1178436 - length(xp, x, y - 0.76851746)),
    lambda xp, x, y: half_planes(xp, x, y, 0.77756015, (0, -1), (0.8660254, 0.5)),
    lambda xp, x, y: xp.maximum(x, abs(y)) - 0.88622693,
    lambda xp, x, y: half_planes(
        xp, x, y, 0.92994960, (0.58778525, 0.80901699), (0.95105652, -0.30901699), (0, -1)),
    lambda xp, x, y: xp.maximum(x, 0.5 * x + 0.8660254 * abs(y)) - 0.95231281,
    star,
    lambda xp, x, y: xp.maximum(xp.maximum(x, abs(y)) - 1.1889982, xp.minimum(x, abs(y)) - 0.39633273),
    heart,
]  # fmt: skip
CLASSES = len(DISTANCES)


def parameters(uniform):
    """Scale, centre, sine and cosine of the angle, and two colours. `uniform(n, low, high)`: n random columns."""
    scale = uniform(1, 0.12, 0.28)
    margin = REACH * scale
    place = margin + (1 - 2 * margin) * uniform(2, 0, 1)
    return scale, place, uniform(1, 0, 6.2831853), uniform(3, 0, 1), uniform(3, 0, 1)


def local(xp, at, scale, place, angle):
    """Coordinates of all pixels in units of the shape: two arrays [..., side, side]. `at`: centres of pixels, 0 to 1."""
    scale, x, y, angle = (value[..., None, None] for value in (scale[..., 0], place[..., 0], place[..., 1], angle[..., 0]))
    dx, dy = at - x, y - at[:, None]
    cos, sin = xp.cos(angle) / scale, xp.sin(angle) / scale
    return cos * dx + sin * dy, cos * dy - sin * dx


def distance(xp, labels, u, v):
    """Signed distances of rows of several classes. All ten shapes are computed for each row, because a class has no
    fixed number of rows; a compiler fuses them."""
    found = DISTANCES[0](xp, abs(u), v)
    for label in range(1, CLASSES):
        found = xp.where((labels == label)[..., None, None], DISTANCES[label](xp, abs(u), v), found)
    return found


def paint(xp, distance, scale, front, back):
    """Colours [..., side, side, 3]; the edge covers one pixel."""
    side = distance.shape[-1]
    cover = xp.clip(0.5 - distance * (scale[..., None] * side), 0, 1)[..., None]
    front, back = front[..., None, None, :], back[..., None, None, :]
    return back + cover * (front - back)
