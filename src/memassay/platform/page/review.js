"use strict";
// The reviewer's page. Whatever was captured is untrusted: it enters the page as text, never as markup.

const API = new URL("api/v1/", document.baseURI).href;
const STORED = "memassay-key " + API;
const PER_PAGE = 50;

const at = id => document.getElementById(id);
let key = sessionStorage.getItem(STORED) || "";
let me = null;
let part = "pending";
let page = 1;
let turn = 0; // of the newest list that was asked for: an older answer comes too late

// -- what the page is made of

function make(tag, about = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(about)) {
    if (name === "class") node.className = value;
    else if (name === "on") for (const [event, does] of Object.entries(value)) node.addEventListener(event, does);
    else if (name in node) node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.filter(child => child !== null));
  return node;
}

const quiet = text => make("p", { class: "quiet", textContent: text });
const when = time => (time ? time.slice(0, 16).replace("T", " ") + " UTC" : "");

function say(text, kind = "good") {
  at("said").textContent = text;
  at("said").className = kind;
}

function button(text, does, kind = "") {
  const node = make("button", { type: "button", class: kind, textContent: text });
  node.addEventListener("click", async () => {
    node.disabled = true;
    try {
      await does(node);
    } catch (problem) {
      say(problem.message, "failed");
    }
    node.disabled = false;
  });
  return node;
}

// A button that must be pressed twice for what cannot be taken back.
function sure(text, does) {
  let asked = false;
  return button(text, async node => {
    if (asked) return does();
    asked = true;
    node.textContent = "Yes, " + text.toLowerCase();
  }, "bad");
}

let fields = 0;

function field(form, text, value = "", long = false) {
  const id = "field-" + (fields += 1);
  const input = make(long ? "textarea" : "input", { id, value });
  form.append(make("label", { textContent: text, htmlFor: id }), input);
  return input;
}

// -- the interface

async function ask(path, method = "GET", body = undefined) {
  const headers = { Authorization: "Bearer " + key };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let reply;
  try {
    reply = await fetch(API + path, { method, headers, body: JSON.stringify(body) });
  } catch {
    throw new Error("The platform cannot be reached.");
  }
  const said = await reply.json();
  if (reply.ok) return said;
  if (reply.status === 401) leave();
  throw new Error([said.detail, said.hint].filter(Boolean).join(" "));
}

const query = fields => new URLSearchParams(fields).toString();

// -- signing in

async function enter() {
  try {
    me = await ask("memassay/me");
  } catch (problem) {
    leave();
    say(problem.message, "failed");
    return;
  }
  const reviews = me.roles.includes("reviewer") || me.roles.includes("admin");
  if (!reviews) {
    leave();
    say("This key is an agent's; a reviewer's is needed.", "failed");
    return;
  }
  sessionStorage.setItem(STORED, key);
  at("who").textContent = me.name + " (" + me.roles.join(", ") + ")";
  document.querySelector("[data-part=audit]").hidden = !me.roles.includes("admin");
  at("enter").hidden = true;
  at("desk").hidden = at("leave").hidden = false;
  say("");
  await show("pending");
}

function leave() {
  sessionStorage.removeItem(STORED);
  key = "";
  me = null;
  turn += 1;
  at("list").replaceChildren();
  at("who").textContent = "";
  at("desk").hidden = at("leave").hidden = at("more").hidden = true;
  at("enter").hidden = false;
  at("key").focus();
}

// -- lists

const PARTS = {
  pending: [p => "admin/knowledge/insights?" + query({ status: "pending", order: "oldest", page: p, per_page: PER_PAGE }),
    insight, "Nothing waits for a review."],
  approved: [p => "admin/knowledge/insights?" + query({ status: "approved", order: "oldest", page: p, per_page: PER_PAGE }),
    insight, "Nothing is approved and not yet applied."],
  changes: [p => "admin/knowledge/changesets?" + query({ page: p, per_page: PER_PAGE }),
    changeset, "Nothing has been applied yet."],
  audit: [p => "admin/audit/events?" + query({ page: p, per_page: PER_PAGE }), event, "No calls yet."],
};

async function show(name) {
  if (name !== part) at("list").replaceChildren();
  part = name;
  page = 1;
  for (const node of document.querySelectorAll("nav button")) {
    if (node.dataset.part === name) node.setAttribute("aria-current", "page");
    else node.removeAttribute("aria-current");
  }
  await Promise.all([load(), count()]);
}

async function load() {
  const mine = (turn += 1);
  const [path, draw, empty] = PARTS[part];
  const found = await ask(path(page));
  if (mine !== turn) return;
  if (page === 1) at("list").replaceChildren();
  if (found.total === 0) at("list").append(quiet(empty));
  else if (part === "audit") table().append(...found.data.map(draw));
  else at("list").append(...found.data.map(draw));
  at("more").hidden = found.page * found.per_page >= found.total;
}

async function count() {
  const { by_status: number } = await ask("admin/knowledge/insights/stats");
  for (const name of ["pending", "approved"])
    document.querySelector(`[data-part=${name}] .count`).textContent = "(" + (number[name] || 0) + ")";
}

async function done(text) {
  await show(part);
  say(text);
}

// -- insights

function insight(one) {
  const card = make("article", {},
    make("p", { class: "text", textContent: one.insight_text }),
    make("div", {}, ...[one.sink_class, one.category, one.confidence + " confidence"].map(
      text => make("span", { class: "tag", textContent: text.replaceAll("_", " ") }))),
    quiet(one.captured_by + ", " + when(one.created_at)),
    ...one.entity_urns.map(quiet),
    one.review_notes ? quiet("Notes: " + one.review_notes) : null);
  const form = make("div", { class: "form" });
  const buttons = make("div", { class: "buttons" });
  const status = (value, text) => async () => {
    await ask("admin/knowledge/insights/" + one.id + "/status", "PUT", { status: value, review_notes: notes.value });
    await done(text);
  };
  const notes = field(form, "Notes");
  if (one.status === "pending") buttons.append(button("Approve", status("approved", "Approved."), "main"));
  else buttons.append(button("Apply…", async node => {
    form.replaceChildren();
    buttons.replaceChildren();
    await applying(one, form, buttons);
  }, "main"));
  buttons.append(sure("Reject", status("rejected", "Rejected.")));
  if (me.roles.includes("admin")) buttons.append(button("History", async node => {
    node.remove();
    card.append(await history(one.id));
  }));
  card.append(form, buttons);
  return card;
}

async function history(id) {
  const found = await ask("memassay/history?" + query({ record_id: id, per_page: 500 }));
  return make("ul", { class: "events" }, ...found.data.map(it => make("li", {
    textContent: [when(it.at), it.route, "by " + it.by, (it.from_status || "new") + " → " + it.to_status,
      it.other_id ? "by record " + it.other_id : "", it.score === null ? "" : "score " + it.score.toFixed(3), it.notes]
      .filter(Boolean).join(" · "),
  })));
}

// -- applying

async function applying(one, form, buttons) {
  const group = "sink-" + one.id;
  const choice = (value, text) => {
    const radio = make("input", { type: "radio", name: group, value });
    form.append(make("label", { class: "choice" }, radio, text));
    return radio;
  };
  const toEntity = choice("datahub", "Description of an entity");
  const toPage = choice("knowledge_page", "Page");
  const inner = make("div");
  form.append(inner);
  let body = null;
  const entity = async () => {
    inner.replaceChildren();
    const urn = field(inner, "Entity", one.entity_urns[0] || "");
    const was = quiet("");
    inner.append(was);
    const text = field(inner, "New description", "", true);
    body = () => ({ sink: "datahub", entity_urn: urn.value,
      changes: [{ change_type: "update_description", detail: text.value }] });
    let offered = "";
    const look = async () => {
      let now = "";
      try {
        now = (await ask("memassay/entity?" + query({ urn: urn.value }))).description;
        was.textContent = now ? "Now: " + now : "It has no description now.";
      } catch (problem) {
        was.textContent = problem.message;
      }
      if (text.value !== offered) return; // the reviewer has begun to write
      offered = text.value = now ? now + "\n" + one.insight_text : one.insight_text;
    };
    urn.addEventListener("change", look);
    await look();
  };
  const paper = () => {
    inner.replaceChildren();
    const slug = field(inner, "Slug: a-z, 0-9 and -; a page that has it gets a new version");
    const title = field(inner, "Title");
    const summary = field(inner, "Summary", one.insight_text);
    const text = field(inner, "Body", one.insight_text, true);
    const anyway = make("input", { type: "checkbox" });
    inner.append(make("label", { class: "choice" }, anyway, "Even if a page says nearly the same"));
    body = () => ({ sink: "knowledge_page", page: { slug: slug.value, title: title.value, summary: summary.value,
      body: text.value, force_new: anyway.checked } });
  };
  toEntity.addEventListener("change", entity);
  toPage.addEventListener("change", paper);
  buttons.append(
    button("Apply", async () => {
      const result = await ask("memassay/apply", "POST", { ...body(), insight_ids: [one.id] });
      if (result.status !== "applied") throw new Error(result.message);
      await done(result.message);
    }, "main"),
    button("Cancel", () => show(part)));
  toEntity.checked = true;
  await entity();
}

// -- changes

function changeset(one) {
  const names = [...new Set([...Object.keys(one.previous_value), ...Object.keys(one.new_value)])].sort();
  const text = value => (typeof value === "string" ? value : JSON.stringify(value));
  const card = make("article", {},
    make("h2", { textContent: one.change_type.replaceAll("_", " ") }),
    quiet(one.target_urn),
    quiet("applied by " + one.applied_by + ", " + when(one.created_at)));
  for (const name of names) {
    const [was, is] = [one.previous_value[name], one.new_value[name]];
    if (text(was) === text(is)) continue;
    card.append(quiet(name));
    if (was !== undefined && was !== null && was !== "") card.append(make("p", { class: "was", textContent: text(was) }));
    if (is !== undefined && is !== null && is !== "") card.append(make("p", { class: "is", textContent: text(is) }));
  }
  card.append(quiet(one.source_insight_ids.length + " insight(s): " + one.source_insight_ids.join(", ")));
  if (one.rolled_back) card.append(quiet("rolled back by " + one.rolled_back_by + ", " + when(one.rolled_back_at)));
  else card.append(make("div", { class: "buttons" }, sure("Roll back", async () => {
    await ask("admin/knowledge/changesets/" + one.id + "/rollback", "POST");
    await done("Rolled back; the insights are pending again.");
  })));
  return card;
}

// -- audit

function table() {
  let body = at("list").querySelector("tbody");
  if (body === null) {
    body = make("tbody");
    const head = make("tr", {}, ...["Time", "Who", "Call", "ms", "Result"].map(text => make("th", { textContent: text })));
    at("list").append(make("div", { class: "scroll" }, make("table", {}, make("thead", {}, head), body)));
  }
  return body;
}

function event(one) {
  return make("tr", { class: one.success ? "" : "failed" },
    make("td", { class: "time", textContent: when(one.timestamp) }),
    make("td", { textContent: one.user_id }),
    make("td", { textContent: one.tool_name }),
    make("td", { textContent: one.duration_ms.toFixed(1) }),
    make("td", { textContent: one.success ? "ok" : one.error_message || "failed" }));
}

// -- begin

at("enter").addEventListener("submit", event => {
  event.preventDefault();
  key = at("key").value.trim();
  at("key").value = "";
  enter();
});
at("leave").addEventListener("click", () => {
  leave();
  say("");
});
at("more").addEventListener("click", async () => {
  page += 1;
  try {
    await load();
  } catch (problem) {
    say(problem.message, "failed");
  }
});
for (const node of document.querySelectorAll("nav button"))
  node.addEventListener("click", () => {
    say("");
    show(node.dataset.part).catch(problem => say(problem.message, "failed"));
  });
if (key) enter();
else leave();
