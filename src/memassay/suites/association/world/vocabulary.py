"""The words and constants that every world is made of.

They are those of the benchmark that mushroomdb publishes (Matthew Sherlin, ``benchmarks/agent-tasks`` and ``dogfood``
in MatthewSherlin/mushroomdb, licensed MIT OR Apache-2.0), in its order: a draw takes a word by its position, so another
order would be another world.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

Label = Literal["Talent", "Company", "Job"]

LABELS: tuple[Label, ...] = ("Talent", "Company", "Job")

# In tenths; of an insertion in the history the weights, of day 0 the shares.
SHARES: Mapping[Label, int] = MappingProxyType({"Talent": 7, "Company": 2, "Job": 1})

ROLES: Mapping[str, tuple[Label, ...]] = MappingProxyType(
    {"recruiter": ("Talent", "Job"), "client": ("Company", "Job")}
)

STATUSES = ("published", "draft", "archived")

INDUSTRIES = ("architecture", "interior-design", "both")
INDUSTRY_SHARES = (0.45, 0.45, 0.10)

SPECIALTIES = (
    "single-family", "multi-family", "residential", "hospitality", "retail", "healthcare", "large-scale", "civic",
    "industrial", "landscape", "commercial", "educational", "institutional",
)  # fmt: skip

DESIGN_STYLES = (
    "bohemian", "bright", "classic", "coastal", "colorful", "cottage", "contemporary", "country", "eclectic",
    "farmhouse", "glamorous", "industrial", "mediterranean", "mid-century", "minimal", "modern", "rustic",
    "scandinavian", "southern", "sustainable", "transitional", "traditional", "preppy",
)  # fmt: skip

# Name, latitude, longitude in degrees. No two are within 160.9 km of each other.
METROS = (
    ("NYC", 40.7128, -74.0060),
    ("LA", 34.0522, -118.2437),
    ("SF", 37.7749, -122.4194),
    ("Chicago", 41.8781, -87.6298),
    ("Miami", 25.7617, -80.1918),
    ("Austin", 30.2672, -97.7431),
    ("Seattle", 47.6062, -122.3321),
    ("Boston", 42.3601, -71.0589),
    ("London", 51.5074, -0.1278),
    ("Paris", 48.8566, 2.3522),
    ("Denver", 39.7392, -104.9903),
    ("Atlanta", 33.7490, -84.3880),
)

METRO_RADIUS_KM = 30.0
KM_PER_DEGREE = 111.32

# By size bucket, 1 to 5: the years of a talent (both ends count), the head count of a company or of a job's company.
BUCKETS = 5
YEARS = ((0, 2), (3, 5), (6, 9), (10, 14), (15, 40))
COMPANY_SIZES = ("1-9", "10-50", "50-200", "200-499", "500+")
FOUNDED = (1950, 2024)
