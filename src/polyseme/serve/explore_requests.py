"""What may the explorer page ask? One record for each of its requests."""

from typing import Annotated

from pydantic import Field

from polyseme.serve.requests import Count, NearestRequest, Request

Point = Annotated[int, Field(ge=0, lt=1 << 31)]
Corpus = Annotated[int, Field(ge=0, le=1, description="Which of the indexes, 0 or 1.")]


class PointsRequest(Request):
    """Some points of the map."""

    points: list[Point] = Field(min_length=1, max_length=1000)


class GroupRequest(Request):
    """Many points of the map, which are looked at together."""

    points: list[Point] = Field(min_length=1, max_length=50_000)
    k: Count = 20


class WordRequest(Request):
    """A word of the indexes."""

    word: str
    k: Count = 50


class MapSensesRequest(Request):
    """A word whose senses are shown on the map."""

    word: str
    corpus: Corpus = 0
    senses: int | None = Field(default=None, ge=1, le=8, description="How many; by default the number is found.")
    k: int = Field(default=5, ge=0, le=100, description="Sentences per sense.")


class MapNearestRequest(NearestRequest):
    """A place in a sentence, and which index to search."""

    corpus: Corpus = 0


class CompareRequest(Request):
    """A word in the two indexes; or two words in the first one."""

    word: str
    other: str | None = None
    k: Count = 5
