"""What secrets look like: the rules behind `memanto.memory.redaction`.

Two kinds of evidence count. A *token* has a shape only one issuer uses, so its shape is enough. A *named*
value (`password=…`, `api_key: …`) has any shape, so the value must also be plausible: prose, type
annotations, references to a vault or a variable, and names of secrets are left alone.

Every pattern is linear in the text: repetitions are possessive or bounded, and what a failed attempt read is
not read again by many later ones.
"""

# ruff: noqa: S105 - constants named after secrets hold patterns, not secrets

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final


@dataclass(frozen=True, slots=True)
class TokenRule:
    """A token that its shape gives away.

    Attributes:
        kind: Name shown in place of the secret.
        marks: The rule is tried only when one of these occurs in the text.
        pattern: Matches the secret, or has it as the group `secret`.
    """

    kind: str
    marks: tuple[str, ...]
    pattern: str


_END: Final = r"(?![A-Za-z0-9])"

TOKEN_RULES: Final = (
    TokenRule("aws-access-key-id", ("AKIA", "ASIA", "ABIA", "ACCA"), rf"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}{_END}"),
    TokenRule("anthropic-key", ("sk-ant-",), r"sk-ant-[A-Za-z0-9_-]{20,}+"),
    TokenRule("openrouter-key", ("sk-or-",), r"sk-or-[A-Za-z0-9_-]{20,}+"),
    TokenRule("openai-key", ("sk-",), r"sk-(?=[A-Za-z_-]{0,60}[0-9])[A-Za-z0-9_-]{20,}+"),
    TokenRule(
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"(?:gh[pousr]_[A-Za-z0-9_]{36,}+|github_pat_[A-Za-z0-9_]{22,}+)",
    ),
    TokenRule("gcp-key", ("AIza",), rf"AIza[A-Za-z0-9_-]{{35}}{_END}"),
    TokenRule("gcp-token", ("ya29.", "GOCSPX-"), r"(?:ya29\.[A-Za-z0-9_.-]{20,}+|GOCSPX-[A-Za-z0-9_-]{20,}+)"),
    TokenRule("slack-token", ("xox", "xapp-"), r"(?:xox[a-z](?:\.xox[a-z])?-|xapp-)[A-Za-z0-9-]{10,}+"),
    TokenRule(
        "slack-webhook",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/_+-]{20,}+)",
    ),
    TokenRule("stripe-key", ("k_live_", "k_test_"), r"[srp]k_(?:live|test)_[A-Za-z0-9]{16,}+"),
    TokenRule("webhook-secret", ("whsec_",), r"whsec_[A-Za-z0-9+/=]{24,}+"),
    TokenRule("huggingface-token", ("hf_",), r"hf_[A-Za-z0-9]{30,}+"),
    TokenRule("npm-token", ("npm_",), r"npm_[A-Za-z0-9]{36,}+"),
    TokenRule("pypi-token", ("pypi-",), r"pypi-[A-Za-z0-9_-]{60,}+"),
    TokenRule("sendgrid-key", ("SG.",), r"SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+"),
    TokenRule("groq-key", ("gsk_",), r"gsk_[A-Za-z0-9]{40,}+"),
    TokenRule("xai-key", ("xai-",), r"xai-[A-Za-z0-9]{60,}+"),
    TokenRule("replicate-token", ("r8_",), r"r8_[A-Za-z0-9]{36,}+"),
    TokenRule("perplexity-key", ("pplx-",), r"pplx-[A-Za-z0-9]{40,}+"),
    TokenRule("langsmith-key", ("lsv2_",), r"lsv2_(?:pt|sk)_[A-Za-z0-9]{32}[A-Za-z0-9_]*+"),
    TokenRule("vault-token", ("hvs.", "hvb."), r"hv[sb]\.[A-Za-z0-9_-]{24,}+"),
    TokenRule("age-key", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[0-9A-Z]{50,}+"),
    TokenRule("digitalocean-token", ("_v1_",), r"do[opr]_v1_[a-f0-9]{64}"),
    TokenRule("databricks-token", ("dapi",), rf"dapi[0-9a-f]{{32}}(?:-[0-9])?{_END}"),
    TokenRule("shopify-token", ("shp",), r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}"),
    TokenRule("atlassian-token", ("ATATT3", "ATCTT3"), r"AT[AC]TT3[A-Za-z0-9_=-]{50,}+"),
    TokenRule("linear-key", ("lin_api_",), r"lin_api_[A-Za-z0-9]{32,}+"),
    TokenRule("notion-token", ("ntn_", "secret_"), r"(?:ntn|secret)_[A-Za-z0-9]{40,}+"),
    TokenRule("docker-token", ("dckr_",), r"dckr_[po]at_[A-Za-z0-9_-]{24,}+"),
    TokenRule("terraform-token", (".atlasv1.",), r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}+"),
    TokenRule("grafana-token", ("glsa_", "glc_"), r"gl(?:sa|c)_[A-Za-z0-9_+/=]{32,}+"),
    TokenRule("sentry-token", ("sntrys_", "sntryu_"), r"sntry[su]_[A-Za-z0-9_+/=]{40,}+"),
    TokenRule("rubygems-key", ("rubygems_",), r"rubygems_[a-f0-9]{48}"),
    TokenRule("azure-secret", ("Q~",), r"[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,40}+"),
    TokenRule("azure-storage-key", ("AccountKey=",), r"AccountKey=(?P<secret>[A-Za-z0-9+/=]{40,}+)"),
    TokenRule("azure-signature", ("sig=",), r"[?&]sig=(?P<secret>[A-Za-z0-9%+/=_-]{32,}+)"),
    TokenRule(
        "jwt", ("eyJ",), r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]{10,}+(?:\.[A-Za-z0-9_-]*+){0,3}"
    ),
)

_TOKENISH: Final = "A-Za-z0-9_+/=-"
LONG_RUN: Final = rf"(?<![{_TOKENISH}])(?=[{_TOKENISH}]{{20}})[a-z_+/=-]*+[A-Z0-9]"
PRIVATE_KEY_LINE: Final = r"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
PRIVATE_KEY_BODY: Final = r"[A-Za-z0-9+/=]{24}"
TRUNCATED_KEY: Final = r"(?:\s|\\[nr])*+(?:[A-Za-z0-9+/=]{16,}+(?:\s|\\[nr])*+)++"
PUTTY_KEY: Final = r"Private-Lines:[ \t]{0,4}[0-9]{1,4}\s(?P<secret>[A-Za-z0-9+/=\r\n]{24,}+)"

URL_PASSWORD: Final = (
    r"://[^\s/?#:@'\"<>\[]{0,256}:(?![0-9]{1,5}[/?#])(?P<secret>[^\s'\"<>@]{1,256}"
    r"(?:@(?![A-Za-z0-9.-]{1,253}(?::[0-9]{1,5})?[/?#])[^\s'\"<>@]{1,256}){0,4})@(?=[A-Za-z0-9_\[$])"
)
AUTHORIZATION: Final = (
    r"(?i)(?:\bbearer[ \t]{1,4}|\bauthorization[\"'`]?[ \t]{0,4}[:=][ \t]{0,4}[\"'`]?"
    r"(?:basic|token|apikey|key)[ \t]{1,4})(?P<secret>[A-Za-z0-9._~+/=-]{8,}+)"
)
CURL_USER: Final = r"\bcurl\b[^\n]{0,300}?[ \t](?:-u|--user)[ \t=]{1,4}[\"']?[^\s:\"']{1,64}:(?P<secret>[^\s\"'@]{3,}+)"
AWS_SECRET: Final = r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"

_PASSWORD_NAME: Final = (
    r"(?P<password>pass(?:word|wd|phrase|code)|pwd|(?:db|database|user|root|admin|ssh|smtp|ldap|mysql|pg|redis)_?pass|"
    r"contraseña|passwort|kennwort|mot_?de_?passe)"
)
_TOKEN_NAME: Final = (
    r"(?:(?P<secret_name>secret)|token|credentials?|authorization|"
    r"(?:api|app|auth|access|account|service|private|secret|encryption|signing|master|storage|client|license|"
    r"sharedaccess|primary_?access|secret_?access)[_ -]?key)"
)
_NAME: Final = rf"(?:{_PASSWORD_NAME}|{_TOKEN_NAME})(?:_?(?:base|value|prod|dev|staging|live|test|v?[0-9]{{1,2}}))?"
NAME_WORDS: Final = ("pass", "pwd", "contrase", "kennwort", "secret", "token", "credential", "authorization", "key")
"""Every name holds at least one of these, at most `NAME_REACH` characters after it begins."""
NAME_REACH: Final = 16
_BARE: Final = r"(?:[^\s\"'`,;<>&]|&(?!\w{1,40}=))++"
NAMED_VALUE: Final = (
    rf"(?i){_NAME}[\"'`\]]{{0,2}}[ \t]{{0,4}}"
    r"(?P<sign>(?::[ \t]{0,2}(?:str|string|secretstr)[ \t]{0,2})?(?:=>|:=|={1,3}|!=|:))[ \t]{0,4}"
    rf"(?:\"(?P<double>[^\"\n]++)\"|'(?P<single>[^'\n]++)'|`(?P<back>[^`\n]++)`|[\"'`]?(?P<bare>{_BARE}))"
)
OPTION_VALUE: Final = (
    rf"(?i)--(?:[a-z]{{1,20}}-){{0,3}}{_NAME}[ \t]{{1,4}}(?:\"(?P<double>[^\"\n]++)\"|'(?P<single>[^'\n]++)'|"
    rf"(?!-)(?P<bare>{_BARE}))"
)
SPOKEN_PASSWORD: Final = (
    r"(?i)\bpass(?:word|wd|phrase|code)[ \t]{1,4}(?:for [^\s]{1,60} |of [^\s]{1,60} )?"
    r"(?:(?:is |was )?(?:now|set to|changed to|reset to)|is|was)[ \t]{1,4}"
    r"(?:\"(?P<double>[^\"\n]++)\"|'(?P<single>[^'\n]++)'|`(?P<back>[^`\n]++)`|(?P<bare>[^\s\"'`,;]++))"
)

_PLACEHOLDER: Final = r"(?:\$\w+|\$[{(].*|[{<%].*[}>)%]|[*x.•…_-]+)"
_REFERENCE: Final = (
    r"(?ix) \[REDACTED: | \$[0-9]\w?\$ | %[\w(] | op:// | arn: | file: | https?:// | ref\+ | vault: |"
    r"[~.]{0,2}/[\w./-]*\Z | [\w./-]+\.(?:pem|key|json|ya?ml|toml|txt|py|env)\Z |"
    r"[a-z_]*(?:password|passwd|passphrase|pwd|secret|token|key)s?\Z | [0-9]{4}-[0-9]{2}-[0-9]{2} |"
    r"[0-9]+[-_]?(?:char|character|byte|bit|digit|day|hour|min|minute|sec|week|month|year|token)s?\b"
)
_CODE: Final = (
    r"(?ix) [{\[(] | [\w.:]+[(\[] | [a-z_]+(?:\.[a-z_]+)+\Z |"
    r"(?:os|env|environ|process|settings|config|cfg|conf|self|args|opts|options|request|secrets?|data|kwargs|ssm)[.\[:/]"
)
_ALGORITHM: Final = (
    r"(?i)(?:sha-?[0-9]|md5|argon2|bcrypt|scrypt|pbkdf2|base64|[hrep]s256|aes-?[0-9]|ed25519|utf-?8|oauth2|totp|x509)"
)
_CONSTANT: Final = r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"
_SLUG: Final = (
    r"(?:[a-z]{2,}|v?[0-9]{1,4}|[a-z]{1,20}[0-9]{1,2})(?:[-_./:](?:[a-z]{2,}|v?[0-9]{1,4}|[a-z]{1,20}[0-9]{1,2}))+"
)
_PROSE: Final = r"(?i)\b(?:must|should|required|characters|invalid|incorrect|wrong|not|is|are|the|your)\b"
_STOP_WORDS: Final = (
    r"(?i)(?:required|optional|string|bytes|none|null|nil|true|false|undefined|text|hidden|masked|redacted|changed|"
    r"rotated|reset|expired|missing|invalid|incorrect|wrong|empty|unset|unknown|prompt|stdin|value|rejected|accepted|"
    r"stored|generated|encrypted|hashed|protected|disabled|enabled|unchanged|omitted|removed|deleted|revoked|provided|"
    r"needed|example|placeholder|default|varies|bearer|basic|object|number|boolean|integer|secretstr|secretbytes)"
)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return the compiled pattern; compiled on first use because most texts need few of them."""
    return re.compile(pattern)


def plausible_password(value: str, *, quoted: bool = True, sign: str = "=", ends_line: bool = True) -> bool:
    """Return whether a value named as a password is one, rather than prose or a reference.

    Args:
        value: The value without quotes.
        quoted: Whether it stood in quotes.
        sign: What stood between name and value.
        ends_line: Whether the line ends with the value, or no space stands between sign and value (`x=value`).
    """
    if len(value) < 4 or _is_reference(value) or (not quoted and compiled(_CODE).match(value)):
        return False
    if quoted:
        return not (" " in value and compiled(_PROSE).search(value))
    has_digit = any(character.isdigit() for character in value)
    has_mark = any(not character.isalnum() and character not in "-_./:" for character in value)
    if has_digit or has_mark:
        return sign != ":" or ends_line or len(value) >= 6
    return ends_line and len(value) >= (8 if sign == ":" else 6)


def plausible_token(value: str, *, minimum: int = 12) -> bool:
    """Return whether a value named as a key or token looks random enough to be one."""
    if len(value) < minimum or " " in value or _is_reference(value) or compiled(_CODE).match(value):
        return False
    if compiled(_SLUG).fullmatch(value) or compiled(_CONSTANT).fullmatch(value) or compiled(_ALGORITHM).match(value):
        return False
    return looks_random(value) or (any(c.isdigit() for c in value) and any(c.isalpha() for c in value))


def plausible_spoken(value: str, *, quoted: bool) -> bool:
    """Return whether what follows "the password is" is a password rather than the rest of a sentence."""
    if not plausible_password(value, quoted=quoted) or compiled(_ALGORITHM).match(value):
        return False
    has_digit = any(character.isdigit() for character in value)
    has_mark = any(character in "!@#$%^&*?~+=" for character in value)
    return len(value) >= 6 and (has_digit or has_mark) and any(character.isalpha() for character in value)


def looks_random(value: str) -> bool:
    """Return whether letters of both cases mix as no word does: with digits, or over 20 characters."""
    upper = any("A" <= character <= "Z" for character in value)
    lower = any("a" <= character <= "z" for character in value)
    digit = any("0" <= character <= "9" for character in value)
    return upper and lower and (digit or (len(value) >= 20 and value.isalnum()))


def is_placeholder(value: str) -> bool:
    """Return whether the value stands for a secret: `$NAME`, `${NAME}`, `<password>`, `***`."""
    return compiled(_PLACEHOLDER).fullmatch(value) is not None


def _is_reference(value: str) -> bool:
    return bool(compiled(_STOP_WORDS).fullmatch(value) or is_placeholder(value) or compiled(_REFERENCE).match(value))
