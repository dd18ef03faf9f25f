"""Modules of scripts/gpu-check. context, running and report serve all checks; the others define checks."""
