"""Words and phrases that the rubric evaluator searches for, in lower case. Only whole words match."""

from __future__ import annotations

DEFINITIONS = (
    "by this i mean", "by that i mean", "by which i mean", "i mean", "means that", "meaning", "defined as", "define",
    "definition", "in other words", "that is to say", "to be precise", "more precisely", "specifically", "refers to",
    "put differently",
)  # fmt: skip

SIGNPOSTS = (
    "first", "firstly", "second", "secondly", "third", "thirdly", "next", "finally", "lastly", "in short",
    "in summary", "to sum up", "to begin with", "overall", "my view", "my position", "my conclusion", "i conclude",
    "i would", "the main", "the key",
)  # fmt: skip

REASONS = (
    "because", "since", "as a result of", "due to", "owing to", "given that", "the reason", "one reason",
    "follows from", "explains why", "caused by", "on the grounds that",
)  # fmt: skip

CONCLUSIONS = (
    "therefore", "thus", "hence", "consequently", "it follows", "as a result", "which means", "this means",
    "implies", "that is why", "accordingly", "i conclude", "so that", "we can infer", "suggests that", "so the",
    "so i", "so it", "so we",
)  # fmt: skip

CONDITIONS = (
    "if", "unless", "only if", "provided that", "as long as", "in case", "otherwise", "even if", "assuming that",
    "were to",
)  # fmt: skip

EVIDENCE = (
    "data", "evidence", "study", "studies", "survey", "record", "records", "experiment", "trial", "measured",
    "measurement", "measurements", "observed", "observation", "statistics", "figures", "results", "sample", "report",
    "reports", "test results", "documents", "research", "findings", "log", "logs", "audit",
)  # fmt: skip

EVIDENCE_QUALITY = (
    "sample size", "small sample", "control group", "controls", "comparison group", "bias", "biased", "selection",
    "confounding", "confounder", "peer reviewed", "peer-reviewed", "replicate", "replicated", "independent",
    "reliable", "unreliable", "source", "sources", "self-reported", "anecdote", "anecdotes", "anecdotal",
    "representative", "cherry-picked", "conflict of interest", "random", "randomised", "randomized", "baseline",
)  # fmt: skip

ATTRIBUTIONS = (
    "for example", "for instance", "such as", "according to", "reported", "cited", "the text says",
    "the scenario says", "as stated", "states that", "claims that", "quotes", "e.g", "in the case of", "namely",
)  # fmt: skip

ASSUMPTIONS = (
    "assume", "assumes", "assumed", "assuming", "assumption", "assumptions", "presume", "presumes", "presupposes",
    "presupposition", "taken for granted", "takes for granted", "take for granted", "implicit", "implicitly",
    "unstated", "hidden premise", "premise", "premises",
)  # fmt: skip

DEPENDENCIES = (
    "only holds", "holds only", "holds if", "depends on", "depend on", "relies on", "rely on", "rests on",
    "requires that", "would fail", "fails if", "breaks down", "if this is wrong", "if that is wrong",
    "if this is false", "not true if", "may not hold", "might not hold", "does not hold", "unless",
)  # fmt: skip

TESTS = (
    "test", "tested", "check", "checked", "verify", "verified", "find out", "measure", "compare", "ask whether",
    "look at", "investigate", "confirm", "pilot", "try out", "examine",
)  # fmt: skip

ALTERNATIVES = (
    "alternative", "alternatives", "alternatively", "another explanation", "other explanation", "other explanations",
    "another reason", "another option", "another way", "other option", "other options", "other causes",
    "other factors", "could also", "may also", "might also", "instead", "a different explanation", "a third option",
    "equally", "might be due to", "could be due to", "may be due to", "could be that", "may be that",
    "might be that",
)  # fmt: skip

OBJECTIONS = (
    "however", "on the other hand", "on the contrary", "critics", "a critic", "object", "objection", "objections",
    "counter-argument", "counterargument", "although", "even though", "admittedly", "granted", "nevertheless",
    "nonetheless", "opponents", "in defence of", "in defense of", "to be fair", "despite", "yet",
)  # fmt: skip

WEIGHING = (
    "more likely than", "less likely than", "more likely", "less likely", "rather than", "better explained",
    "better explanation", "compared with", "compared to", "outweigh", "outweighs", "prefer", "preferable",
    "distinguish", "trade-off", "trade-offs", "tradeoff", "weigh", "weighing", "on balance", "stronger than",
    "weaker than", "more plausible", "less plausible", "rule out",
)  # fmt: skip

NUMBER_WORDS = (
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "twenty", "thirty", "fifty",
    "hundred", "hundreds", "thousand", "thousands", "million", "millions", "billion", "half", "a third", "a quarter",
)  # fmt: skip

ESTIMATES = (
    "about", "roughly", "approximately", "around", "on average", "average", "median", "per cent", "percent",
    "percentage", "percentage points", "ratio", "rate", "base rate", "proportion", "order of magnitude", "estimate",
    "estimated", "at least", "at most", "per", "probability", "odds", "margin of error", "range", "out of",
)  # fmt: skip

ARITHMETIC = (
    "divided by", "times", "multiplied by", "multiply", "multiplying", "adds up", "add up", "the sum of", "subtract",
    "twice", "double", "doubled", "half of", "out of every", "one in", "works out", "comes to", "in total",
    "per head",
)  # fmt: skip

HEDGES = (
    "might", "may", "could", "perhaps", "possibly", "probably", "likely", "unlikely", "seems", "seem", "appears",
    "suggests", "tends to", "tend to", "in my view", "i think", "i suspect", "plausible", "plausibly",
    "it is possible", "presumably",
)  # fmt: skip

UNKNOWNS = (
    "i do not know", "i don't know", "we do not know", "we don't know", "unknown", "unclear", "not clear",
    "uncertain", "uncertainty", "not enough information", "missing", "cannot tell", "can't tell", "cannot be sure",
    "can't be sure", "not sure", "unsure", "open question", "does not say", "doesn't say", "hard to say",
    "remains to be seen",
)  # fmt: skip

CALIBRATION = (
    "change my mind", "change my view", "confident", "confidence", "could be wrong", "may be wrong",
    "might be wrong", "revise", "reconsider", "if i learned", "if i learnt", "would persuade me",
    "would convince me", "my estimate", "percent sure", "chance that", "probability that",
)  # fmt: skip

SWEEPING = (
    "always", "never", "obviously", "certainly", "undoubtedly", "without doubt", "without a doubt", "clearly",
    "everyone", "everybody", "nobody", "no one", "proves", "proven", "guaranteed", "impossible", "definitely",
    "of course", "all people", "100%",
)  # fmt: skip

CONNECTIVES = (*REASONS, *CONCLUSIONS, *CONDITIONS, *OBJECTIONS)

STOP_WORDS = frozenset((
    "a", "about", "above", "after", "again", "against", "all", "also", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "being", "below", "between", "both", "but", "by", "can", "could", "did", "do",
    "does", "done", "down", "during", "each", "every", "few", "for", "from", "had", "has", "have", "having", "he",
    "her", "here", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "least", "less", "many", "may",
    "me", "might", "more", "most", "much", "must", "my", "no", "nor", "not", "of", "off", "on", "once", "only",
    "onto", "or", "other", "our", "out", "over", "own", "per", "same", "shall", "she", "should", "so", "some",
    "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "too",
    "under", "until", "up", "us", "very", "was", "we", "were", "what", "when", "where", "which", "while", "who",
    "whom", "whose", "why", "will", "with", "without", "would", "you", "your",
))  # fmt: skip
"""Words that are too common to indicate that two texts have the same subject."""
