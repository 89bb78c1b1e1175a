"""File formats: every published ELMo layout in, the native folder and bilm-tf's HDF5 out."""
