"""The tasks by name."""

from polyseme.errors import InputError
from polyseme.tasks.answer import AnswerQuestions
from polyseme.tasks.choices import TaskName
from polyseme.tasks.classify import Classify
from polyseme.tasks.coref import Coref
from polyseme.tasks.entail import Entail
from polyseme.tasks.examples import Example
from polyseme.tasks.kind import Kind
from polyseme.tasks.ner import Ner
from polyseme.tasks.roles import SemanticRoles
from polyseme.tasks.tag import Tag

KINDS: dict[TaskName, Kind[Example]] = {
    kind.name: kind  # type: ignore[misc]
    for kind in (Tag(), Ner(), Classify(), Entail(), AnswerQuestions(), SemanticRoles(), Coref())
}


def kind_of(task: str) -> Kind[Example]:
    """The task of a name.

    Raises:
        InputError: There is none.
    """
    for name, kind in KINDS.items():
        if name == task:
            return kind
    raise InputError(f"unknown task {task!r}; there are {', '.join(KINDS)}")
