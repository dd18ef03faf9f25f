"""What scripts/gpu-check is made of: how checks run (running, report), and what is checked."""
