"""Settings: which value wins and why, files that are wrong, and nothing that leaves the machine unasked."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memanto.agents import activate, active, deactivate, resolve_agent
from memanto.config import (
    PROJECT_FILE,
    SETTING_NAMES,
    USER_FILE,
    Settings,
    check_local_url,
    get_value,
    is_loopback,
    load_settings,
    project_agent,
    set_backend,
    set_value,
    set_values,
)
from memanto.config_files import write_private
from memanto.errors import ConfigurationError, InvalidInputError


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    folder = tmp_path / "project" / "deep" / "er"
    folder.mkdir(parents=True)
    return folder


def load(home: Path, cwd: Path, environ: dict[str, str] | None = None, **flags: Any) -> Settings:
    return load_settings({"MEMANTO_HOME": str(home)} | (environ or {}), cwd, flags)


def user_file(home: Path, text: str) -> Path:
    home.mkdir(exist_ok=True)
    path = home / USER_FILE
    path.write_text(text, "utf-8")
    return path


def test_without_any_source_every_value_is_its_default(home: Path, cwd: Path) -> None:
    settings = load(home, cwd)
    assert (settings.backend, settings.durability, settings.offline) == ("embedded", "log", False)
    assert settings.agent is None
    assert settings.api_key_env == "MEMANTO_QDRANT_API_KEY"
    assert set(settings.origins) == set(SETTING_NAMES)
    assert {origin for name, origin in settings.origins.items() if name != "home"} == {"default"}
    assert not home.exists()


def test_the_default_home_is_the_platforms_user_data_folder(cwd: Path) -> None:
    import platformdirs

    settings = load_settings({}, cwd)
    assert settings.home == Path(platformdirs.user_data_dir("memanto", appauthor=False))
    assert settings.origins["home"] == "default"


def test_flags_win_over_the_environment_over_the_user_file_over_defaults(home: Path, cwd: Path) -> None:
    path = user_file(home, 'durability = "full"\nembed_model = "from-file"\nqdrant_url = "http://file:1"\n')
    settings = load(
        home,
        cwd,
        {"MEMANTO_EMBED_MODEL": "from-env", "MEMANTO_AGENT": "env-agent"},
        agent="flag-agent",
        durability=None,
    )
    assert (settings.durability, settings.embed_model, settings.agent) == ("full", "from-env", "flag-agent")
    assert settings.origins["durability"] == f"user file {path}"
    assert settings.origins["embed_model"] == "environment variable MEMANTO_EMBED_MODEL"
    assert settings.origins["agent"] == "flag"
    assert settings.backend == "embedded"  # an address in the file alone does not choose the server


def test_every_setting_but_home_has_a_variable_and_empty_ones_do_not_count(home: Path, cwd: Path) -> None:
    environ = {
        "MEMANTO_AGENT": "a",
        "MEMANTO_BACKEND": "qdrant",
        "MEMANTO_QDRANT_URL": "http://localhost:6333",
        "MEMANTO_API_KEY_ENV": "MY_KEY",
        "MEMANTO_EMBED_MODEL": "m",
        "MEMANTO_EMBED_MODEL_PATH": "models",
        "MEMANTO_DURABILITY": "full",
        "MEMANTO_OFFLINE": "1",
        "MEMANTO_LLM_BASE_URL": "http://localhost:11434/v1",
        "MEMANTO_LLM_MODEL": "m",
        "MEMANTO_LLM_API_KEY_ENV": "MY_OTHER_KEY",
        "MEMANTO_LLM_TIMEOUT": "30",
        "MEMANTO_LLM_MAX_TOKENS": "400",
        "MEMANTO_LLM_CONTEXT_TOKENS": "8192",
    }
    settings = load(home, cwd, environ)
    assert all(settings.origins[name].startswith("environment") for name in SETTING_NAMES)
    assert settings.embed_model_path == cwd / "models"
    assert settings.offline is True
    assert load(home, cwd, dict.fromkeys(environ, "")).origins["agent"] == "default"


def test_the_nearest_project_file_above_names_the_agent(home: Path, cwd: Path) -> None:
    (cwd.parent.parent / PROJECT_FILE).write_text('agent = "far"\n')
    assert load(home, cwd).agent == "far"
    (cwd.parent / PROJECT_FILE).write_text('agent = "near"\n')
    settings = load(home, cwd)
    assert settings.agent == "near"
    assert settings.origins["agent"] == f"project file {cwd.parent / PROJECT_FILE}"
    assert project_agent(cwd) == ("near", cwd.parent / PROJECT_FILE)


@pytest.mark.parametrize("line", ['qdrant_url = "http://elsewhere:6333"', 'api_key_env = "HOME"', "offline = false"])
def test_a_project_file_cannot_decide_where_memories_go(home: Path, cwd: Path, line: str) -> None:
    """A cloned repository must not be able to send a user's memories or keys to a server of its own."""
    (cwd / PROJECT_FILE).write_text(f'agent = "a"\n{line}\n')
    with pytest.raises(ConfigurationError, match="line 2") as caught:
        load(home, cwd)
    assert "names the agent only" in caught.value.hint


def test_the_agent_does_not_belong_in_the_user_file(home: Path, cwd: Path) -> None:
    user_file(home, 'agent = "a"\n')
    with pytest.raises(ConfigurationError) as caught:
        load(home, cwd)
    assert "memanto agent activate" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b'backend = "embedded"\nofline = true\n', ["line 2", "'ofline'", "did you mean 'offline'?"]),
        (b'backend = "embedded"\ndurability = "fu', ["not valid TOML", "line 2"]),
        (b'durability = """\nhalf written\n', ["not valid TOML", "line 2"]),
        (b"offline = true\nbackend == 1\n", ["not valid TOML", "line 2"]),
        (b'offline = true\nembed_model = "\xff"\n', ["line 2", "UTF-8"]),
        (b'backend = "sqlite"\n', ["backend", "'sqlite'", "embedded, on-prem, qdrant"]),
        (b"offline = 1\n", ["offline", "1"]),
        (b'backend = "qdrant"\n', ["needs the address"]),
        (b'qdrant_url = "localhost:6333"\n', ["not a URL"]),
        (b'embed_model = ""\n', ["embed_model"]),
    ],
)
def test_a_wrong_file_is_refused_by_name_with_what_is_wrong(
    home: Path, cwd: Path, text: bytes, says: list[str]
) -> None:
    user_file(home, "").write_bytes(text)
    with pytest.raises(ConfigurationError) as caught:
        load(home, cwd)
    assert str(home / USER_FILE) in caught.value.message
    assert all(words in caught.value.message for words in says)
    assert caught.value.hint


def test_an_unreadable_file_is_a_configuration_error(home: Path, cwd: Path) -> None:
    (home / USER_FILE).mkdir(parents=True)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load(home, cwd)


def test_a_secret_given_where_a_name_belongs_is_refused_and_not_repeated(home: Path) -> None:
    secret = "ey" + "JhbGciOiJIUzI1NiJ9.abc"
    for name, value in {"api_key_env": secret, "qdrant_url": f"https://user:{secret}@host:6333"}.items():
        with pytest.raises(ConfigurationError) as caught:
            set_value(home, name, value)
        assert secret not in str(caught.value)
    assert not home.exists()


def test_the_key_is_read_from_the_variable_and_never_part_of_the_settings(home: Path, cwd: Path) -> None:
    environ = {"MEMANTO_QDRANT_URL": "http://localhost:6333", "TEAM_KEY": "abc"}
    set_value(home, "api_key_env", "TEAM_KEY")
    settings = load(home, cwd, environ)
    assert settings.api_key(environ) == "abc"
    assert "abc" not in repr(settings)
    assert settings.api_key({}) is None


def test_a_servers_address_by_flag_or_variable_chooses_the_server(home: Path, cwd: Path) -> None:
    environ = {"MEMANTO_QDRANT_URL": "https://qdrant.example:6333"}
    assert load(home, cwd, environ).backend == "qdrant"
    assert load(home, cwd, qdrant_url="http://localhost:6333").backend == "qdrant"
    assert load(home, cwd, environ, backend="embedded").backend == "embedded"
    assert load(home, cwd, environ | {"MEMANTO_BACKEND": "embedded"}).backend == "embedded"


def test_on_prem_refuses_every_address_that_leaves_the_machine(home: Path, cwd: Path) -> None:
    set_backend(home, "on-prem")
    settings = load(home, cwd)
    assert settings.offline is True
    assert settings.origins["offline"] == settings.origins["backend"]
    with pytest.raises(ConfigurationError, match="on-prem") as caught:
        load(home, cwd, {"MEMANTO_QDRANT_URL": "https://qdrant.example:6333"})
    assert "MEMANTO_QDRANT_URL" in caught.value.message
    with pytest.raises(ConfigurationError, match="the language model"):
        check_local_url(settings, "https://api.example/v1", "the language model")
    check_local_url(settings, "http://127.0.0.1:11434/v1", "the language model")
    assert load(home, cwd, {"MEMANTO_QDRANT_URL": "http://127.0.0.1:6333"}).backend == "on-prem"
    with pytest.raises(ConfigurationError, match="offline"):
        load(
            home,
            cwd,
            {"MEMANTO_OFFLINE": "yes", "MEMANTO_BACKEND": "qdrant", "MEMANTO_QDRANT_URL": "http://10.0.0.1:1"},
        )


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:6333", True),
        ("http://LOCALHOST.", True),
        ("http://db.localhost/x", True),
        ("http://127.9.9.9", True),
        ("http://[::1]:6333", True),
        ("http://localhost.evil.example", False),
        ("http://127.0.0.1.nip.example", False),
        ("http://0.0.0.0", False),
        ("http://192.168.1.4", False),
        ("http://user@127.0.0.1@evil.example", False),
        ("nonsense", False),
        ("http://[::1", False),
    ],
)
def test_only_addresses_of_this_machine_are_loopback(url: str, local: bool) -> None:
    assert is_loopback(url) is local


def test_setting_a_value_keeps_comments_and_order_and_is_private(home: Path, cwd: Path) -> None:
    path = user_file(home, '# mine\ndurability = "log"  # safe enough\n\n# models\nembed_model = "m"\n')
    path.chmod(0o644)
    set_values(home, {"durability": "full", "offline": "yes", "embed_model": None})
    assert path.read_text() == '# mine\ndurability = "full"  # safe enough\n\n# models\noffline = true\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load(home, cwd).durability == "full"
    assert [entry.name for entry in home.iterdir()] == [USER_FILE]


def test_the_first_value_makes_a_private_home(home: Path) -> None:
    set_value(home, "durability", "full")
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert (home / USER_FILE).read_text() == 'durability = "full"\n'


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"durabilty": "full"}, "did you mean 'durability'?"),
        ({"durability": "medium"}, "'medium'"),
        ({"agent": "a"}, "'agent'"),
        ({"backend": "qdrant"}, "needs the address"),
        ({"backend": "on-prem", "qdrant_url": "https://far.example"}, "not on this machine"),
        ({"offline": "perhaps"}, "'perhaps'"),
        ({"durability": "full", "qdrant_url": "ftp://x"}, "not a URL"),
    ],
)
def test_a_refused_change_leaves_the_file_as_it_was(home: Path, values: dict[str, object], says: str) -> None:
    path = user_file(home, "offline = false\n")
    with pytest.raises(ConfigurationError) as caught:
        set_values(home, values)
    assert says in caught.value.message
    assert path.read_text() == "offline = false\n"


def test_choosing_a_backend_forgets_the_server_of_the_one_before(home: Path, cwd: Path) -> None:
    set_backend(home, "qdrant", url="https://qdrant.example:6333", api_key_env="TEAM_KEY")
    settings = load(home, cwd)
    assert (settings.backend, settings.qdrant_url, settings.api_key_env) == (
        "qdrant",
        "https://qdrant.example:6333",
        "TEAM_KEY",
    )
    set_backend(home, "on-prem")
    assert (load(home, cwd).backend, load(home, cwd).qdrant_url) == ("on-prem", None)
    with pytest.raises(ConfigurationError, match="has no server"):
        set_backend(home, "embedded", url="http://localhost:6333")


def test_a_value_is_got_by_name_and_an_unknown_name_suggests_the_nearest(home: Path, cwd: Path) -> None:
    settings = load(home, cwd)
    assert get_value(settings, "home") == home
    assert get_value(settings, "backend") == "embedded"
    for name in ("bakend", "origins", "api_key"):
        with pytest.raises(ConfigurationError, match="unknown setting"):
            get_value(settings, name)


def test_writing_a_private_file_follows_a_link_and_leaves_nothing_behind_when_it_fails(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "config.toml"
    target.parent.mkdir()
    target.write_text("old")
    link = tmp_path / "config.toml"
    link.symlink_to(target)
    write_private(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    with pytest.raises(UnicodeEncodeError):
        write_private(link, "\ud800")
    assert target.read_text() == "new"
    assert list(target.parent.iterdir()) == [target]


def test_the_agent_is_named_by_flag_environment_project_file_or_the_active_agent(home: Path, cwd: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        resolve_agent(None, {}, cwd, home)
    assert "memanto agent create NAME" in caught.value.hint
    activate(home, "active-one")
    assert resolve_agent(None, {}, cwd, home) == ("active-one", "active agent")
    (cwd.parent / PROJECT_FILE).write_text('agent = "of-project"\n')
    assert resolve_agent(None, {}, cwd, home) == ("of-project", f"project file {cwd.parent / PROJECT_FILE}")
    environ = {"MEMANTO_AGENT": "of-env"}
    assert resolve_agent(None, environ, cwd, home) == ("of-env", "environment variable MEMANTO_AGENT")
    assert resolve_agent("of-flag", environ, cwd, home) == ("of-flag", "flag --agent")
    assert resolve_agent(None, {"MEMANTO_AGENT": ""}, cwd, home)[0] == "of-project"


@pytest.mark.parametrize(
    ("known", "hint"),
    [
        (["shop"], "there is shop: `memanto agent activate shop` takes it up"),
        (["a", "b"], "there are a, b: `memanto agent activate NAME` takes one up"),
        (list("abcdefg"), "there are a, b, c, d, e and 2 more: `memanto agent activate NAME` takes one up"),
    ],
)
def test_where_no_agent_is_named_those_that_are_there_are(home: Path, cwd: Path, known: list[str], hint: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        resolve_agent(None, {}, cwd, home, known=lambda: known)
    assert caught.value.hint == f"{hint}, `memanto agent create NAME` makes another"


def test_a_wrong_agent_id_is_refused_by_where_it_stands(home: Path, cwd: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"'\.\./x'"):
        resolve_agent("../x", {}, cwd, home)
    with pytest.raises(ConfigurationError, match="MEMANTO_AGENT"):
        resolve_agent(None, {"MEMANTO_AGENT": "a/b"}, cwd, home)
    (cwd / PROJECT_FILE).write_text("agent = 5\n")
    with pytest.raises(ConfigurationError, match="project file"):
        resolve_agent(None, {}, cwd, home)


def test_the_active_agent_is_kept_privately_and_can_be_left(home: Path) -> None:
    assert active(home) is None
    activate(home, "one")
    activate(home, "Two.2")
    assert active(home) == "Two.2"
    assert stat.S_IMODE((home / "active").stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    with pytest.raises(InvalidInputError):
        activate(home, "no/such")
    assert active(home) == "Two.2"
    deactivate(home)
    deactivate(home)
    assert active(home) is None


@pytest.mark.parametrize("damage", [b"", b"two words\n", b"\xff", b"one\ntwo\n"])
def test_a_damaged_marker_of_the_active_agent_is_refused_by_name(home: Path, damage: bytes) -> None:
    home.mkdir()
    (home / "active").write_bytes(damage)
    with pytest.raises(ConfigurationError, match="active") as caught:
        active(home)
    assert "memanto agent activate" in caught.value.hint


def test_loading_settings_imports_nothing_heavy(home: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from memanto.config import load_settings; import memanto.agents;"
        "load_settings({'MEMANTO_HOME': sys.argv[1]}, Path(sys.argv[1]).parent);"
        "sys.exit(bool({'platformdirs', 'tomlkit', 'tomllib', 'tempfile', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script, str(home)], check=False, env=dict(os.environ))
    assert done.returncode == 0
