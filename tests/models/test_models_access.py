"""Addresses as they are shown, and keys that are only ever sent."""

from __future__ import annotations

import pytest

from memassay.core.errors import EnvironmentProblem, MissingExtra, UsageError
from memassay.models.access import NO_KEY, Access, shown, version_of

OFFICIAL = "https://api.example.com/v1"


def access(base_url: str | None = None) -> Access:
    return Access(base_url, "PROVIDER_BASE_URL", OFFICIAL, "PROVIDER_KEY")


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PROVIDER_BASE_URL", "PROVIDER_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_the_address_is_the_setting_then_the_variable_then_the_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert access().shown == OFFICIAL and access().is_official
    monkeypatch.setenv("PROVIDER_BASE_URL", "https://gateway.example.org/")
    assert access().shown == "https://gateway.example.org" and not access().is_official
    assert access("http://127.0.0.1:8000/v1").shown == "http://127.0.0.1:8000/v1"


def test_login_query_and_fragment_are_not_shown() -> None:
    assert shown("https://me:secret@host.example:8443/v1/?token=secret#secret") == "https://host.example:8443/v1"
    assert shown("http://[::1]:8000/v1") == "http://[::1]:8000/v1"


@pytest.mark.parametrize("address", ["localhost:8000", "ftp://host/x", "http://", "nonsense"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="base_url must be an address"):
        access(address)


def test_a_refused_address_does_not_show_its_login() -> None:
    with pytest.raises(UsageError) as error:
        access("ftp://me:secret@host/x")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:1/v1", "http://localhost:1", "http://[::1]:1", "http://127.9.9.9"]
)
def test_an_address_on_this_machine_needs_no_key(address: str) -> None:
    assert access(address).is_loopback and access(address).key() == NO_KEY


@pytest.mark.parametrize(
    "address", [OFFICIAL, "http://10.0.0.1", "http://localhost.example.com", "http://127.0.0.1.x.y"]
)
def test_any_other_does_and_the_message_names_the_variable(address: str) -> None:
    with pytest.raises(EnvironmentProblem, match="set the variable PROVIDER_KEY"):
        access(address).key()


def test_a_key_that_is_repeated_is_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVIDER_KEY", ' sk-"quoted"-123 ')
    here = access()
    assert here.key() == 'sk-"quoted"-123'
    given = {"error": ['wrong key sk-"quoted"-123.', {'sk-"quoted"-123': 1}], "n": 2, "text": "é"}
    clean = {"error": ["wrong key [PROVIDER_KEY].", {"[PROVIDER_KEY]": 1}], "n": 2, "text": "é"}
    assert here.without_key(given) == clean
    assert here.without_key('x sk-"quoted"-123') == "x [PROVIDER_KEY]"
    assert here.without_key(None) is None


def test_a_missing_package_names_its_extra() -> None:
    with pytest.raises(MissingExtra, match=r"no-such-package is not installed; run: pip install 'memassay\[local\]'"):
        version_of("no_such_package", "local", "no-such-package")
    assert version_of("pytest", "none") == pytest.__version__
