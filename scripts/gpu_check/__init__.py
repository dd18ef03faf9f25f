"""Modules of scripts/gpu-check. running, report, installation and lines serve all checks; the others define checks."""
