internal import DocumentFlow
internal import Encodings
package import GatewayClient
internal import LosslessJSON

extension Ledger {
    /// How many own revisions and caused revisions are kept, each.
    static let ownWriteLimit = 200_000
    /// How many writes of one document are inspected.
    static let inspectedWriteLimit = 1000

    /// Records that this rule set completed the decisions about these documents, and its writes.
    func record(_ writes: [OwnWrite], in database: any StateSession) throws {
        guard !writes.isEmpty else { return }
        var list = JSONWriter(minimumCapacity: writes.count * 96)
        list.array { list in
            for write in writes {
                list.array { list in
                    list.string(OwnWrite.key(write.id.text))
                    if let revision = write.revision { list.string(OwnWrite.key(revision.text)) } else { list.null() }
                    if let content = write.content { list.raw("\(content.number)".utf8) } else { list.null() }
                }
            }
        }
        // One statement for all rows: the overhead of a call to SQLite is larger than the cost of a row.
        let written = database.dialect.listed
        try database.execute(
            """
            INSERT INTO own_write (id, revision, content, rule_set, written_at)
            SELECT \(written.element(0)), \(written.element(1)), CAST(\(written.element(2)) AS BIGINT), \(ruleSetNumber),
                \(Timestamp.secondsNow)
            FROM \(written.rows)
            """, [String(decoding: list.bytes, as: UTF8.self)])
        try database.execute(
            "DELETE FROM own_write WHERE rowid <= (SELECT MAX(rowid) FROM own_write) - ?", [Self.ownWriteLimit])
    }

    /// The earlier writes of each document's decisions: the one that wrote this revision, and all since a time. Only
    /// the newest 1,000 of a document are inspected: the limits for repeated writes allow about 330 writes in their
    /// period.
    ///
    /// - Parameter seconds: Since 1970.
    package func earlierWrites(
        of documents: [(id: DocumentID, revision: RevisionID)], since seconds: Int
    ) async throws(StateError) -> [EarlierWrites] {
        guard !documents.isEmpty else { return [] }
        var list = JSONWriter(minimumCapacity: documents.count * 80)
        list.array { list in
            for (id, revision) in documents {
                list.array { list in
                    list.string(OwnWrite.key(id.text))
                    list.string(OwnWrite.key(revision.text))
                }
            }
        }
        return try await read { [json = String(decoding: list.bytes, as: UTF8.self), ruleSetNumber] database in
            var earlier = [EarlierWrites](repeating: EarlierWrites(), count: documents.count)
            try database.forEachRow(Self.earlierWrites(database.dialect), [json, Self.inspectedWriteLimit, seconds]) {
                row in
                earlier[row[0]].writes.append(
                    EarlierWrites.Write(
                        revision: row[1], content: row[2], isFromThisRuleSet: row[3] == ruleSetNumber, writtenAt: row[4]
                    ))
                return true
            }
            return earlier
        }
    }

    /// For each document, whether this rule set wrote its revision, not after another write.
    ///
    /// - Parameter last: The number of that write: see ``PausedRule/lastWrite``.
    package func wrote(
        _ documents: [(id: DocumentID, revision: RevisionID)], upToWrite last: Int
    ) async throws(StateError) -> [Bool] {
        guard !documents.isEmpty, last > 0 else { return documents.map { _ in false } }
        return try await read { [ruleSetNumber] database in
            try database.rowsForEach(
                "SELECT rowid FROM own_write WHERE id = ? AND revision = ? AND rule_set = ? AND rowid <= ? LIMIT 1",
                documents.map { [OwnWrite.key($0.id.text), OwnWrite.key($0.revision.text), ruleSetNumber, last] }
            ).map { !$0.isEmpty }
        }
    }

    private static func earlierWrites(_ dialect: SQLDialect) -> String {
        let wanted = dialect.listed
        let newest = """
            newest WHERE newest.id = \(wanted.element(0)) ORDER BY newest.rowid DESC LIMIT ?
            """
        let columns = "\(wanted.place), revision, content, rule_set, written_at"
        let end = "WHERE revision = \(wanted.element(1)) OR written_at >= ? ORDER BY own_write.rowid"
        return switch dialect {
        // CROSS JOIN keeps this order of the tables. An index has the rows of one id in the order of their rowids.
        case .sqlite:
            """
            SELECT \(columns) FROM \(wanted.rows) CROSS JOIN own_write
            ON own_write.rowid IN (SELECT newest.rowid FROM own_write AS \(newest)) \(end)
            """
        case .postgres:
            """
            SELECT \(columns) FROM \(wanted.rows)
            CROSS JOIN LATERAL (SELECT * FROM own_write AS \(newest)) AS own_write \(end)
            """
        }
    }

    private var ruleSetNumber: Int { OwnWrite.number(ofRuleSet: ruleSetHash) }
}

/// A write that resulted from a decision.
package struct OwnWrite: Sendable {
    /// The decided document, even if another one was written.
    let id: DocumentID
    /// The revision in the gateway's answer; nil if only other documents were written.
    let revision: RevisionID?
    /// The content that led to the write. Nil if such writes are not counted.
    let content: ContentFingerprint?

    package init(id: DocumentID, revision: RevisionID?, content: ContentFingerprint?) {
        (self.id, self.revision, self.content) = (id, revision, content)
    }

    /// An id or a revision in the ledger. SQLite's JSON functions read strings up to the first U+0000 only.
    static func key(_ text: String) -> String {
        text.utf8.contains(0) ? "sha256-" + Digest.sha256.hex(Array(text.utf8)) : text
    }

    static func number(ofRuleSet hash: String) -> Int {
        ContentFingerprint(bytes: Digest.sha256(Array(hash.utf8))).number
    }
}

/// The earlier writes of decisions about one document.
package struct EarlierWrites: Sendable {
    package struct Write: Sendable {
        /// See ``OwnWrite``.
        let revision: String?
        let content: Int?
        let isFromThisRuleSet: Bool
        /// Seconds since 1970.
        let writtenAt: Int
    }

    /// The oldest first.
    package var writes: [Write] = []

    package init(writes: [Write] = []) {
        self.writes = writes
    }

    /// Whether this rule set wrote this revision.
    ///
    /// - Parameter times: Only revisions written in this range, in seconds since 1970.
    package func include(_ revision: RevisionID, in times: ClosedRange<Int> = 0...Int.max) -> Bool {
        guard !writes.isEmpty else { return false }
        let key = OwnWrite.key(revision.text)
        return writes.contains { $0.isFromThisRuleSet && $0.revision == key && times.contains($0.writtenAt) }
    }

    /// Whether the newest write is of this revision.
    package func end(with revision: RevisionID) -> Bool {
        writes.last.map { $0.revision == OwnWrite.key(revision.text) } ?? false
    }

    /// How many times a content led to a write.
    package struct EffectCount: Sendable, Equatable {
        /// In total, including writes with other contents in between.
        package let all: Int
        /// Since another content of the document last led to a write.
        package let consecutive: Int
    }

    /// How many times this content led to a write, by any rules.
    ///
    /// - Parameter times: In seconds since 1970, up to now: a later time comes from a clock that was ahead.
    package func count(of content: ContentFingerprint, in times: ClosedRange<Int>) -> EffectCount {
        guard !writes.isEmpty else { return EffectCount(all: 0, consecutive: 0) }
        let contents = writes.lazy.filter { times.contains($0.writtenAt) }.compactMap(\.content)
        return EffectCount(
            all: contents.count { $0 == content.number },
            consecutive: contents.reversed().prefix { $0 == content.number }.count)
    }
}

extension ContentFingerprint {
    /// As stored in the ledger: the first 64 bits.
    fileprivate var number: Int { Int(truncatingIfNeeded: words.high) }
}
