"""What any training run has: settings, schedule, optimisers, checkpoints, processes, the loop. It knows no task."""
