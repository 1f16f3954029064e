"""The words the rules know: negations, opposites, cues of a change, and verbs whose object is one at a time."""

from __future__ import annotations

import functools
from typing import Final

from memanto.hygiene.words import stem


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEGATIONS: Final = _words(
    """
    no not never without cannot nobody none nothing neither nor nowhere false unable
    nicht kein keine keinen keiner nie niemals ohne ni sin nunca jam\u00e1s pas jamais sans
    """
)

COMMANDING: Final = _words("never not don't nie niemals nicht nunca jamais")
"""Negations that an imperative begins with: "never write", "do not write"."""

LEADING: Final = _words("do please always and but so then also")
"""What may stand before such a negation."""

MODALS: Final = _words("must may should shall can")
"""Verbs that with a negation beside them forbid: "must not", "nobody may"."""

UNNAMED: Final = _words("a an some several many few there someone somebody something nobody everyone people another")
"""A clause that begins with one of these speaks of nobody in particular."""

CUES: Final = (
    "now", "no longer", "any longer", "any more", "anymore", "instead of", "instead", "supersedes", "superseded",
    "replaces", "replaced", "switched", "changed", "moved", "migrated", "renamed", "upgraded", "downgraded", "updated",
    "currently", "as of", "from now on", "used to", "previously", "formerly", "correction", "extended", "postponed",
    "rescheduled", "increased", "decreased", "raised", "lowered", "dropped", "reduced", "improved", "so far",
    "these days", "at the moment", "since then", "by now", "just", "recently", "latest",
)  # fmt: skip
"""What says that something changed: with one of these, the newer of two differing statements is an update."""

DESCRIBING: Final = _words("new old first last next current present latest previous original recent")
"""Words before a noun that say which one in time, not which thing: the first sprint may be the new sprint."""

AUXILIARIES: Final = _words(
    "a an the is are was were be been being am do does did has have had will would that which there it its"
)
"""Articles, auxiliaries and pointers, which do not tell two clauses apart."""

BEYOND: Final = _words("before after than above below over")
"""Relations that do not hold the other way round."""

LABELLED: Final = _words(
    """
    session run step memory item ticket issue pr task chapter section part line figure table row column case test
    event build batch phase stage iteration sprint room worker agent user id number trial round day week question
    example exercise job attempt message entry record note rule version episode
    """
)
"""Nouns that a bare number names one of: "run 12" and "run 13" are two things, not two values."""

PLACING: Final = _words(
    """
    is are was were be become became becomes remains equals moved move moves relocated migrated migrate switched
    switch changed change changes set sets defaults default points point lives live resides located hosted based
    deployed owned maintained led managed belongs reports called named works scheduled
    """
)
"""Verbs and participles after which a statement says the one value its subject has."""

BEING: Final = _words("is are was were be become became becomes remains equals point points set sets reports")
"""Of those, verbs that also describe: another description does not exclude the first."""

CHANGING: Final = _words("moved move moves relocated migrated migrate switched switch changed change changes set")
"""Of those, verbs that may have an object before the value: "moved the meeting to Friday"."""

LINKS: Final = _words("is are was were be been by to in at on as from with of into")
"""Words between such a verb and the value."""

ATTRIBUTES: Final = _words(
    """
    name owner database db host port region version timezone deadline address email phone url path branch channel
    language framework editor limit timeout budget price cost salary policy window gate rail lead manager status role
    title color colour theme mode format level goal target size capital age birthday favorite favourite default leader
    backend provider vendor endpoint bucket queue schedule location city country company employer password interval
    threshold model tool stack license currency unit plan tier rate
    """
)
"""Nouns for what a thing has one of at a time."""

_OPPOSITES: Final = """
above below|accept reject|accept decline|active inactive|add remove|advance retreat|agree disagree|agree refuse
alive dead|allow deny|allow forbid|allow block|allow prohibit|always rarely|appear disappear|approve reject
arrive depart|ascend descend|asleep awake|async sync|asynchronous synchronous|attach detach|available unavailable
avoid prefer|backward forward|before after|begin end|begin finish|better worse|big small|big little|bind unbind
blocked unblocked|bottom top|bright dark|broken working|build destroy|cheap expensive|clean dirty|clear cloudy
close far|close open|cold hot|complete incomplete|complicated simple|connect disconnect|correct incorrect
correct wrong|cover uncover|create destroy|create delete|danger safety|dark light|day night|decrease increase
deep shallow|dependent independent|difficult easy|disable enable|dislike like|down up|dry wet|early late|empty full
encrypt decrypt|enter exit|enter leave|even odd|explicit implicit|external internal|fail pass|fail succeed
failure success|false true|far near|fast slow|fat thin|fewer more|final initial|first last|float sink|fold unfold
follow ignore|forget remember|found lost|front back|gain lose|give take|grant revoke|grow shrink|guilty innocent
happy sad|hard soft|hate love|heavy light|hide show|high low|higher lower|hire fire|huge small|huge tiny
ignore listen|illegal legal|immutable mutable|import export|include exclude|increase reduce|indoor outdoor
indoors outdoors|inside outside|install uninstall|into off|into out|invalid valid|keep delete|keep discard
large small|large tiny|less more|lift lower|load unload|lock unlock|long short|longer shorter|loose tight|loud quiet
loud silent|major minor|mandatory optional|manual automatic|manually automatically|married single|married divorced
maximum minimum|merge split|multi-threaded single-threaded|narrow wide|new old|noisy quiet|off on|offline online
onsite remote|onto off|opened closed|open shut|optional required|pack unpack|paid unpaid|pause resume
permanent temporary|permit forbid|poor rich|positive negative|possible impossible|private public|profit loss
pull push|raise lower|read write|relevant irrelevant|right wrong|rise fall|rough smooth|safe dangerous|safe unsafe
same different|save delete|secure insecure|shrink expand|silent speak|silent talk|sleep wake|sober drunk
stable unstable|start stop|start finish|stateful stateless|stop continue|strict lenient|strong weak|support oppose
tall short|thick thin|tighten loosen|together apart|trust distrust|upload download|useful useless|visible hidden
visible invisible|warm cool|win lose|with without|young old
"""
_PREFIXES: Final = ("un", "in", "im", "il", "ir", "non", "non-", "dis")


@functools.cache
def _opposites() -> dict[str, frozenset[str]]:
    pairs: dict[str, set[str]] = {}
    for pair in _OPPOSITES.strip().replace("\n", "|").split("|"):
        one, other = map(stem, pair.split())
        pairs.setdefault(one, set()).add(other)
        pairs.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in pairs.items()}


@functools.lru_cache(maxsize=16_384)
def opposites_of(word: str) -> frozenset[str]:
    """Return the stems that say the opposite: those of the list, and the word without its "un-", "in-" or "non-"."""
    bare = {word[len(prefix) :] for prefix in _PREFIXES if word.startswith(prefix) and len(word) > len(prefix) + 2}
    return _opposites().get(word, frozenset()) | bare


def opposed(one: str, other: str) -> bool:
    """Return whether two stems say the opposite."""
    return other in opposites_of(one) or one in opposites_of(other)
