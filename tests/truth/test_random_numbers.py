"""Compares the random numbers of the other checks with published Philox test vectors (Random123, kat_vectors)."""

import unittest

from truth import below, philox, unit


class RandomNumbers(unittest.TestCase):
    def test_philox_matches_the_published_vectors(self):
        ones = 0xFFFFFFFF
        for counter, key, expected in (
            ((0, 0, 0, 0), 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
            ((ones, ones, ones, ones), 2**64 - 1, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
            ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), 0x299F31D0A4093822,
             "d16cfe09 94fdcceb 5001e420 24126ea1"),
        ):
            self.assertEqual(" ".join(f"{int(word):08x}" for word in philox(counter, key)), expected)

    def test_words_become_numbers(self):
        self.assertEqual(float(unit(0xFFFFFFFF)), 1 - 2**-24)
        self.assertEqual(int(below(0xFFFFFFFF, 10)), 9)
        self.assertEqual(int(below(0x19999999, 10)), 0)
        self.assertEqual(int(below(0x1999999A, 10)), 1)
