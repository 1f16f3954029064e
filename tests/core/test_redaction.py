"""Redaction: secrets go, everything else stays, twice is once, and hostile text costs no more than its length.

Every secret here is made up and put together while the test runs, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import base64
import json
import random
import string
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memanto.memory.redaction import redact, redact_draft
from memanto.models import MAX_TAG, MAX_TITLE, Draft, Redaction

_random = random.Random(482)
ALNUM = string.ascii_letters + string.digits


def some(count: int, alphabet: str = ALNUM) -> str:
    """Return random characters that hold a letter of each case (where the alphabet has it) and a digit."""
    lead = "".join(c for c in "xR7" if c in alphabet)
    return lead + "".join(_random.choices(alphabet, k=count - len(lead)))


HEX = string.hexdigits[:16]
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
BODY = "\n".join(some(64) for _ in range(6))


def pem(label: str) -> str:
    return f"-----BEGIN {label}-----\n{BODY}\n-----END {label}-----"


def jwt() -> str:
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": "service", "iat": 1})
    return (
        ".".join(base64.urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=") for p in parts) + "." + some(43)
    )


TOKENS = {
    "aws id": ("aws-access-key-id", "AK" + "IA" + some(16, UPPER)),
    "aws temporary id": ("aws-access-key-id", "AS" + "IA" + some(16, UPPER)),
    "gcp": ("gcp-key", "AI" + "za" + some(35)),
    "gcp oauth": ("gcp-token", "ya" + "29." + some(60)),
    "gcp client": ("gcp-token", "GOC" + "SPX-" + some(28)),
    "github classic": ("github-token", "gh" + "p_" + some(36)),
    "github app": ("github-token", "gh" + "s_" + some(36)),
    "github fine-grained": ("github-token", "github" + "_pat_" + some(22) + "_" + some(59)),
    "gitlab": ("gitlab-token", "gl" + "pat-" + some(20)),
    "slack bot": ("slack-token", "xo" + "xb-1234567890-1234567890123-" + some(24)),
    "slack app": ("slack-token", "xa" + "pp-1-A0123456789-1234567890123-" + some(64, HEX)),
    "stripe live": ("stripe-key", "sk" + "_live_" + some(24)),
    "stripe long": ("stripe-key", "rk" + "_live_" + some(99)),
    "stripe test": ("stripe-key", "sk" + "_test_" + some(24)),
    "openai": ("openai-key", "sk" + "-" + some(20) + "T3BlbkFJ" + some(20)),
    "openai project": ("openai-key", "sk" + "-proj-" + some(74) + "_" + some(40)),
    "anthropic": ("anthropic-key", "sk" + "-ant-api03-" + some(90) + "-AA"),
    "openrouter": ("openrouter-key", "sk" + "-or-v1-" + some(64, HEX)),
    "huggingface": ("huggingface-token", "h" + "f_" + some(34)),
    "npm": ("npm-token", "np" + "m_" + some(36)),
    "pypi": ("pypi-token", "pypi" + "-AgEIcHlwaS5vcmc" + some(90)),
    "sendgrid": ("sendgrid-key", "S" + "G." + some(22) + "." + some(43)),
    "twilio": ("twilio-key", "S" + "K" + some(32, LOWER)),
    "mailchimp": ("mailchimp-key", some(32, HEX) + "-" + "us12"),
    "telegram": ("telegram-token", "1234567890" + ":" + some(35)),
    "discord": ("discord-token", "M" + some(23) + "." + some(6) + "." + some(27)),
    "square": ("square-secret", "sq0" + "csp-" + some(43)),
    "groq": ("groq-key", "gs" + "k_" + some(52)),
    "vault": ("vault-token", "hv" + "s." + some(90)),
    "digitalocean": ("digitalocean-token", "do" + "p_v1_" + some(64, HEX)),
    "databricks": ("databricks-token", "da" + "pi" + some(32, HEX)),
    "azure client": ("azure-secret", some(3) + "8" + "Q~" + some(34)),
    "jwt": ("jwt", jwt()),
}


@pytest.mark.parametrize(("kind", "secret"), TOKENS.values(), ids=TOKENS.keys())
@pytest.mark.parametrize(
    "around", ["{}", "the deploy used {} until Friday.", "TOKEN={}", '{{"value": "{}"}}', "(see {})"]
)
def test_a_token_is_known_by_its_shape_wherever_it_stands(kind: str, secret: str, around: str) -> None:
    cleaned, kinds = redact(around.format(secret))
    assert cleaned == around.format(f"[REDACTED:{kind}]")
    assert kinds == [kind]


PASSWORD = "s3" + "cr3t" + "-Pa55"
KEY = some(32)
NAMED: dict[str, tuple[str, str, str]] = {
    "environment": ("export DB_PASSWORD={}", PASSWORD, "password"),
    "lower-case word": ("password={}", "hun" + "ter", "password"),
    "yaml": ("db:\n  password: {}\n  port: 5432", "correct" + "horse", "password"),
    "json": ('{{"password": "{}", "port": 1}}', "open " + "sesame", "password"),
    "python": ("PASSWORD: str = '{}'", PASSWORD, "password"),
    "go": ('dbPassword := "{}"', PASSWORD, "password"),
    "connection string": ("Server=db;User Id=app;Password={};Encrypt=true", PASSWORD, "password"),
    "query string": ("GET /login?user=a&password={}&next=b", PASSWORD, "password"),
    "digits": ("pwd: {}", "48" + "2915", "password"),
    "option": ("mytool login --user app --password {}", PASSWORD, "password"),
    "prose": ("The staging password is {}.", "hun" + "ter2", "password"),
    "prose with quotes": ("The password for staging is now '{}', tell nobody", "tr0u" + "bador", "password"),
    "curl": ("curl -s -u admin:{} https://api.internal/v1", PASSWORD, "password"),
    "curl with a header": ("curl -u admin:{} -H 'Authorization: Bearer $TOKEN' https://x/", PASSWORD, "password"),
    "api key": ("api_key: {}", KEY, "secret"),
    "api key header": ("X-API-Key: {}", KEY, "secret"),
    "npmrc": ("//registry.internal/:_authToken={}", KEY, "secret"),
    "client secret": ('client_secret = "{}"', KEY, "secret"),
    "aws secret": ("aws_secret_access_key = {}", some(40, ALNUM + "/+"), "secret"),
    "softlayer": ("softlayer_api_key={}", some(64, HEX), "secret"),
    "bearer": ("Authorization: Bearer {}", KEY, "authorization"),
    "basic": ("Authorization: Basic {}", base64.b64encode(b"app:pa55word").decode(), "authorization"),
    "azure account": ("DefaultEndpointsProtocol=https;AccountKey={};x=y", some(86) + "==", "azure-storage-key"),
    "azure bus": ("Endpoint=sb://x.net/;SharedAccessKey={}", some(43) + "=", "secret"),
    "azure signature": ("https://x.net/c?sv=2024&sig={}&se=2026", some(43) + "%3D", "azure-signature"),
    "slack webhook": ("https://hooks.slack.com/services/{}", "T0123/B0123/" + some(24), "slack-webhook"),
    "url": ("postgres://app:{}@db.internal:5432/ledger?ssl=1", PASSWORD, "url-password"),
    "url with marks": ("amqp://app:{}@mq/vhost", "p@ss:w0/rd#1", "url-password"),
    "url without user": ("redis://:{}@cache:6379/0", "password", "url-password"),
}


@pytest.mark.parametrize(("around", "secret", "kind"), NAMED.values(), ids=NAMED.keys())
def test_a_named_value_goes_and_what_surrounds_it_stays(around: str, secret: str, kind: str) -> None:
    cleaned, kinds = redact(around.format(secret))
    assert cleaned == around.format(f"[REDACTED:{kind}]")
    assert kinds == [kind]


@pytest.mark.parametrize("lead", ["", "x" * 50, "\n" * 20, "pass key token ", "é ", "\u0130 ", "\u017f ", "\u0131 "])
@pytest.mark.parametrize("name", ["db_password", "PRIMARY_ACCESS_KEY", "mot_de_passe", "Contraseña", "encryption-key"])
def test_a_named_value_goes_whatever_stands_before_it(name: str, lead: str) -> None:
    secret = some(24)
    cleaned, kinds = redact(f'{lead}{name} = "{secret}" and so on')
    assert secret not in cleaned
    assert len(kinds) == 1
    assert cleaned.startswith(f"{lead}{name} =")


def test_several_secrets_in_one_line_all_go() -> None:
    text = f"curl -u admin:{PASSWORD} -H 'Authorization: Bearer {KEY}' 'https://x/?api_key={KEY}&password={PASSWORD}'"
    cleaned, kinds = redact(text)
    assert PASSWORD not in cleaned
    assert KEY not in cleaned
    assert len(kinds) == 4


@pytest.mark.parametrize(
    "label", ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
)
@pytest.mark.parametrize("form", [str, lambda key: key.replace("\n", "\\n"), lambda key: key.replace("\n", " ")])
def test_a_private_key_goes_whole(label: str, form: Callable[[str], str]) -> None:
    text = f"before {form(pem(label))} after"
    assert redact(text) == ("before [REDACTED:private-key] after", ["private-key"])


def test_a_private_key_without_its_last_line_goes_as_far_as_it_reaches() -> None:
    text = pem("PRIVATE KEY").rsplit("\n", 1)[0] + "\nThis is how far the log went."
    assert redact(text)[0] == "[REDACTED:private-key]\nThis is how far the log went."


def test_a_putty_key_loses_its_private_part() -> None:
    text = f"PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 6\n{BODY}\nPrivate-MAC: 00"
    assert BODY not in redact(text)[0]
    assert redact(text)[1] == ["private-key"]


def test_the_aws_secret_beside_its_id_goes_too_but_a_commit_does_not() -> None:
    secret, commit = some(40, ALNUM + "/+"), some(40, HEX)
    text = f"keys {TOKENS['aws id'][1]} / {secret} at commit {commit}"
    assert redact(text)[0] == f"keys [REDACTED:aws-access-key-id] / [REDACTED:aws-secret-key] at commit {commit}"


@pytest.mark.parametrize(
    "text",
    [
        "The password reset flow sends a token by e-mail; the token expires after 15 minutes.",
        "The password is rotated every 90 days and the secret is stored in the vault.",
        "Password: required, at least 12-character passphrase; token: optional.",
        "password hashing moved from bcrypt to argon2id; the secret is HMAC-SHA256 signed",
        "the password is Argon2id-hashed, the api key is base64-encoded",
        "fixed in commit 3f786850e387550fdab836ed7e6dc881de23001b (3f78685), sha256:" + "9f86d081" * 8,
        "request 550e8400-e29b-41d4-a716-446655440000 failed at 2026-06-01T10:00:00.123456Z",
        "see packages/memanto/src/memanto/memory/redaction.py and /etc/ssl/private/server.key",
        "mail ops@example.com, or git clone git@github.com:org/repo.git and git+ssh://git@host/org/repo@v1.2.3",
        "http://localhost:8080/path/user@example.com and http://[::1]:3000/@fs/main.ts",
        "api_key_env = 'OPENAI_API_KEY', password=os.environ['DB_PASSWORD'], token=$TOKEN, secret=${SECRET}",
        "connect(user=user, password=password, token=get_token(), api_key=settings.api_key)",
        "userpass = username + b':' + password; auth(password=pair[1]); password: ClassVar[bool]",
        "password: SecretBytes",
        "postgres://app:${DB_PASSWORD}@db/ledger and postgres://app:<password>@db/ledger",
        "password: str | None = None\nsecret: k8s secret payments-db-creds-v2\nsecret: payments-db-creds-v2",
        "max_tokens: 4096, token_count=182731, tokens per second: 120, tokenizer: Word, top_k_tokens=64",
        "--password is deprecated; use --token-file /run/secrets/token or --api-key-env NAME instead",
        "private_key: ~/.ssh/id_ed25519, secret_file=/run/secrets/db, key: user:42:profile",
        "the file starts with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----",
        "docker run -u 1000:1000 -p 8080:80 registry.internal/app:1.2.3; sk-learn is scikit-learn",
        "risk-assessment-2026-q2-for-the-payments-team, task-management-system-v2-migration, disk-usage-0001-report-x",
        "class TokenBucketRateLimiter2026Implementation: pass  # PROJ-482, camelCaseIdentifierNumber1",
        "Der Benutzer hat sein Passwort vergessen. パスワードを忘れた。 비밀번호 재설정",
        "SESSION HANDOFF | Goal: rotate the API key | Done: none | Next: ask for the token | Do NOT redo: audit",
        "Bearer authentication-is-required-here; the bearer token must be sent",
        "Error: password authentication failed for user app; token: invalid; secret: missing",
    ],
)
def test_ordinary_engineering_text_stays_as_it_is(text: str) -> None:
    assert redact(text) == (text, [])


def test_images_and_other_random_bytes_in_base64_stay() -> None:
    image = base64.b64encode(random.Random(7).randbytes(150_000)).decode()
    text = f"![chart](data:image/png;base64,{image}) shows the trend"
    assert redact(text) == (text, [])


def test_what_is_redacted_already_stays_and_is_not_reported_again() -> None:
    for kind, secret in TOKENS.values():
        once, _ = redact(f"api_key={secret} password: {secret} https://u:{secret}@h --token {secret} {kind}")
        assert secret not in once
        assert redact(once) == (once, [])


pieces = st.sampled_from(
    [secret for _, secret in TOKENS.values()]
    + [around.format(secret) for around, secret, _ in NAMED.values()]
    + [
        "[REDACTED:jwt]",
        "[REDACTED:",
        "password=",
        "token: ",
        '"',
        "'",
        "://u:",
        "@h",
        "\n",
        " ",
        "=",
        "-",
        "]",
        pem("PRIVATE KEY"),
    ]
)


@given(st.lists(pieces | st.text(max_size=12), max_size=8).map("".join))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once, _ = redact(text)
    assert redact(once) == (once, [])


@given(st.text())
def test_any_text_can_be_redacted(text: str) -> None:
    cleaned, kinds = redact(text)
    assert (cleaned == text) == (not kinds)


@pytest.mark.parametrize(
    "unit",
    ["ey" + "J", "sk-", "://a:", "password=", 'password="', "token:", "A1", "-----BEGIN PRIVATE KEY-----",
     "curl -u ", "bearer ", "password is ", "--a-b-", "AC" + "a1" * 16 + "-", "password \t", " ", "//x/:_authToken="],
)  # fmt: skip
def test_hostile_text_costs_time_in_proportion_to_its_length(unit: str) -> None:
    """A quadratic pattern would need minutes to hours here, far beyond any timeout of the whole run."""
    text = unit * (200_000 // len(unit)) + "@ x1A"
    assert redact(text)[0].endswith("x1A") or "REDACTED" in redact(text)[0]


def test_every_field_of_a_draft_is_cleaned_and_reported() -> None:
    kind, secret = TOKENS["github classic"]
    mark = f"[REDACTED:{kind}]"
    draft = Draft(
        content=f"used {secret}",
        title=f"about {secret}",
        tags=("ops", secret),
        source_ref=f"log:{secret}",
        key=f"slot {secret}",
        metadata={
            "list": [1, {"deep": secret}],
            secret: True,
            "password": "hun" + "ter2",
            "pin": None,
            "max_tokens": 4096,
        },
    )
    cleaned, found = redact_draft(draft)
    assert secret not in repr(cleaned)
    assert cleaned.content == f"used {mark}"
    assert cleaned.tags == ("ops", mark)
    assert cleaned.metadata == {
        "list": [1, {"deep": mark}],
        mark: True,
        "password": "[REDACTED:password]",
        "pin": None,
        "max_tokens": 4096,
    }
    assert {r.field for r in found} == {"content", "title", "tags", "source_ref", "key", "metadata"}
    assert found.count(Redaction(field="metadata", kind=kind)) == 2
    assert redact_draft(cleaned) == (cleaned, ())


def test_a_draft_without_secrets_is_returned_as_it_is() -> None:
    draft = Draft(
        content="The ledger lags", title="lag", tags=("ops",), metadata={"password": "required", "n": [1, (2, 3)]}
    )
    assert redact_draft(draft) == (draft, ())
    assert redact_draft(draft)[0] is draft


def test_metadata_keys_that_become_equal_lose_no_value() -> None:
    one, two = "gh" + "p_" + some(36), "gh" + "p_" + some(36)
    cleaned, _ = redact_draft(Draft(content="x", metadata={one: 1, two: 2}))
    assert cleaned.metadata == {"[REDACTED:github-token]": 1, "[REDACTED:github-token] (2)": 2}


def test_a_short_field_that_would_outgrow_its_limit_becomes_the_mark_alone() -> None:
    draft = Draft(
        content="x", title="t" * (MAX_TITLE - 14) + " pwd=" + "ab12cd4", tags=("u" * (MAX_TAG - 9) + " pwd=" + "ab1",)
    )
    cleaned, _ = redact_draft(draft)
    assert cleaned.title == "[REDACTED:password]"
    assert len(cleaned.tags[0]) <= MAX_TAG


def test_plain_prose_does_not_load_the_detectors() -> None:
    """They import an HTTP client, which costs about 0.15 s; a first `remember` of prose must not pay for it."""
    script = (
        "import sys; from memanto.memory.redaction import redact;"
        "redact('Ledger pulls lag the source by ~5 minutes; the ledger_reconciliation_job waits.');"
        "sys.exit('detect_secrets' in sys.modules or 'requests' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
