"""What the pages of spins on a lattice have in common: ising and xy."""

import numpy as np

from truth import TruthTest, below, f32, unit


class SpinTest(TruthTest):
    def temperature(self, made, k, words, critical, low, high, bins):
        """That of sample k, by the words of its scene: of one of two phases, or, where there are any, of `bins`."""
        low, high = f32(low), f32(high)
        edges = f32([low, critical, high])
        if bins:
            edges = f32(np.arange(bins + 1) * f32(f32(high - low) / bins) + low)
        label = int(below(words[0], len(edges) - 1))
        self.assertEqual(made["label"][k], label)
        width = f32(edges[label + 1] - edges[label])
        temperature = min(f32(unit(words[1]).astype(np.float64) * width + edges[label]), high)
        self.assertEqual(made["latents"][k, 0], np.float32(temperature))
        return temperature


def side_for(size):
    """Of the lattice that an image of this size shows, unless it is told."""
    return max(4, size + size % 2)


def shown(lattice, size):
    """What an image of this size shows of a periodic lattice."""
    rows = np.arange(size) % len(lattice)
    return lattice[np.ix_(rows, rows)]
