"""Common code for the models of spins on a lattice: ising and xy."""

import numpy as np

from truth import TruthTest, below, f32, unit


class SpinTest(TruthTest):
    def temperature(self, made, k, words, critical, low, high, bins):
        """The temperature of sample k, from the words of its scene: in one of two phases or, if `bins` is set, in one
        of the bins."""
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
    """The default lattice side for an image of this size."""
    return max(4, size + size % 2)


def shown(lattice, size):
    """The part of a periodic lattice that an image of this size shows."""
    rows = np.arange(size) % len(lattice)
    return lattice[np.ix_(rows, rows)]
