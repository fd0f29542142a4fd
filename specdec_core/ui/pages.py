"""Which pages there are: file, title, icon, section. The section a page belongs to is said here and nowhere else.

Does not know: what is on a page.
"""

from dataclasses import dataclass

from specdec_core.words import _


@dataclass(frozen=True)
class PageSpec:
    """One page. ``name`` is its file under pages/ without ``.py``, and its path in the address."""

    name: str
    title: str
    icon: str

    @property
    def file(self) -> str:
        return f"pages/{self.name}.py"


def sections() -> dict[str, list[PageSpec]]:
    """Sections in order, each with its pages in order; the first page of the first section is the default."""
    return {
        "": [PageSpec("start", _("Start"), ":material/home:")],
        _("Learn"): [
            PageSpec("one_token", _("One token"), ":material/looks_one:"),
            PageSpec("one_block", _("One block"), ":material/view_week:"),
            PageSpec("what_the_draft_sees", _("What the draft sees"), ":material/visibility:"),
            PageSpec("the_correction", _("The correction"), ":material/healing:"),
            PageSpec("why_random", _("Why random?"), ":material/casino:"),
        ],
        _("Explore"): [
            PageSpec("live_models", _("Live models"), ":material/memory:"),
            PageSpec("bias_lab", _("Bias lab"), ":material/science:"),
            PageSpec("speed", _("Speed"), ":material/speed:"),
        ],
        _("Classroom"): [
            PageSpec("exercises", _("Exercises"), ":material/edit_note:"),
            PageSpec("teachers_desk", _("Teacher's desk"), ":material/co_present:"),
        ],
    }


def spec(name: str) -> PageSpec:
    """The page of that name. Raises KeyError for an unknown one."""
    return {p.name: p for pages in sections().values() for p in pages}[name]
