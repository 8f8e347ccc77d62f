"""The memory ``platform``: a review queue, shared knowledge and a warehouse behind tools."""

from __future__ import annotations

import importlib.util
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import JsonValue, ValidationError

from memassay.core.contracts import BuildContext
from memassay.core.digest import digest_file, digest_of
from memassay.core.errors import CannotMeasure, MemoryFailure, MissingExtra, UsageError
from memassay.core.types import Corpus, Frozen, StoreRef
from memassay.memories.folder import damaged, seal, unseal
from memassay.platform.settings import Settings
from memassay.platform.shapes import Entity
from memassay.retrieval.embedders import embedder as embedder_of

NAME = "platform"
WAREHOUSE, SEED = "warehouse.sqlite", "seed.json"
_NEEDED = ("mcp", "uvicorn", "starlette", "anyio")


class Seed(Frozen):
    """What a workspace begins with, beside its warehouse; ``settings`` are those that the warehouse asks for."""

    settings: Mapping[str, JsonValue]
    entities: tuple[Entity, ...]


class PlatformMemory:
    """A memory platform: the one that memassay carries, or with ``url`` another that keeps to the same wire contract.

    Args:
        gate: warehouse queries are refused until the user has searched.
        push: results that name an entity carry what is known about it.
        push_scope: whose records are pushed: everybody's with the caller's persona, or the caller's own.
        shared_applied: whether search shows everybody's applied insights.
        page_sink: whether insights can be applied to pages, and search shows pages.
        entity_sink: whether insights can be applied to entities, and results push descriptions.
        description_ttl_s: how long a pushed description may be old; 0 is never.
        supersede: cosine from which a new record of the same owner replaces an old one.
        similar: cosine from which a record is reported as similar.
        supersede_same_class: a new record only replaces one of its own type that shares an entity with it.
        embedder: what turns texts into vectors; ``none`` switches supersede off and search to words.
        reviewer_tools: whether those who are no reviewers may use ``apply_knowledge``.
        duplicate_page: cosine from which a new page is refused as a near-duplicate.
        purpose: whether reading tools need a purpose.
        session_hours: how long a session handle lives.
        discovery_minutes: how long a search opens the gate.
        stale_days: after how many days without a change a record is stale.
        faults: faults on purpose, by the names of :class:`memassay.platform.settings.Faults`.
        url: of another platform, where its tools are served; its knobs are its own.
        key_env: the variable with the key of its pool's admin, ``KEY``; agents have ``KEY-001`` ….
        first: the number of its pool from which agents are taken.

    Attributes:
        access: what an agent gets of it.

    Raises:
        UsageError: a setting cannot be.
        CannotMeasure: a package is missing.
    """

    access: tuple[str, ...] = ("tools",)

    def __init__(
        self,
        *,
        gate: bool = True,
        push: bool = True,
        push_scope: Literal["persona", "owner"] = "persona",
        shared_applied: bool = True,
        page_sink: bool = True,
        entity_sink: bool = True,
        description_ttl_s: float = 300.0,
        supersede: float = 0.90,
        similar: float = 0.75,
        supersede_same_class: bool = False,
        embedder: Literal["minilm", "e5", "hash", "none"] = "minilm",
        reviewer_tools: bool = True,
        duplicate_page: float = 0.85,
        purpose: bool = True,
        session_hours: float = 8.0,
        discovery_minutes: float = 30.0,
        stale_days: float = 90.0,
        faults: dict[str, JsonValue] | None = None,
        url: str = "",
        key_env: str = "",
        first: int = 1,
    ) -> None:
        knobs = {name: value for name, value in locals().items() if name in Settings.model_fields}
        try:
            # A store is a scratch folder: it need not survive a power failure.
            self._settings = Settings.model_validate({**knobs, "faults": faults or {}, "durable": False})
        except ValidationError as error:
            first_fault = error.errors()[0]
            place = ".".join(str(part) for part in first_fault["loc"])
            raise UsageError(f"Setting {place} cannot be {first_fault['input']!r}: {first_fault['msg']}.") from None
        if bool(url) != bool(key_env):
            raise UsageError("A platform of yours needs both url and key_env, the variable that holds its key.")
        if url and self._settings != Settings(durable=False):
            raise UsageError("With url the knobs are the platform's own; leave all but url, key_env and first out.")
        if first < 1:
            raise UsageError(f"Setting first must be a whole number of at least 1, not {first!r}.")
        self._url, self._key_env, self._first = url.rstrip("/"), key_env, first
        missing = next((name for name in _NEEDED if importlib.util.find_spec(name) is None), None)
        if missing is not None:
            raise CannotMeasure(str(MissingExtra(missing, NAME)))
        if not url and embedder != "none":
            try:
                embedder_of(embedder)
            except MissingExtra as error:
                raise CannotMeasure(str(error)) from error

    def identity(self) -> Mapping[str, JsonValue]:
        """The code of the embedded platform and its embedder; of another platform its address."""
        if self._url:
            return {"url": self._url}
        made = None if self._settings.embedder == "none" else embedder_of(self._settings.embedder).digest
        return {"platform": _code(), "embedder": made}

    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Mapping[str, Any]:
        """Write what a workspace begins with: a warehouse, a catalogue, and settings. Nobody has taught anything.

        Raises:
            CannotMeasure: the corpus holds documents for reading; a platform keeps what agents are told. Or the
                variable with the key of another platform is not set.
            MemoryFailure: another platform cannot be reached.
        """
        native = corpus.native
        if corpus.documents or not all(hasattr(native, name) for name in ("warehouse", "entities", "settings")):
            raise CannotMeasure(
                "platform keeps what agents are told and reads no documents; the suite lifecycle measures it"
            )
        files = [place / SEED]
        if native.warehouse is not None:
            native.warehouse.write(place / WAREHOUSE)
            files.append(place / WAREHOUSE)
        seed = Seed(settings=native.settings, entities=tuple(native.entities))
        (place / SEED).write_text(f"{seed.model_dump_json(indent=1)}\n", encoding="utf-8", newline="\n")
        seal(place, NAME, {}, files)
        context.progress(1, 1)
        facts = {"entities": len(native.entities), "address": self._url or "embedded"}
        seen = self._fingerprint() if self._url else {}
        return {"passages": None, "facts": {**facts, **seen}}

    def open(self, ref: StoreRef) -> Any:
        """A store of its own: an empty workspace, or new identities of another platform.

        Raises:
            CannotMeasure: the variable with the key is not set.
        """
        from memassay.memories.platform import embedded
        from memassay.memories.platform.store import EmbeddedStore

        if self._url:
            return self._elsewhere()
        place = Path(ref.location)
        try:
            place = unseal(ref, NAME, {})
            seed = Seed.model_validate_json((place / SEED).read_bytes())
        except (OSError, ValidationError) as error:
            raise damaged(place, f"{SEED} cannot be read ({type(error).__name__})") from error
        warehouse = place.absolute() / WAREHOUSE
        wanted = {
            "settings": self._settings.model_copy(update=dict(seed.settings)).model_dump(mode="json"),
            "warehouse": str(warehouse) if warehouse.is_file() else None,
            "entities": [entity.model_dump(mode="json") for entity in seed.entities],
        }
        embedded.use()
        return EmbeddedStore(wanted, secrets.token_hex(16))

    def _key(self) -> str:
        key = os.environ.get(self._key_env, "")
        if not key:
            raise CannotMeasure(f"the variable {self._key_env} is not set; it must hold the platform's key")
        return key

    def _fingerprint(self) -> Mapping[str, str]:
        """Of a platform whose settings nobody tells: what can be seen of it."""
        from memassay.memories.platform.client import PlatformClient

        with PlatformClient(self._url, self._key()) as admin:
            return admin.fingerprint()

    def _elsewhere(self) -> Any:
        from memassay.memories.platform import embedded
        from memassay.memories.platform.client import INSIGHTS, PlatformClient
        from memassay.memories.platform.people import People, email_of, shared_numbers
        from memassay.memories.platform.store import PlatformStore

        key = self._key()

        def untouched(number: int) -> bool:
            """Whether somebody of the pool has kept nothing; who only looked at things is as good as new."""
            email = email_of(number)
            with PlatformClient(self._url, key) as admin, PlatformClient(self._url, people.key(email)) as own:
                try:
                    if admin.ask("GET", INSIGHTS, captured_by=email, per_page=1)["total"]:
                        return False
                    return next(own.notes(email), None) is None
                except MemoryFailure as problem:
                    raise CannotMeasure(f"the platform's pool has no agent {number}: {problem}") from problem

        people = People(key, shared_numbers(self._url, self._first, untouched))
        embedded.use()
        return PlatformStore(lambda: self._url, key, people)


def _code() -> str:
    """Twelve digits over the embedded platform's source: no other version of it is the same memory."""
    import memassay.platform

    root = Path(memassay.platform.__file__).parent
    files = sorted(path for path in root.rglob("*") if path.suffix == ".py")
    return digest_of([[path.relative_to(root).as_posix(), digest_file(path)] for path in files])[:12]
