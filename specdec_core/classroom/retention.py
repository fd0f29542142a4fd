"""What the page must say about data before anyone joins: what is stored, for how long, and who sees it.

Whoever changes what is stored changes these sentences too.
"""

from specdec_core.classroom.errors import Sentence

_STORED = (
    Sentence("Stored on this server: the name you type (it may be empty or a pseudonym) and when you joined."),
    Sentence("Also stored: each answer you submit, when it arrived, its points and the misconceptions it shows."),
    Sentence("Your teacher sees these. Other students do not."),
    Sentence("Your link is the only key to your answers: keep it, and share it with nobody."),
    Sentence("A wrong join code is counted together with a hash of your network address, for an hour at most."),
)


def statement(days: int) -> tuple[Sentence, ...]:
    """The statement, sentence by sentence, for a server that keeps students for so many days (0: until deleted)."""
    if days:
        kept = Sentence(
            "All of it is deleted {days} days after you joined, or earlier by your teacher.", {"days": days}
        )
    else:
        kept = Sentence("It is kept until your teacher deletes it.")
    return (*_STORED, kept)
