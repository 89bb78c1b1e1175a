"""Interfaces of other ELMo software: programs written for it change their import line and nothing else."""
