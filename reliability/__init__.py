"""Tries to break polyseme: hostile files, hostile moments, odd arguments of the kernels, and hours of work.

`fuzz` opens damaged and crafted files, `crash` kills runs and fills disks, `sanitized` runs the kernels under the
address and undefined-behaviour sanitisers, `batches` compares the vectors of a sentence in different batches, and
`soak` watches the memory of processes that work for an hour. docs/reliability.md has what they found.
"""
