/// Selects databases, or collections of a database, by name: `userdb-*`, `orders`, `!userdb-test*`.
///
/// `*` stands for any number of characters, also none, and `?` for exactly one. A pattern after `!` excludes names,
/// wherever it is in the list. Databases whose names begin with `_` belong to the server and never match.
package struct DatabasePatterns: Sendable, Equatable, CustomStringConvertible {
    /// What the names are those of.
    package enum Kind: Sendable {
        /// Databases of a server.
        case databases
        /// Collections of a database, as `SCOPE.COLLECTION`.
        case collections
    }

    package let kind: Kind
    /// As given.
    package let texts: [String]
    private let included: [Pattern]
    private let excluded: [Pattern]

    /// - Throws: ``DatabasePatternError`` if a pattern is empty or contains characters that no name has, or if none
    ///   includes anything.
    package init(_ texts: [String], of kind: Kind = .databases) throws(DatabasePatternError) {
        (self.texts, self.kind) = (texts, kind)
        var (included, excluded): ([Pattern], [Pattern]) = ([], [])
        for text in texts {
            let isExclusion = text.hasPrefix("!")
            let pattern = try Pattern(isExclusion ? text.dropFirst() : text[...], in: text, kind)
            if isExclusion { excluded.append(pattern) } else { included.append(pattern) }
        }
        guard !included.isEmpty else {
            throw DatabasePatternError("no pattern includes a name: write at least one without '!', such as 'userdb-*'")
        }
        (self.included, self.excluded) = (included, excluded)
    }

    /// Whether a name is selected.
    package func matches(_ name: String) -> Bool {
        guard kind == .collections || !name.hasPrefix("_") else { return false }
        let name = Array(name)
        return included.contains { $0.matches(name) } && !excluded.contains { $0.matches(name) }
    }

    /// The selected names, if no pattern has `*` or `?`. Nil: they must be listed.
    package var literalNames: [String]? {
        guard included.allSatisfy(\.isLiteral) else { return nil }
        return included.map { String($0.characters) }.filter(matches)
    }

    /// `userdb-*, !userdb-test*`
    package var description: String { texts.joined(separator: ", ") }

    private struct Pattern: Sendable, Equatable {
        let characters: [Character]

        var isLiteral: Bool { !characters.contains { $0 == "*" || $0 == "?" } }

        init(_ text: Substring, in whole: String, _ kind: Kind) throws(DatabasePatternError) {
            guard !text.isEmpty else {
                throw DatabasePatternError("a pattern is empty: write names such as 'userdb-*'")
            }
            if let bad = text.first(where: { $0.isWhitespace || "#\\[]{},".contains($0) }) {
                throw DatabasePatternError(
                    "'\(whole)' contains '\(bad)', which no name has: write names in which '*' stands for any characters and '?' for one"
                )
            }
            guard kind == .collections || !text.hasPrefix("_") else {
                throw DatabasePatternError(
                    "'\(whole)' can match nothing: databases that begin with '_' belong to the server and are never selected"
                )
            }
            characters = Array(text)
        }

        /// Compares from left to right. At a mismatch, the last `*` takes one character more.
        func matches(_ name: [Character]) -> Bool {
            var (position, index) = (0, 0)
            var retry: (position: Int, index: Int)?
            while index < name.count {
                if position < characters.count, characters[position] == "*" {
                    retry = (position, index)
                    position += 1
                } else if position < characters.count,
                    characters[position] == "?" || characters[position] == name[index]
                {
                    position += 1
                    index += 1
                } else if let last = retry {
                    retry = (last.position, last.index + 1)
                    (position, index) = (last.position + 1, last.index + 1)
                } else {
                    return false
                }
            }
            return characters[position...].allSatisfy { $0 == "*" }
        }
    }
}

/// What is wrong with a pattern for names of databases.
package struct DatabasePatternError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong and what to write instead.
    package let description: String

    init(_ description: String) { self.description = description }
}
