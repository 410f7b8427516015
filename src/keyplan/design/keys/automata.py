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

_LONGEST_RUN = 256  # a longer run counts as endless
_MOST_REPEATS = 32
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

    def __init__(self, barred: CharSet = _NOTHING) -> None:
        self._edges: list[list[Edge]] = [[]]
        self._skips: list[list[int]] = [[]]
        self._barred = barred
        self.end = 0

    def state(self) -> int:
        """Add a state and return its number."""
        self._edges.append([])
        self._skips.append([])
        return len(self._edges) - 1

    def add(self, language: Language) -> None:
        """Append a language: after the words of the earlier languages, the automaton accepts each word of this
        language.
        """
        self.end = self._added(language, self.end)

    def add_anything(self) -> None:
        """Append the language of all strings, including the empty string."""
        self.add(Run(ANY, 0, None))

    def add_without(self, language: Language, delimiter: str, barred: CharSet) -> None:
        """Append the words of a language that a delimiter can follow without ambiguity.

        Two kinds of words are excluded: words that contain the delimiter or a character in `barred`, and words whose
        last characters, followed by the first characters of the delimiter, form the delimiter. A parser would end such
        a word too early.
        """
        builder = AutomatonBuilder(barred | CharSet.of(delimiter) if len(delimiter) == 1 else barred)
        builder.add(language)
        inner = builder.machine()
        self.add_machine(_without(inner, delimiter) if len(delimiter) > 1 else inner)

    def add_machine(self, machine: Automaton) -> None:
        """Append the language of another automaton."""
        offset = len(self._edges)
        for edges in machine.edges:
            self._edges.append([(chars, target + offset) for chars, target in edges])
            self._skips.append([])
        self._skips[self.end].append(machine.start + offset)
        end = self.state()
        for state in machine.ends:
            self._skips[state + offset].append(end)
        self.end = end

    def machine(self) -> Automaton:
        """Return the automaton without empty transitions and dead states."""
        reach = [self._closure(state) for state in range(len(self._edges))]
        edges = tuple(
            tuple(edge for inner in reach[state] for edge in self._edges[inner]) for state in range(len(reach))
        )
        ends = frozenset(state for state, inner in enumerate(reach) if self.end in inner)
        return _trimmed(Automaton(0, edges, ends))

    def _closure(self, state: int) -> set[int]:
        reached, waiting = {state}, [state]
        while waiting:
            for target in self._skips[waiting.pop()]:
                if target not in reached:
                    reached.add(target)
                    waiting.append(target)
        return reached

    def _added(self, language: Language, at: int) -> int:
        match language:
            case Word(text):
                for character in text:
                    at = self._step(at, CharSet.of(character))
                return at
            case Run(chars, low, high):
                return self._repeated(low, None if high is None or high > _LONGEST_RUN else high, at, chars)
            case Repeat(part, low, high):
                return self._repeated(low, None if high is None or high > _MOST_REPEATS else high, at, part)
            case Chain(parts):
                for part in parts:
                    at = self._added(part, at)
                return at
            case OneOf(options):
                return self._one_of(options, at)

    def _step(self, at: int, chars: CharSet) -> int:
        target = self.state()
        self._edges[at].append((chars.minus(self._barred) if self._barred else chars, target))
        return target

    def _one_of(self, options: tuple[Language, ...], at: int) -> int:
        end = self.state()
        texts = [option.text for option in options if isinstance(option, Word)]
        self._add_words(texts, at, end)
        for option in options:
            if isinstance(option, Word):
                continue
            start = self.state()
            self._skips[at].append(start)
            self._skips[self._added(option, start)].append(end)
        return end

    def _add_words(self, texts: list[str], at: int, end: int) -> None:
        """Add paths for fixed strings from the state `at` to the state `end`. Strings with a common prefix share the
        states of the prefix.
        """
        reached = {"": at}
        for text in texts:
            for size in range(1, len(text) + 1):
                if text[:size] not in reached:
                    reached[text[:size]] = self._step(reached[text[: size - 1]], CharSet.of(text[size - 1]))
            self._skips[reached[text]].append(end)

    def _repeated(self, low: int, high: int | None, at: int, part: CharSet | Language) -> int:
        """Add transitions for `low` to `high` repetitions of `part`, starting at the state `at`.

        Return the state after the last repetition. A `high` of None means unlimited.
        """

        def once(start: int) -> int:
            return self._step(start, part) if isinstance(part, CharSet) else self._added(part, start)

        for _ in range(low):
            at = once(at)
        end = self.state()
        self._skips[at].append(end)
        if high is None:
            self._skips[once(end)].append(end)
            return end
        for _ in range(high - low):
            at = once(at)
            self._skips[at].append(end)
        return end


def _trimmed(machine: Automaton) -> Automaton:
    """Return the automaton without edges that have no characters or lead to dead states."""
    sources: dict[int, list[int]] = {}
    for state, leaving in enumerate(machine.edges):
        for chars, target in leaving:
            if chars:
                sources.setdefault(target, []).append(state)
    alive, waiting = set(machine.ends), list(machine.ends)
    while waiting:
        for source in sources.get(waiting.pop(), ()):
            if source not in alive:
                alive.add(source)
                waiting.append(source)
    edges = [tuple(edge for edge in leaving if edge[0] and edge[1] in alive) for leaving in machine.edges]
    return Automaton(machine.start, tuple(edges), machine.ends)


def without_empty(machine: Automaton) -> Automaton:
    """Return an automaton that accepts the same words, except for the empty word."""
    if machine.start not in machine.ends:
        return machine
    return Automaton(len(machine.edges), (*machine.edges, machine.edges[machine.start]), machine.ends)


def _without(machine: Automaton, delimiter: str) -> Automaton:
    """Return an automaton without the words after which the position of a delimiter is ambiguous.

    The automaton accepts a word only if `word + delimiter` contains the delimiter at its end and nowhere else.
    """
    width = len(delimiter)
    singles = [CharSet.of(character) for character in dict.fromkeys(delimiter)]
    rest = ANY
    for single in singles:
        rest = rest.minus(single)
    steps = [
        [(single, _overlap(delimiter[:k] + chr(single.lowest), delimiter)) for single in singles] + [(rest, 0)]
        for k in range(width)
    ]
    edges: list[tuple[Edge, ...]] = []
    for leaving in machine.edges:
        for k in range(width):
            moves = [(chars.meet(c), target * width + j) for chars, target in leaving for c, j in steps[k] if j < width]
            edges.append(tuple((chars, target) for chars, target in moves if chars))
    quiet = [k for k in range(width) if (delimiter[:k] + delimiter).find(delimiter) == k]
    ends = frozenset(state * width + k for state in machine.ends for k in quiet)
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
    waiting = deque([(left.start, right.start, "")])
    while waiting:
        a, b, word = waiting.popleft()
        if counts[a, b] >= visits:
            continue
        counts[a, b] += 1
        if word and a in left.ends and b in right.ends:
            yield word
        for chars, next_a in left.edges[a]:
            for others, next_b in right.edges[b]:
                if counts[next_a, next_b] < visits:
                    common = chars.meet(others)
                    waiting.extend((next_a, next_b, word + c) for c in (common.examples(variety) if common else ""))
