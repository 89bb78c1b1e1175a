"""File formats: reads every published ELMo format, writes the native folder and bilm-tf's HDF5."""
