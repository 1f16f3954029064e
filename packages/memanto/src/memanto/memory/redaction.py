"""Secrets are removed before anything is stored, embedded or logged.

Yelp's detect-secrets recognises the tokens of many issuers; `memanto.memory.secret_rules` adds what it does
not find in running text: whole private keys, passwords in URLs, headers and assignments, and newer tokens.
Its detectors by entropy are left out: they take hashes and identifiers for secrets. What is found becomes
`[REDACTED:kind]`. Redacting twice changes nothing more, and the time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

from memanto.memory import secret_rules as rules
from memanto.models import MAX_KEY, MAX_SOURCE_REF, MAX_TAG, MAX_TITLE, Draft, Redaction

_MARKER: Final = r"\[REDACTED:[a-z0-9-]{1,40}\]"
_ROUNDS: Final = 6  #: a secret glued to another shows only when that one is gone; two rounds are the rule
_AWS_REACH: Final = 300  #: characters around an AWS key id in which its secret is looked for

_DETECTORS: Final = {
    "discord.DiscordBotTokenDetector": "discord-token",
    "github_token.GitHubTokenDetector": "github-token",
    "gitlab_token.GitLabTokenDetector": "gitlab-token",
    "mailchimp.MailchimpDetector": "mailchimp-key",
    "pypi_token.PypiTokenDetector": "pypi-token",
    "sendgrid.SendGridDetector": "sendgrid-key",
    "square_oauth.SquareOAuthDetector": "square-secret",
    "stripe.StripeDetector": "stripe-key",
    "telegram_token.TelegramBotTokenDetector": "telegram-token",
    "twilio.TwilioKeyDetector": "twilio-key",
}
"""The detectors used. Left out are those that judge by entropy, those whose patterns take quadratic time on
hostile text (basic auth, JWT, OpenAI, npm, assignments of IBM, Softlayer and Cloudant: our rules cover them),
and what is no secret (public addresses)."""

_Edit = tuple[int, int, str]
_Finder = Callable[[str], Iterator[_Edit]]


def redact(text: str) -> tuple[str, list[str]]:
    """Return the text with each secret replaced by `[REDACTED:kind]`, and the kinds, one per secret."""
    kinds: list[str] = []
    for _ in range(_ROUNDS):
        before = len(kinds)
        for find in _FINDERS:
            text = _replace(text, find(text), kinds)
        if len(kinds) == before:
            break
    return text, kinds


def redact_draft(draft: Draft) -> tuple[Draft, tuple[Redaction, ...]]:
    """Return the draft without secrets, and one record per secret that was removed.

    Covers content, title, tags, source, source_ref, key, run_id, actor, and the keys and values of metadata at
    any depth, where a key such as `password` also says what its value is. A short field that would outgrow its
    limit becomes the mark alone. A draft without secrets is returned as it is.
    """
    found: list[Redaction] = []

    def clean(field: str, text: str, limit: int | None = None) -> str:
        cleaned, kinds = redact(text)
        found.extend(Redaction(field=field, kind=kind) for kind in kinds)
        return _mark(kinds[0]) if kinds and limit is not None and len(cleaned) > limit else cleaned

    def optional(field: str, text: str | None, limit: int | None) -> str | None:
        return None if text is None else clean(field, text, limit)

    cleaned = replace(
        draft,
        content=clean("content", draft.content),
        title=optional("title", draft.title, MAX_TITLE),
        tags=tuple(clean("tags", tag, MAX_TAG) for tag in draft.tags),
        source=_clean_source(draft.source, found),
        source_ref=optional("source_ref", draft.source_ref, MAX_SOURCE_REF),
        key=optional("key", draft.key, MAX_KEY),
        run_id=optional("run_id", draft.run_id, None),
        actor=optional("actor", draft.actor, None),
        metadata=_clean_mapping(draft.metadata, clean, found),
    )
    return (cleaned if found else draft), tuple(found)


def redact_source(source: str) -> tuple[str, list[str]]:
    """Return a source, or `redacted-kind` where it holds a secret (its alphabet has no brackets), and the kinds."""
    kinds = redact(source)[1]
    return (f"redacted-{kinds[0]}" if kinds else source), kinds


def _clean_source(source: str | None, found: list[Redaction]) -> str | None:
    if source is None:
        return None
    cleaned, kinds = redact_source(source)
    found.extend(Redaction(field="source", kind=kind) for kind in kinds)
    return cleaned


def _clean_mapping(
    value: Mapping[str, Any], clean: Callable[[str, str], str], found: list[Redaction]
) -> dict[str, Any]:
    cleaned: dict[str, Any] = {}
    for key, item in value.items():
        name = clean("metadata", key)
        unique, number = name, 1
        while unique in cleaned:
            number += 1
            unique = f"{name} ({number})"
        kind = _kind_by_name(key, item)
        if kind is None:
            cleaned[unique] = _clean_value(item, clean, found)
        else:
            found.append(Redaction(field="metadata", kind=kind))
            cleaned[unique] = _mark(kind)
    return cleaned


def _clean_value(value: Any, clean: Callable[[str, str], str], found: list[Redaction]) -> Any:
    match value:
        case str():
            return clean("metadata", value)
        case Mapping():
            return _clean_mapping(value, clean, found)
        case list() | tuple():
            return [_clean_value(item, clean, found) for item in value]
        case _:
            return value


def _kind_by_name(key: str, value: Any) -> str | None:
    """Return what a metadata value is by its key's name, when no shape gives it away."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    if redact(str(value))[1]:
        return None
    text = str(value).replace('"', "'").replace("\n", " ")
    for _, _, kind in _named_values(f'"{key}": "{text}"'):
        return kind
    return None


def _mark(kind: str) -> str:
    return f"[REDACTED:{kind}]"


def _replace(text: str, edits: Iterator[_Edit], kinds: list[str]) -> str:
    """Apply edits, which come in the order of the text; one that overlaps the one before is left out."""
    pieces: list[str] = []
    done = 0
    for start, end, kind in edits:
        if start < done or rules.compiled(_MARKER).fullmatch(text, start, end):
            continue
        pieces += (text[done:start], _mark(kind))
        kinds.append(kind)
        done = end
    return "".join((*pieces, text[done:])) if pieces else text


def _span(match: re.Match[str]) -> tuple[int, int]:
    return match.span("secret") if "secret" in match.re.groupindex else match.span()


def _private_keys(text: str) -> Iterator[_Edit]:
    """Find private keys whole, and as far as they go when their last line is missing."""
    if "PRIVATE KEY" in text:
        begun: re.Match[str] | None = None
        for line in rules.compiled(rules.PRIVATE_KEY_LINE).finditer(text):
            if line.group(1) == "BEGIN":
                if begun is not None:
                    yield from _truncated_key(text, begun)
                begun = line
            elif begun is not None:
                if rules.compiled(rules.PRIVATE_KEY_BODY).search(text, begun.end(), line.start()):
                    yield begun.start(), line.end(), "private-key"
                begun = None
        if begun is not None:
            yield from _truncated_key(text, begun)
    elif "Private-Lines:" in text:
        for match in rules.compiled(rules.PUTTY_KEY).finditer(text):
            yield *_span(match), "private-key"


def _truncated_key(text: str, begun: re.Match[str]) -> Iterator[_Edit]:
    body = rules.compiled(rules.TRUNCATED_KEY).match(text, begun.end())
    if body is not None:
        yield begun.start(), begun.end() + len(body.group().rstrip()), "private-key"


def _tokens(rule: rules.TokenRule) -> _Finder:
    def find(text: str) -> Iterator[_Edit]:
        if any(mark in text for mark in rule.marks):
            for match in rules.compiled(rule.pattern).finditer(text):
                if "secret" in match.re.groupindex or _begins_word(text, match.start()):
                    yield *_span(match), rule.kind

    return find


def _begins_word(text: str, start: int) -> bool:
    return start == 0 or not (text[start - 1].isascii() and (text[start - 1].isalnum() or text[start - 1] == "_"))


def _aws_secrets(text: str) -> Iterator[_Edit]:
    """Find the secret that stands near an AWS key id; its shape alone would not be enough."""
    mark = _mark("aws-access-key-id")
    if mark in text:
        done = 0
        for place in re.finditer(re.escape(mark), text):
            first = max(done, place.start() - _AWS_REACH)
            for match in rules.compiled(rules.AWS_SECRET).finditer(text, first, place.end() + _AWS_REACH):
                done = match.end()
                if rules.looks_random(match.group()):
                    yield *match.span(), "aws-secret-key"


def _detected(text: str) -> Iterator[_Edit]:
    """Find what detect-secrets finds, extended to the end of the token; newer tokens grew longer."""
    # Every pattern used needs such a run, with a capital or a digit in it. Loading the detectors takes about 0.15 s
    # (they import an HTTP client), so plain prose must not.
    if not rules.compiled(rules.LONG_RUN).search(text):
        return
    edits = []
    for pattern, kind in _detectors():
        done = 0
        for match in pattern.finditer(text):
            start = match.start()
            if start >= done and _begins_word(text, start) and any(character.isdigit() for character in match.group()):
                tail = rules.compiled(r"[A-Za-z0-9_-]*+").match(text, match.end())
                done = tail.end() if tail else match.end()
                edits.append((start, done, kind))
    yield from sorted(edits)


@cache
def _detectors() -> tuple[tuple[re.Pattern[str], str], ...]:
    from importlib import import_module

    found: list[tuple[re.Pattern[str], str]] = []
    for path, kind in _DETECTORS.items():
        module, name = path.split(".")
        detector = getattr(import_module(f"detect_secrets.plugins.{module}"), name)
        # The patterns, not `analyze_string`: that one returns only a group where a pattern has groups.
        found.extend((pattern, kind) for pattern in detector.denylist)
    return tuple(found)


def _url_passwords(text: str) -> Iterator[_Edit]:
    if "://" in text:
        for match in rules.compiled(rules.URL_PASSWORD).finditer(text):
            if not rules.is_placeholder(match.group("secret")):
                yield *_span(match), "url-password"


def _authorizations(text: str) -> Iterator[_Edit]:
    for match in rules.compiled(rules.AUTHORIZATION).finditer(text):
        value = match.group("secret")
        if rules.plausible_token(value, minimum=16 if match.group()[:6].lower() == "bearer" else 8):
            yield *_span(match), "authorization"


def _curl_users(text: str) -> Iterator[_Edit]:
    if "curl" in text:
        for match in rules.compiled(rules.CURL_USER).finditer(text):
            if not rules.is_placeholder(match.group("secret")):
                yield *_span(match), "password"


def _named_values(text: str) -> Iterator[_Edit]:
    """Find values that a name such as `password` or `api_key` before them gives away."""
    for match in _named(text):
        yield from _judge(text, match, match.group("sign"))


def _named(text: str) -> Iterator[re.Match[str]]:
    """Yield what `NAMED_VALUE` matches, tried only where one of the words is that every name holds.

    Trying each character takes half a second for a megabyte, and most texts of that size name no secret.
    """
    pattern, lowered = rules.compiled(rules.NAMED_VALUE), text.lower()
    if len(lowered) != len(text) or "\u017f" in text or "\u0131" in text:  # odd letters that match s and i, too
        yield from pattern.finditer(text)
        return
    done = 0
    for place in sorted({at for word in rules.NAME_WORDS for at in _places(lowered, word)}):
        for start in range(max(done, place - rules.NAME_REACH), place + 1):
            if match := pattern.match(text, start):
                yield match
                done = match.end()
                break


def _places(text: str, word: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + 1)


def _option_values(text: str) -> Iterator[_Edit]:
    if "--" in text:
        for match in rules.compiled(rules.OPTION_VALUE).finditer(text):
            yield from _judge(text, match, "=")


def _judge(text: str, match: re.Match[str], sign: str) -> Iterator[_Edit]:
    group = match.lastgroup or "bare"
    start, end = match.span(group)
    quoted = group != "bare"
    if not quoted:
        end = start + len(text[start:end].rstrip(".,:)]}"))
    value = text[start:end]
    if match.group("password"):
        ends_line = text[match.end() : match.end() + 1] in {"", "\n", "\r", ",", ";"} or text[start - 1] == "="
        if rules.plausible_password(value, quoted=quoted, sign=sign, ends_line=ends_line):
            yield start, end, "password"
    elif rules.plausible_token(value, minimum=8 if match.group("secret_name") else 12):
        yield start, end, "secret"


def _spoken_passwords(text: str) -> Iterator[_Edit]:
    for match in rules.compiled(rules.SPOKEN_PASSWORD).finditer(text):
        group = match.lastgroup or "bare"
        value = match.group(group) if group != "bare" else match.group(group).rstrip(".)")
        if rules.plausible_spoken(value, quoted=group != "bare"):
            yield match.start(group), match.start(group) + len(value), "password"


_FINDERS: Final[tuple[_Finder, ...]] = (
    _private_keys,
    *(_tokens(rule) for rule in rules.TOKEN_RULES),
    _aws_secrets,
    _detected,
    _url_passwords,
    _authorizations,
    _curl_users,
    _named_values,
    _option_values,
    _spoken_passwords,
)
