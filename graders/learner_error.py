"""What may go wrong in the learner's code, by name."""

from typing import Any

# As the messages' keys have them ([error] in messages.toml).
MISSING = "missing"  # no function of that name
RAISED = "raised"
NOT_WRITTEN = "not-written"  # the starter's NotImplementedError is still there
NOT_PLAIN = "not-plain"  # returned an object that cannot travel
WRONG_TYPE = "wrong-type"  # returned plain data of another type than the exercise asks for
TIMEOUT = "timeout"
DIED = "died"  # their process ended
GARBLED = "garbled"  # their process answered something that is no answer
NOT_TRACED = "not-traced"  # JAX makes no program of the function
TOO_LARGE = "too-large"  # the program is larger than one that is read
NOT_A_PROGRAM = "not-a-program"  # what came as a program cannot be read as one, or is another one's
PROGRAM_FAILED = "program-failed"  # the program has no results for inputs like those that it is for
UNKNOWN_PART = "unknown-part"  # the program holds something that cannot be carried out where it is judged
COSTLY = "costly"  # judging the program takes too much time or memory
REFUSED = "refused"  # the TPU's compiler does not take the program


class LearnerError(Exception):
    """The learner's code did not return what can be judged.

    Attributes: ``kind`` (a constant of this module), ``function``, ``type`` (a built-in exception, or the type that was
    returned), ``message`` (the learner's own text: may quote the inputs), ``line`` (in their cell; 0 when unknown),
    ``code`` (that line's text).
    """

    def __init__(
        self, kind: str, function: str = "", type_name: str = "", message: str = "", line: int = 0, code: str = ""
    ) -> None:
        super().__init__(f"{function}: {kind} {type_name} {message}".strip())
        self.kind = kind
        self.function = function
        self.type = type_name
        self.message = message
        self.line = line
        self.code = code

    def to_dict(self) -> dict[str, Any]:
        names = ("kind", "function", "type", "message", "line", "code")
        return {name: getattr(self, name) for name in names}
