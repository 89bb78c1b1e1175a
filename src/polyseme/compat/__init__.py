"""Drop-ins: programs written for other ELMo software change their import line and nothing else."""
