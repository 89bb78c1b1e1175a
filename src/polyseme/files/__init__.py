"""Files: written whole or not at all, locked while they are written, checked when they are read.

Everything in the package that writes goes through this room:

- `whole`: a file or a folder appears under its name when it is complete and on the disk, or not at all.
- `lock`: one process writes an output at a time.
- `work_folder`: where a run that can be resumed keeps its work, and the settings it may be resumed with.
- `interrupt`: what is done is stored before a signal ends the job.
- `checksum`: whether a file is still what was written.
- `json_file`: small JSON files, read without trust.
"""
