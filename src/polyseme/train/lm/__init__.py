"""The bidirectional language model as a training job."""
