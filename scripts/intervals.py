"""Intervals for the scripts that measure."""

import math


def median_interval(values, confidence=0.95):
    """Distribution-free interval of the median: the order statistics k and n + 1 - k, with the largest k for which
    P(Binomial(n, 1/2) < k) <= (1 - confidence) / 2. None for fewer than six values."""
    values, tail, kept = sorted(values), 0.0, 0
    for k in range(len(values) // 2 + 1):
        tail += math.comb(len(values), k) / 2 ** len(values)
        if tail > (1 - confidence) / 2:
            break
        kept = k + 1
    return (values[kept - 1], values[-kept]) if kept else None
