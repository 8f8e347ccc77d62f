"""Whatever happens, a learner who must not see unpromoted facts never does, and a small model agrees."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from platform_kit import Bench, hits

from memassay.platform.errors import PlatformError
from memassay.platform.shapes import Caller, Entity

URNS = tuple(f"urn:li:dataset:{name}" for name in ("orders", "customers"))
WORDS = ("zorblat", "quibber", "flonk", "marvet", "drisk", "plimby")
PEOPLE = ("teacher", "learner", "third")


@dataclass
class Known:
    """A record as the model has it."""

    id: str
    owner: str
    text: str
    urn: str
    insight: bool
    status: str
    pages: list[str] = field(default_factory=list)


class Isolation(RuleBasedStateMachine):
    """Rules act on the platform and on a list of records; the invariants look through everybody's eyes."""

    options: ClassVar[dict[str, Any]] = {}

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.bench = Bench(self.folder / "w", supersede=0.8, description_ttl_s=0, **self.options)
        self.platform = self.bench.platform
        self.platform.put_entities(Entity(urn=urn, name=urn) for urn in URNS)
        self.records: list[Known] = []
        self.told = 0
        # Something to review, promote and roll back from the start.
        for owner, word in zip(PEOPLE, WORDS, strict=False):
            self.capture(owner, word, URNS[0], "business_knowledge", False)
            self.capture(owner, word, URNS[1], "episodic_event", False)

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.platform.close()
            shutil.rmtree(self.folder)

    def who(self, name: str) -> Caller:
        return getattr(self.bench, name)

    @rule(
        owner=st.sampled_from(PEOPLE),
        word=st.sampled_from(WORDS),
        urn=st.sampled_from(URNS),
        kind=st.sampled_from(["business_knowledge", "operational_rule", "personal_preference", "episodic_event"]),
        again=st.booleans(),
    )
    def capture(self, owner: str, word: str, urn: str, kind: str, again: bool) -> None:
        self.told += 1
        text = f"{word} {word} {word} is what {owner} means by it."
        fresh = f" Version v{self.told} t{self.told} u{self.told} w{self.told} x{self.told}."
        text += " The first wording." if again else fresh
        made = self.bench.capture(text, urn, who=self.who(owner), type=kind)
        for record in self.records:
            if record.id in made.superseded_ids:
                assert (record.owner, record.urn) == (owner, urn)
                assert self.live(record)
                record.status = "superseded"
        insight = kind in ("business_knowledge", "operational_rule")
        self.records.append(Known(made.id, owner, text, urn, insight, "pending" if insight else "active"))

    @rule(data=st.data(), approve=st.booleans())
    def review(self, data: st.DataObject, approve: bool) -> None:
        record = self.pick(data, insight=True)
        if record is None:
            return
        allowed = {"pending": True, "approved": not approve}.get(record.status, False)
        act = self.platform.knowledge_approve if approve else self.platform.knowledge_reject
        if self.done(lambda: act(self.bench.reviewer, [record.id]), allowed):
            record.status = "approved" if approve else "rejected"

    @rule(data=st.data(), page=st.booleans())
    def promote(self, data: st.DataObject, page: bool) -> None:
        record = self.pick(data, insight=True)
        if record is None:
            return
        allowed = record.status in ("pending", "approved")
        if page:
            slug = f"page-{record.id}-{len(record.pages)}"
            act = lambda: self.bench.publish(record.id, record.text, slug=slug, force_new=True)  # noqa: E731
        else:
            act = lambda: self.bench.describe(record.id, record.text, entity_urn=record.urn)  # noqa: E731
        if self.done(act, allowed):
            record.status = "applied"
            record.pages.append(record.text)

    @rule(data=st.data())
    def roll_back(self, data: st.DataObject) -> None:
        live = [one for one in self.platform.list_changesets(self.bench.admin).data if not one.rolled_back]
        if not live:
            return
        change = data.draw(st.sampled_from(live))
        try:
            result = self.platform.rollback_changeset(self.bench.admin, change.id)
        except PlatformError as problem:
            assert problem.code == "conflict"
            return
        for record in self.records:
            if record.id in change.source_insight_ids:
                record.pages.remove(record.text)
                assert (record.id in result.insights_rolled_back) == (record.status == "applied")
                if record.status == "applied":
                    record.status = "pending"

    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        record = self.pick(data)
        if record is not None and self.done(
            lambda: self.platform.memory_forget(self.who(record.owner), record.id), self.live(record)
        ):
            record.status = "rejected" if record.insight else "archived"

    @rule(data=st.data())
    def consolidate(self, data: st.DataObject) -> None:
        keep, gone = self.pick(data), self.pick(data)
        if keep is None or gone is None:
            return
        allowed = keep is not gone and keep.owner == gone.owner and self.live(keep) and self.live(gone)
        act = lambda: self.platform.memory_consolidate(self.who(keep.owner), keep.id, gone.id)  # noqa: E731
        if self.done(act, allowed):
            gone.status = "superseded"

    @rule()
    def restart(self) -> None:
        """The process ends and another opens the file; handles stay good."""
        self.platform.close()
        self.platform = type(self.platform)(self.bench.folder, self.platform.settings, clock=self.bench.clock)
        self.bench.platform = self.platform

    @invariant()
    def everybody_sees_what_is_theirs_and_what_is_shared(self) -> None:
        if not hasattr(self, "records"):
            return
        shared = self.platform.settings.shared_applied
        for name in PEOPLE:
            own = {one.id for one in self.records if one.owner == name and one.insight and self.live(one)}
            notes = {one.id for one in self.records if one.owner == name and not one.insight and self.live(one)}
            applied = {one.id for one in self.records if one.status == "applied"} if shared else set()
            browsed = self.platform.search(self.who(name), limit=50)
            assert {hit.ref for hit in hits(browsed, "insights")} == own | applied or len(hits(browsed)) == 50
            assert {hit.ref for hit in hits(browsed, "memory")} == notes or len(hits(browsed)) == 50
            found = self.platform.search(self.who(name), "What is zorblat?", limit=50)
            assert {hit.ref for hit in hits(found, "insights")} <= own | applied
            assert {hit.ref for hit in hits(found, "memory")} <= notes

    @invariant()
    def nothing_that_waits_reaches_anybody_else(self) -> None:
        """Through no channel: search, fetch, push, pages, descriptions, the tools for reviewers."""
        if not hasattr(self, "records"):
            return
        public = {text for one in self.records for text in (*one.pages, one.text if one.status == "applied" else "")}
        waiting = [one for one in self.records if one.insight and one.text not in public]
        for record in waiting[-2:]:
            for name in PEOPLE:
                if name == record.owner or any(one.text == record.text and one.owner == name for one in self.records):
                    continue
                who = self.who(name)
                assert not self.platform.fetch(who, f"mcp:insight:{record.id}").found
                seen = [
                    self.platform.search(who, record.text, limit=50).model_dump_json(),
                    self.platform.datahub_get_entity(who, record.urn).model_dump_json(),
                ]
                queue = [
                    self.platform.knowledge_bulk_review(who, itemize=True, limit=100).model_dump_json(),
                    self.platform.knowledge_review(who, record.urn).model_dump_json(),
                    self.platform.knowledge_synthesize(who, record.urn).model_dump_json(),
                ]
                assert not any(record.text in one for one in queue)
                with pytest.raises(PlatformError):
                    self.platform.knowledge_synthesize(who, record.urn, [record.id])
                leaked = [one for one in seen if record.text in one]
                notes = any(one.text == record.text and not one.insight for one in self.records)
                assert not leaked or (notes and self.platform.settings.push_scope == "persona")

    @invariant()
    def notes_are_pushed_to_nobody_else_where_that_is_forbidden(self) -> None:
        if not hasattr(self, "records") or self.platform.settings.push_scope == "persona":
            return
        for note in [one for one in self.records if not one.insight][-2:]:
            for name in PEOPLE:
                if not any(one.text == note.text and (one.insight or one.owner == name) for one in self.records):
                    assert note.text not in self.platform.datahub_get_entity(self.who(name), note.urn).model_dump_json()

    @invariant()
    def the_file_and_the_model_agree(self) -> None:
        if hasattr(self, "records"):
            insights = {one.id: one.status for one in self.records if one.insight}
            listed = self.platform.list_insights(self.bench.admin, per_page=100).data
            assert {one.id: one.status for one in listed} == insights

    @staticmethod
    def live(record: Known) -> bool:
        return record.status in ("pending", "approved", "applied", "active")

    def pick(self, data: st.DataObject, insight: bool = False) -> Known | None:
        some = [one for one in self.records if one.insight or not insight]
        return data.draw(st.sampled_from(some)) if some else None

    @staticmethod
    def done(act: Any, allowed: bool) -> bool:
        try:
            act()
        except PlatformError as problem:
            assert problem.code in ("conflict", "not_found", "invalid")
            assert not allowed
            return False
        assert allowed
        return True


class Strict(Isolation):
    """Nothing of others but what was applied, not even by push."""

    options: ClassVar[dict[str, Any]] = {"push_scope": "owner", "shared_applied": False}


class Long(Isolation):
    """The same for longer."""


class LongStrict(Strict):
    """The same for longer."""


for short in (Isolation, Strict):
    short.TestCase.settings = settings(max_examples=10, stateful_step_count=14)
for long in (Long, LongStrict):
    long.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestIsolation = Isolation.TestCase
TestStrict = Strict.TestCase
TestLong = pytest.mark.slow(Long.TestCase)
TestLongStrict = pytest.mark.slow(LongStrict.TestCase)
