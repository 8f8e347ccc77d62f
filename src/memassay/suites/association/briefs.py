"""What an agent is told before a question of ``association``, by how it reaches the world.

``instructions(access, memory, brief=True) -> str``. A brief is a short account of what the form holds with one worked
example per kind of question; its keys and values are made up. The published study gave one to the graph alone.
"""

from __future__ import annotations

from collections.abc import Sequence

_TASK = (
    "You answer questions about a small world of talents, companies and jobs. Rules link a talent to a company or a "
    "job; links are not written down anywhere, they hold as long as the rule's condition does. The world changed from "
    "day to day, and a question says which day it is about. {reach} Answer in the form that the question asks for."
)
_REACH = {
    "dossier": "The message gives you what the memory found for this question.",
    "tools": "Your tools answer from the world.",
    "folder": "Your working folder holds the world or a description of it: read README.md first.",
}
_FACTS = """
What there is: Talent (talent-000000 and on), Company and Job, each with name, status, industry, specialties,
design_styles, size_bucket, location; a talent has years_of_experience too. Six types of relationship lead from a
talent: INDUSTRY_ALIGNMENT (equal industry; company or job), SPECIALTY_MATCH (shared specialties; company or job),
LOCATION_FIT (within 160.9 km; company or job), SIMILAR_SIZE (size buckets at most 1 apart; company),
SIMILAR_SIZE_STRICT (equal size buckets; company), MATCHES_DESIGN_STYLE (shared design styles; company). The role
recruiter sees Talent and Job, the role client Company and Job.
"""
_EXAMPLES = {
    "graph": """
One call for each kind of question:
- why two are related: explain_association(a="talent-900001", b="company-900002") names every type and what is shared.
- companies that several relationships lead to at once: query(cypher="MATCH (t:Talent)-[:LOCATION_FIT]->(c:Company)
  MATCH (t)-[:SPECIALTY_MATCH]->(c) WHERE t.status = 'published' AND t.years_of_experience >= 12
  WITH key(c) AS company, count(t) AS n WHERE n >= 5 RETURN company, n"); begin with the rarest relationship.
- what if a field changed: what_if(key="company-900002", field="size_bucket", value=4) lists what would be lost and
  gained; node_edges(key="company-900002", all_of=[...], limit=2000) lists who is linked now.
- another day: edges_at(key="talent-900001", at="2026-06-30", all_of=["INDUSTRY_ALIGNMENT", "SPECIALTY_MATCH"],
  label="Company", limit=2000); a date is understood as it is.
- what a role may see: query(cypher=..., role="client").
""",
    "sqlite": """
One way for each kind of question; world.sqlite has the tables talent, company, job (the first day), changes and roles:
- the state of a day: take the three tables and apply the rows of changes with day <= D in the order of seq (set_prop
  sets field to value_json, insert_node adds node_json, delete_node removes). Every question but one about a date asks
  for the last day, 89.
- why two are related: select both rows of that state and test the six conditions; shared specialties with
  SELECT value FROM json_each(a.specialties_json) INTERSECT SELECT value FROM json_each(b.specialties_json).
- companies that several relationships lead to at once: join talents to companies on all conditions, GROUP BY the
  company's key, HAVING count(*) >= N.
- what if a field changed: list who is linked by all types now, then again with the new value, and subtract.
- another day: SELECT day FROM changes WHERE date <= '2026-06-30' ORDER BY seq DESC LIMIT 1 gives D.
- what a role may see: SELECT labels_json FROM roles WHERE name = 'client'; leave out every other label.
""",
    "json-files": """
One way for each kind of question; entities/*.json hold the first day, changes.jsonl what came after, roles.json the
roles:
- the state of a day: load the three files by key, then apply the lines of changes.jsonl with day <= D in order
  (set_prop sets field to value, insert_node adds node, delete_node removes). Every question but one about a date asks
  for the last day, 89.
- why two are related: look at both entries of that state and test the six conditions; shared specialties are
  set(a["specialties"]) & set(b["specialties"]).
- companies that several relationships lead to at once: for every company count the talents for which all conditions
  hold, and keep those with enough of them.
- what if a field changed: list who is linked by all types now, then again with the new value, and subtract.
- another day: apply only the lines with date <= "2026-06-30".
- what a role may see: roles.json names the labels of a role; leave out every other label.
""",
}


def instructions(access: Sequence[str], memory: str, *, brief: bool) -> str:
    """The instructions for an arm.

    Args:
        access: how its agent reaches the world.
        memory: the arm's memory; one that is no form of ours has no worked examples.
        brief: whether facts and worked examples follow.
    """
    text = _TASK.format(reach=" ".join(_REACH[part] for part in _REACH if part in access))
    if brief and memory in _EXAMPLES:
        text = f"{text}\n{_FACTS}{_EXAMPLES[memory]}"
    return text.strip()
