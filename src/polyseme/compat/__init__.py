"""Interfaces of other ELMo software: programs written for it only have to change their imports."""
