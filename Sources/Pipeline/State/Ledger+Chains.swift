internal import GatewayClient
internal import LosslessJSON

/// The rules whose `put`s led to a document: the first rule's document made the second rule fire, and so on.
struct RuleChain: Hashable, Sendable {
    /// A longer chain is dead-lettered instead of written.
    static let longest = 10

    /// The names of the rules, the first one first; empty for a change made by somebody else.
    let rules: [String]

    /// Without rules: a change made by somebody else.
    init(_ rules: [String] = []) { self.rules = rules }

    /// The chain of a document that `rule` puts because of this one.
    func followed(by rule: String) -> RuleChain { RuleChain(rules + [rule]) }

    /// Whether it is longer than ``longest``.
    var isTooLong: Bool { rules.count > Self.longest }

    /// The reason of the dead letter, cut at the first repetition: `rule chain: a → b → a`.
    var reason: String {
        var seen: Set<String> = []
        var shown: [String] = []
        for rule in rules {
            shown.append(rule)
            guard seen.insert(rule).inserted else { break }
        }
        return "rule chain: " + shown.joined(separator: " → ")
    }

    // MARK: - In the ledger

    var json: [UInt8] {
        var writer = JSONWriter()
        writer.array { writer in for rule in rules { writer.string(rule) } }
        return writer.bytes
    }

    init(json: [UInt8]) { rules = SmallJSON(json)?.elements?.compactMap(\.string) ?? [] }
}

// Which rules led to a revision that a `put` wrote. Such a revision is decided like any other; its chain tells how many
// rules lie between it and a change made by somebody else.
extension Ledger {
    /// A revision that a `put` wrote.
    struct CausedRevision: Sendable {
        /// The document that was written.
        let id: DocumentID
        /// As the gateway answered it.
        let revision: RevisionID
        /// The rules that led to it, the last one included.
        let chain: RuleChain
    }

    /// Records revisions that `put`s wrote. One transaction; the oldest beyond 200,000 are forgotten.
    ///
    /// - Throws: ``StateError``: nothing was written.
    func recordCausedRevisions(_ revisions: [CausedRevision]) async throws(StateError) {
        guard !revisions.isEmpty else { return }
        try await write { database in
            let insert = database.language.replace(
                into: "caused_revision", ["id", "revision", "chain"], key: ["id", "revision"], isOrdered: true)
            try database.executeEach(
                insert,
                revisions.map { caused in
                    let chain = WholeText(String(decoding: caused.chain.json, as: UTF8.self))
                    return [WholeText(caused.id.text), WholeText(caused.revision.text), chain]
                })
            try database.execute(
                "DELETE FROM caused_revision WHERE rowid <= (SELECT MAX(rowid) FROM caused_revision) - ?",
                [Self.ownWriteLimit])
        }
    }

    /// For each revision the rules that led to it; an empty chain if it was written by somebody else.
    func chains(
        of revisions: [(id: DocumentID, revision: RevisionID)]
    ) async throws(StateError) -> [RuleChain] {
        guard !revisions.isEmpty else { return [] }
        return try await read { database in
            let found = try database.rowsOfEach(
                "SELECT chain FROM caused_revision WHERE id = ? AND revision = ?",
                revisions.map { [WholeText($0.id.text), WholeText($0.revision.text)] })
            return found.map { rows in
                guard let row = rows.first else { return RuleChain() }
                return RuleChain(json: Array((row[0] as WholeText).text.utf8))
            }
        }
    }
}
