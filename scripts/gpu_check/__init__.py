"""Modules of scripts/gpu-check: running, report and installation run the checks; the others define them."""
