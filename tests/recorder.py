"""A watcher that remembers what it was told."""

from collections.abc import Mapping

from polyseme.progress import Figure, Watcher


class Recorder(Watcher):
    """Keeps the stages with the steps of each, and the notes."""

    def __init__(self) -> None:
        self.stages: dict[str, list[tuple[float | None, Mapping[str, Figure]]]] = {}
        self.notes: list[str] = []
        self._stage = ""

    def begin(self, stage: str) -> None:
        assert stage not in self.stages
        self._stage = stage
        self.stages[stage] = []

    def step(self, share: float | None, figures: Mapping[str, Figure]) -> None:
        self.stages[self._stage].append((share, dict(figures)))

    def note(self, text: str) -> None:
        self.notes.append(text)

    def shares(self, stage: str) -> list[float | None]:
        return [share for share, _ in self.stages[stage]]

    def check_shares(self) -> None:
        """Within a stage shares grow from 0 to 1."""
        for steps in self.stages.values():
            shares = [share for share, _ in steps if share is not None]
            assert shares == sorted(shares)
            assert 0 <= shares[0] <= shares[-1] == 1


class PowerCut(Recorder):
    """Breaks off after an update of a training run."""

    def __init__(self, update: int) -> None:
        super().__init__()
        self.update = update

    def step(self, share: float | None, figures: Mapping[str, Figure]) -> None:
        super().step(share, figures)
        if figures.get("update") == self.update:
            raise RuntimeError("power cut")
