"""Predictions as files: in the format of the input, or as JSON lines; `writing.write_predictions` is the way in."""
