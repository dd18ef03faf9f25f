"""SVG plots for the scripts that measure: curves, and rows of dots. Needs only the standard library."""

import math

COLOURS = ["#1b6ca8", "#d1495b", "#2e8b57", "#8a5fbf", "#d98e04", "#008b8b", "#7a4b2a", "#444444", "#c2185b",
           "#5a7d00", "#0b3954"]

MOST_COLUMNS = 12  # largest number of labels per axis


def begin(width, height, title, left):
    return [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            'font-family="sans-serif" font-size="12">',
            f'<rect width="{width}" height="{height}" fill="white"/>',
            f'<text x="{left}" y="22" font-size="15">{title}</text>']


def line(x0, y0, x1, y1, colour, width=1, dashes=""):
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" stroke="{colour}" '
            f'stroke-width="{width}"{dashed}/>')


def decade_marks(low, high):
    """Ticks of a logarithmic axis from low to high: powers of ten and, if there are few of them, ticks in between."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = [1] if last - first > 3 else [1, 2, 5] if high > 4 * low else [0.9, 1, 1.1, 1.2, 1.3, 1.5, 2, 3, 5, 7]
    marks = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    begin_at = max(mark for mark in marks if mark <= low * 1.0001)
    end_at = min(mark for mark in marks if mark >= high * 0.9999)
    return [mark for mark in marks if begin_at <= mark <= end_at]


def apart(places, step, most):
    """Moves ascending positions so that they are at least `step` apart and, if there is room, below `most`."""
    moved = []
    for place in places:
        moved.append(max(place, moved[-1] + step) if moved else place)
    for i in reversed(range(len(moved))):
        moved[i] = min(moved[i], most)
        most = moved[i] - step
    return moved


def curves_svg(title, x_label, y_label, curves, levels=None):
    """A plot with two logarithmic axes. curves: {name: [(x, y) or (x, y, lowest, highest)]}; the second form has an
    error bar. levels: {name: y}: dashed lines across the plot, in the colour of the curve with that name, or grey."""
    levels = levels or {}
    width, height, left, right, top, bottom = 760, 460, 70, 150, 36, 50
    xs = [point[0] for curve in curves.values() for point in curve]
    ys = [y for curve in curves.values() for point in curve for y in point[1:]] + list(levels.values())
    marks = decade_marks(min(ys), max(ys))
    low_y, high_y = math.log10(marks[0]), math.log10(marks[-1])
    columns = sorted(set(xs)) if len(set(xs)) <= MOST_COLUMNS else decade_marks(min(xs), max(xs))
    low_x, high_x = math.log2(min(columns[0], *xs)), math.log2(max(columns[-1], *xs))

    def at(x, y):
        return (left + (math.log2(x) - low_x) / max(high_x - low_x, 1e-9) * (width - left - right),
                height - bottom - (math.log10(y) - low_y) / max(high_y - low_y, 1e-9) * (height - top - bottom))

    parts = [*begin(width, height, title, left),
             f'<text x="{(left + width - right) / 2:.0f}" y="{height - 12}" text-anchor="middle">{x_label}</text>',
             f'<text transform="translate(16 {height / 2:.0f}) rotate(-90)" text-anchor="middle">{y_label}</text>']
    for mark in marks:
        y = at(min(xs), mark)[1]
        parts.append(line(left, y, width - right, y, "#ddd"))
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{mark:g}</text>')
    for x_value in columns:
        x = at(x_value, marks[0])[0]
        parts.append(line(x, top, x, height - bottom, "#eee"))
        parts.append(f'<text x="{x:.1f}" y="{height - bottom + 16}" text-anchor="middle">{x_value:g}</text>')
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(curves)}
    ends = []
    for name, curve in curves.items():
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point[:2]) for point in curve))
        parts.append(f'<polyline points="{places}" fill="none" stroke="{colours[name]}" stroke-width="2"/>')
        for point in curve:
            if len(point) > 2:
                x, (lowest, highest) = at(*point[:2])[0], (at(point[0], y)[1] for y in point[2:])
                parts.append(line(x, lowest, x, highest, colours[name], 1.5))
        ends.append((at(*curve[-1][:2]), name, colours[name]))
    for name, level in levels.items():
        x, y = width - right, at(max(xs), level)[1]
        colour = colours.get(name, "#444444")
        parts.append(line(left, y, x, y, colour, 1, "5 4"))
        if name not in curves:
            ends.append(((x, y), name, colour))
    ends.sort(key=lambda end: end[0][1])
    for ((x, y), name, colour), label_y in zip(ends, apart([y for (_, y), _, _ in ends], 14, height - bottom)):
        parts.append(f'<text x="{width - right + 8}" y="{label_y + 4:.1f}" fill="{colour}">{name}</text>')
        parts.append(line(x, y, width - right + 5, label_y, colour, 0.5))
    return "\n".join([*parts, "</svg>", ""])


def rows_svg(title, x_label, rows, low, high, marks):
    """Dots on a linear axis from low to high, one per row. rows: [(name, [(label, value, error)])]. Values outside the
    axis are drawn at its ends."""
    left, right, top, step, bottom, width = 250, 130, 44, 24, 46, 760
    height = top + step * sum(len(dots) for _, dots in rows) + bottom

    def at(value):
        return left + (min(max(value, low), high) - low) / (high - low) * (width - left - right)

    parts = [*begin(width, height, title, 16),
             f'<text x="{(left + width - right) / 2:.0f}" y="{height - 10}" text-anchor="middle">{x_label}</text>']
    for mark in marks:
        parts.append(line(at(mark), top - 8, at(mark), height - bottom, "#888" if mark == 1 else "#ddd"))
        parts.append(f'<text x="{at(mark):.1f}" y="{height - bottom + 16}" text-anchor="middle">{mark:g}</text>')
    y = top + step / 2 - 4
    for i, (name, dots) in enumerate(rows):
        colour = COLOURS[i % len(COLOURS)]
        for k, (label, value, error) in enumerate(dots):
            text = f"{name}: {label}" if k == 0 else label
            parts.append(f'<text x="{left - 10}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
            parts.append(line(at(value - error), y, at(value + error), y, colour, 1.5))
            parts.append(f'<circle cx="{at(value):.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>')
            parts.append(f'<text x="{width - right + 10}" y="{y + 4:.1f}" fill="{colour}">{value:.3f}</text>')
            y += step
    return "\n".join([*parts, "</svg>", ""])
