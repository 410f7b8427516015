"""The table of rules, written out: adding a rule is adding its module to the imports here."""

# ruff: noqa: F401 - the imports are the table

from __future__ import annotations

from types import ModuleType
from typing import Any

from keyplan.check.rule import LoadedRule, load
from keyplan.check.rules.change import (
    kp901,
    kp902,
    kp903,
    kp904,
    kp905,
    kp906,
    kp907,
    kp908,
    kp909,
    kp910,
    kp911,
    kp912,
    kp913,
)
from keyplan.check.rules.consistency import (
    kp601,
    kp602,
    kp603,
    kp604,
    kp605,
    kp606,
    kp607,
    kp608,
    kp610,
    kp611,
    kp612,
    kp613,
    kp614,
    kp615,
    kp616,
    kp617,
    kp618,
    kp619,
)
from keyplan.check.rules.cost import (
    kp801,
    kp802,
    kp803,
    kp804,
    kp805,
    kp806,
    kp807,
    kp808,
    kp809,
    kp810,
    kp811,
    kp820,
    kp821,
    kp822,
    kp823,
    kp824,
    kp825,
)
from keyplan.check.rules.expiry import (
    kp701,
    kp702,
    kp703,
    kp704,
    kp705,
    kp706,
    kp707,
    kp708,
    kp709,
    kp710,
    kp711,
    kp712,
    kp713,
    kp714,
    kp715,
    kp716,
)
from keyplan.check.rules.indexes import (
    kp401,
    kp402,
    kp403,
    kp404,
    kp405,
    kp406,
    kp407,
    kp408,
    kp409,
    kp410,
    kp411,
    kp412,
    kp413,
    kp414,
)
from keyplan.check.rules.keys import (
    kp201,
    kp202,
    kp203,
    kp204,
    kp205,
    kp206,
    kp207,
    kp208,
    kp209,
    kp210,
    kp211,
    kp212,
    kp213,
    kp214,
    kp215,
    kp216,
    kp217,
)
from keyplan.check.rules.patterns import (
    kp301,
    kp302,
    kp303,
    kp304,
    kp305,
    kp306,
    kp307,
    kp308,
    kp309,
    kp310,
    kp311,
    kp312,
    kp313,
    kp314,
    kp315,
    kp316,
    kp317,
    kp318,
    kp319,
    kp320,
    kp321,
    kp322,
    kp323,
    kp324,
    kp325,
)
from keyplan.check.rules.schema import (
    kp101,
    kp102,
    kp103,
    kp104,
    kp105,
    kp106,
    kp107,
    kp108,
    kp109,
    kp110,
    kp111,
    kp112,
    kp113,
    kp114,
    kp115,
    kp116,
)
from keyplan.check.rules.throughput import (
    kp501,
    kp502,
    kp503,
    kp504,
    kp505,
    kp506,
    kp507,
    kp508,
    kp509,
    kp510,
    kp511,
    kp512,
)
from keyplan.check.subject import Subject
from keyplan.diff.comparison import Comparison

MODULES: tuple[ModuleType, ...] = tuple(module for name, module in sorted(globals().items()) if name.startswith("kp"))
"""The modules imported above, by code."""

_OF_CHANGES = "KP9"
PAGES: dict[str, LoadedRule[Any]] = {module.RULE.code: load(module) for module in MODULES}
"""All rules."""
RULES: dict[str, LoadedRule[Subject]] = {code: rule for code, rule in PAGES.items() if not code.startswith(_OF_CHANGES)}
"""Those of one design."""
CHANGE_RULES: dict[str, LoadedRule[Comparison]] = {code: rule for code, rule in PAGES.items() if code not in RULES}
"""Those of two designs."""
