"""What every training run has: settings, schedule, optimisers, checkpoints, processes and the loop, for any task."""
