"""Modules of scripts/gpu-check: how checks run (running, report, installation) and what is checked."""
