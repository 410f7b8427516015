"""Finite automata for regular languages, and the search for words that two automata share.

A language is converted to an automaton with numbered states and without empty transitions. Two automata are explored in
parallel, and shorter shared words are found first. Because long repetitions are treated as unlimited, an automaton may
accept more words than its language contains, but never fewer. Therefore, if the search does not find a shared word,
none exists.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass

from keyplan.design.keys.languages import ANY, Chain, CharSet, Language, OneOf, Repeat, Run, Word

_MAX_RUN = 256  # a longer run counts as endless
_MAX_REPEATS = 32
_NOTHING = CharSet(())

Edge = tuple[CharSet, int]


@dataclass(frozen=True)
class Automaton:
    """A finite automaton with numbered states.

    `edges` are the transitions of each state, `start` is the initial state, and `ends` are the accepting states.
    """

    start: int
    edges: tuple[tuple[Edge, ...], ...]
    ends: frozenset[int]


class AutomatonBuilder:
    """Builder that creates an automaton for a concatenation of languages."""

    def __init__(self, excluded: CharSet = _NOTHING) -> None:
        self._edges: list[list[Edge]] = [[]]
        self._skips: list[list[int]] = [[]]
        self._excluded = excluded
        self.end = 0

    def add_state(self) -> int:
        """Add a state and return its number."""
        self._edges.append([])
        self._skips.append([])
        return len(self._edges) - 1

    def add(self, language: Language) -> None:
        """Append a language: after the words of the earlier languages, the automaton accepts each word of this
        language.
        """
        self.end = self._add_language(language, self.end)

    def add_anything(self) -> None:
        """Append the language of all strings, including the empty string."""
        self.add(Run(ANY, 0, None))

    def add_delimited(self, language: Language, delimiter: str, excluded: CharSet) -> None:
        """Append the words of a language, except for words after which the position of a delimiter is ambiguous.

        Two kinds of words are excluded: words that contain the delimiter or a character in `excluded`, and words whose
        last characters, followed by the first characters of the delimiter, form the delimiter. A parser would end such
        a word too early.
        """
        builder = AutomatonBuilder(excluded | CharSet.from_text(delimiter) if len(delimiter) == 1 else excluded)
        builder.add(language)
        inner = builder.build()
        self.add_machine(_without_ambiguous_words(inner, delimiter) if len(delimiter) > 1 else inner)

    def add_machine(self, machine: Automaton) -> None:
        """Append the language of another automaton."""
        offset = len(self._edges)
        for edges in machine.edges:
            self._edges.append([(chars, target + offset) for chars, target in edges])
            self._skips.append([])
        self._skips[self.end].append(machine.start + offset)
        end = self.add_state()
        for state in machine.ends:
            self._skips[state + offset].append(end)
        self.end = end

    def build(self) -> Automaton:
        """Return the automaton without empty transitions and dead states."""
        closures = [self._closure(state) for state in range(len(self._edges))]
        edges = tuple(
            tuple(edge for reachable in closures[state] for edge in self._edges[reachable])
            for state in range(len(closures))
        )
        ends = frozenset(state for state, reachable in enumerate(closures) if self.end in reachable)
        return _trim(Automaton(0, edges, ends))

    def _closure(self, state: int) -> set[int]:
        reached, pending = {state}, [state]
        while pending:
            for target in self._skips[pending.pop()]:
                if target not in reached:
                    reached.add(target)
                    pending.append(target)
        return reached

    def _add_language(self, language: Language, state: int) -> int:
        match language:
            case Word(text):
                for character in text:
                    state = self._add_edge(state, CharSet.from_text(character))
                return state
            case Run(chars, low, high):
                return self._add_repetitions(low, None if high is None or high > _MAX_RUN else high, state, chars)
            case Repeat(part, low, high):
                return self._add_repetitions(low, None if high is None or high > _MAX_REPEATS else high, state, part)
            case Chain(parts):
                for part in parts:
                    state = self._add_language(part, state)
                return state
            case OneOf(options):
                return self._add_union(options, state)

    def _add_edge(self, state: int, chars: CharSet) -> int:
        target = self.add_state()
        self._edges[state].append((chars.difference(self._excluded) if self._excluded else chars, target))
        return target

    def _add_union(self, options: tuple[Language, ...], state: int) -> int:
        end = self.add_state()
        texts = [option.text for option in options if isinstance(option, Word)]
        self._add_words(texts, state, end)
        for option in options:
            if isinstance(option, Word):
                continue
            start = self.add_state()
            self._skips[state].append(start)
            self._skips[self._add_language(option, start)].append(end)
        return end

    def _add_words(self, texts: list[str], start: int, target: int) -> None:
        """Add paths for fixed strings from the state `start` to the state `target`. Strings with a common prefix share
        the states of the prefix.
        """
        states = {"": start}
        for text in texts:
            for size in range(1, len(text) + 1):
                if text[:size] not in states:
                    states[text[:size]] = self._add_edge(states[text[: size - 1]], CharSet.from_text(text[size - 1]))
            self._skips[states[text]].append(target)

    def _add_repetitions(self, low: int, high: int | None, state: int, part: CharSet | Language) -> int:
        """Add transitions for `low` to `high` repetitions of `part`, starting at the state `state`.

        Return the state after the last repetition. A `high` of None means unlimited.
        """

        def add_repetition(start: int) -> int:
            return self._add_edge(start, part) if isinstance(part, CharSet) else self._add_language(part, start)

        for _ in range(low):
            state = add_repetition(state)
        end = self.add_state()
        self._skips[state].append(end)
        if high is None:
            self._skips[add_repetition(end)].append(end)
            return end
        for _ in range(high - low):
            state = add_repetition(state)
            self._skips[state].append(end)
        return end


def _trim(machine: Automaton) -> Automaton:
    """Return the automaton without edges that have no characters or lead to dead states."""
    sources: dict[int, list[int]] = {}
    for state, outgoing in enumerate(machine.edges):
        for chars, target in outgoing:
            if chars:
                sources.setdefault(target, []).append(state)
    live_states, pending = set(machine.ends), list(machine.ends)
    while pending:
        for source in sources.get(pending.pop(), ()):
            if source not in live_states:
                live_states.add(source)
                pending.append(source)
    edges = [tuple(edge for edge in outgoing if edge[0] and edge[1] in live_states) for outgoing in machine.edges]
    return Automaton(machine.start, tuple(edges), machine.ends)


def without_empty(machine: Automaton) -> Automaton:
    """Return an automaton that accepts the same words, except for the empty word."""
    if machine.start not in machine.ends:
        return machine
    return Automaton(len(machine.edges), (*machine.edges, machine.edges[machine.start]), machine.ends)


def _without_ambiguous_words(machine: Automaton, delimiter: str) -> Automaton:
    """Return an automaton without the words after which the position of a delimiter is ambiguous.

    The automaton accepts a word only if `word + delimiter` contains the delimiter at its end and nowhere else.
    """
    width = len(delimiter)
    delimiter_chars = [CharSet.from_text(character) for character in dict.fromkeys(delimiter)]
    other_chars = ANY
    for char in delimiter_chars:
        other_chars = other_chars.difference(char)
    steps = [
        [(char, _overlap(delimiter[:k] + chr(char.lowest), delimiter)) for char in delimiter_chars] + [(other_chars, 0)]
        for k in range(width)
    ]
    edges: list[tuple[Edge, ...]] = []
    for outgoing in machine.edges:
        for k in range(width):
            transitions = [
                (chars.intersection(c), target * width + j)
                for chars, target in outgoing
                for c, j in steps[k]
                if j < width
            ]
            edges.append(tuple((chars, target) for chars, target in transitions if chars))
    accepting_positions = [k for k in range(width) if (delimiter[:k] + delimiter).find(delimiter) == k]
    ends = frozenset(state * width + k for state in machine.ends for k in accepting_positions)
    return Automaton(machine.start * width, tuple(edges), ends)


def _overlap(text: str, delimiter: str) -> int:
    """Return the length of the longest suffix of `text` that is a prefix of `delimiter`."""
    return max(k for k in range(len(delimiter) + 1) if text.endswith(delimiter[:k]))


def shared_words(left: Automaton, right: Automaton, *, visits: int = 1, variety: int = 1) -> Iterator[str]:
    """Yield words that both automata accept, shortest first.

    Not every shared word is yielded: `visits` limits the visits to each pair of states, and `variety` limits the number
    of example characters for each transition.
    """
    counts: Counter[tuple[int, int]] = Counter()
    pending = deque([(left.start, right.start, "")])
    while pending:
        a, b, word = pending.popleft()
        if counts[a, b] >= visits:
            continue
        counts[a, b] += 1
        if word and a in left.ends and b in right.ends:
            yield word
        for left_chars, next_a in left.edges[a]:
            for right_chars, next_b in right.edges[b]:
                if counts[next_a, next_b] < visits:
                    common = left_chars.intersection(right_chars)
                    pending.extend((next_a, next_b, word + c) for c in (common.examples(variety) if common else ""))
