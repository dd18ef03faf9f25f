"""Antialiased resizing of square pictures, [side, side, ...], to `size` pixels."""

import numpy as np


def box_weights(side, size):
    """Each output pixel is the mean over the pixel's area."""
    edges = np.arange(size + 1) * (side / size)
    cells = np.arange(side)
    inside = np.minimum(edges[1:, None], cells + 1) - np.maximum(edges[:-1, None], cells)
    return np.maximum(inside, 0) * (size / side)


def resized(picture, weights):
    return np.clip(np.einsum("ij,jk...,lk->il...", weights, np.asarray(picture, np.float64), weights, optimize=True), 0, 1)


def ring_amplitudes(pictures):
    """Root mean square amplitude of the pictures' Fourier transforms, per octave of frequency. [count, side, side]"""
    side = pictures.shape[-1]
    power = np.mean(np.abs(np.fft.fft2(pictures)) ** 2, 0)
    frequency = np.hypot(*np.meshgrid(*[np.fft.fftfreq(side, 1 / side)] * 2))
    octave = np.floor(np.log2(np.maximum(frequency, 0.5))).astype(int)
    return np.array([np.sqrt(power[octave == o].mean()) for o in range(int(np.log2(side / 2)) + 1)])
