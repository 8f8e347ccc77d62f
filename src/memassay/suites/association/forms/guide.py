"""``README.md``, which stands in every form: the same body, and a closing section on what is particular to the form.

It is what an agent knows of the world, so it says all that a question may need and nothing of the questions.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_BODY = """\
# A marketplace of talents, companies and jobs

Three labels of entities, their state on one day, and every change of the 89 days after it. Which entities are linked
is not written down entity by entity: it follows from their fields by the nine rules below, on every day anew.

## Entities

A key is the label and six digits: `talent-000012`, `company-000012`, `job-000012`.

| field | on | what it is |
| --- | --- | --- |
| name | all | a display name |
| email | Talent, Company | an address made from the key |
| user_id | all | the account |
| status | all | `published`, `draft` or `archived`; no rule reads it |
| industry | all | `architecture`, `interior-design` or `both` |
| specialties | all | a list of 1 to 4 texts |
| design_styles | all | a list of 0 to 5 texts; `industrial` is also a specialty, and that is another thing |
| size_bucket | all | a whole number from 1 to 5 |
| years_of_experience | Talent | a whole number |
| company_size | Company, Job | the head count that belongs to the size bucket at birth, as text |
| founded_year | Company | a year |
| company_name, company_id | Job | the company that offers the job |
| location | all | latitude and longitude in degrees |
| address | all | the metro area at birth; it does not follow a later change of `location`, and no rule reads it |

## How two entities match

* **equal**: both have the field, and the values are the same, in type as well. `both` is equal to `both` only.
* **overlap of at least t**: the number of distinct values that the two lists share, divided by the number of distinct
  values in their **union** (not by the length of one list), is at least t, and they share at least one value. Two
  empty lists do not match. Upper and lower case count as different.
* **within r km**: the great-circle distance (haversine, Earth radius 6371.0088 km) is at most r.
* **within n of each other**: the two numbers differ by at most n; with n = 0 they are equal.

An entity that lacks the field, or has a value of another type there, matches nothing.

## Links

Every link goes from a Talent to a Company or to a Job; companies and jobs are never linked to each other.

| link | from a Talent to | where |
| --- | --- | --- |
| INDUSTRY_ALIGNMENT | Company, Job | `industry` equal |
| SPECIALTY_MATCH | Company, Job | `specialties` overlap of at least 0.15 |
| LOCATION_FIT | Company, Job | `location` within 160.9 km |
| SIMILAR_SIZE | Company | `size_bucket` within 1 of each other |
| SIMILAR_SIZE_STRICT | Company | `size_bucket` within 0 of each other: the same bucket |
| MATCHES_DESIGN_STYLE | Company | `design_styles` overlap of at least 0.2 |

That is nine rules: three of these links are ruled once for companies and once for jobs. There is no limit to how many
links an entity has. Where SIMILAR_SIZE_STRICT holds, SIMILAR_SIZE holds too; they are two links.

## History

Day 0 is 2026-06-01 and day 89 is 2026-08-29. The state of day 0 is the base; nothing changes on that day. A change is
one of three: `set_prop` gives one field a new value, `insert_node` adds an entity, `delete_node` takes one away, with
all its links. The state of a day is the base after all changes up to and including that day, in their order. "After
the whole history" is the state of day 89. A key that was deleted does not come back.

## Who may see what

Two roles read a part of the world: `recruiter` sees Talent and Job, `client` sees Company and Job. A role sees a link
only if it sees the entities at both ends.
"""

_CLOSING: Mapping[str, str] = MappingProxyType(
    {
        "json-files": """\
## This folder

* `entities/talent.json`, `entities/company.json`, `entities/job.json`: the state of day 0, one array per label, sorted
  by key. `location` is `[latitude, longitude]`.
* `changes.jsonl`: one change per line, in order, with `day`, `date`, `op`, `key`, `field`, `value` and `node`; what an
  operation does not have is null.
* `roles.json`: the labels that each role sees.
""",
        "sqlite": """\
## This folder

* `world.sqlite`: a SQLite database. The tables `talent`, `company` and `job` hold the state of day 0, `changes` the
  history in the order of `seq`, `roles` the labels that each role sees. Lists are JSON text, `location` is the columns
  `lat` and `lon`. `sqlite3 world.sqlite` opens it.
* `SCHEMA.md`: every column of every table.
""",
        "graph": """\
## This folder

The world is in a graph store that you reach with your tools. It holds the entities after the whole history, the links
that the rules derive, each with a `score`, and the history. Where a tool takes a day, give the date (`2026-07-14`): it
means the end of that day.

* `days.json`: for every day its date and `commit`, the number by which the store knows the end of that day.
* `schema.json`: the labels with their fields, the links, and the labels that each role sees.

If the store has links of the type SEMANTIC_MATCH, leave them out: they are not part of the rules above.
""",
    }
)


def readme(form: str) -> str:
    """The text of a form's ``README.md``; ``form`` is the memory's name."""
    return f"{_BODY}\n{_CLOSING[form]}"
