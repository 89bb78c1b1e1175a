"""What polyseme raises.

::

    PolysemeError
    ├── InputError      text or an argument is not what was expected (also a ValueError)
    ├── FormatError     a model or data file is not what it claims to be (also a ValueError)
    ├── OutputError     a result could not be written; what was written so far is kept (also an OSError)
    ├── StoreError      a database cannot be reached, or refused what was asked (also an OSError)
    ├── Diverged        training went wrong again and again, however low the learning rate
    └── MissingPart     an optional package or a part of a model (a softmax, a vocabulary) is not there

    KeyboardInterrupt
    └── Interrupted     a signal stopped a job that stored what it had done

Every message says where, what was got, what was expected and what to do. The command line prints it as one line and
leaves with exit code 2.
"""


class PolysemeError(Exception):
    """Base of everything polyseme raises on purpose."""


class InputError(PolysemeError, ValueError):
    """Text or an argument is not what was expected."""


class FormatError(PolysemeError, ValueError):
    """A model or data file is not what it claims to be."""


class OutputError(PolysemeError, OSError):
    """A result could not be written."""


class StoreError(PolysemeError, OSError):
    """A database cannot be reached, or refused what was asked."""


class MissingPart(PolysemeError):  # noqa: N818 - it names what is missing, not what went wrong
    """An optional package, or a part of a model such as its softmax, is not there."""


class Diverged(PolysemeError):  # noqa: N818 - it says what happened
    """Training went wrong again and again, however low the learning rate."""


class Interrupted(KeyboardInterrupt):
    """A signal (Ctrl-C or SIGTERM) stopped a job, which stored what it had done before that.

    Attributes:
        number: The number of the signal.
    """

    def __init__(self, message: str, *, number: int) -> None:
        super().__init__(message)
        self.number = number
