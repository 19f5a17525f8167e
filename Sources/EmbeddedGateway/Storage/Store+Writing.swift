internal import Foundation
internal import GRDB

/// One document to write.
struct DocumentEdit: Sendable {
    enum Kind: Sendable {
        /// The gateway names the revision; the document's `_rev` is its parent.
        case newEdit
        /// The revision has its name already (`"new_edits":false`), newest first.
        case replicated([RevisionID])
    }

    let id: String
    let document: IncomingDocument
    let kind: Kind
}

extension Store {
    /// Writes documents in one transaction, in their order. Each has its own outcome: a refused one stops no other.
    func write(_ edits: [DocumentEdit]) async throws -> [Result<RevisionID, GatewayFault>] {
        let (outcomes, sequence) = try await database.write { db in
            var writer = try DocumentWriter(db)
            var outcomes: [Result<RevisionID, GatewayFault>] = []
            outcomes.reserveCapacity(edits.count)
            for edit in edits {
                do { outcomes.append(.success(try writer.write(edit))) } catch let fault as GatewayFault {
                    outcomes.append(.failure(fault))
                }
            }
            return (outcomes, try writer.finish())
        }
        signal.advance(to: sequence)
        return outcomes
    }

    func write(_ edit: DocumentEdit) async throws -> RevisionID { try await write([edit])[0].get() }
}

/// Writes documents within one transaction and gives out their sequences.
struct DocumentWriter {
    private let db: Database
    private let firstSequence: Int
    private var sequence: Int
    private var revisionKey: Int64

    /// How many generations of a document are kept.
    ///
    /// - Note: Source: `revs_limit` of Sync Gateway, 50 where conflicts are not allowed.
    static let generationLimit = 50

    init(_ db: Database) throws {
        self.db = db
        sequence = try Store.lastSequence(db)
        firstSequence = sequence
        revisionKey = try Int64.fetchOne(db.cachedStatement(sql: "SELECT max(key) FROM revisions")) ?? 0
    }

    /// Keeps the sequences that were given out. Call once, at the end of the transaction.
    ///
    /// - Returns: The highest.
    func finish() throws -> Int {
        if sequence != firstSequence {
            try db.cachedStatement(sql: "UPDATE counters SET value = ? WHERE name = 'sequence'")
                .execute(arguments: [sequence])
        }
        return sequence
    }

    /// - Throws: ``GatewayFault`` if the document is refused; nothing of it is written then.
    mutating func write(_ edit: DocumentEdit) throws -> RevisionID {
        let current = try Winner.find(edit.id, db)
        switch edit.kind {
        case .newEdit: return try writeNewEdit(edit, over: current)
        case .replicated(let history): return try writeReplicated(edit, history, over: current)
        }
    }

    private mutating func writeNewEdit(_ edit: DocumentEdit, over current: Winner?) throws -> RevisionID {
        try Self.check(edit.document.revision, against: current)
        let parent = current.flatMap { RevisionID($0.revision) }
        let revision = RevisionID(after: parent, canonicalBody: edit.document.canonicalBody)
        try insert(edit, revision, parentKey: current?.revisionKey, over: current)
        return revision
    }

    /// - Note: Source: recorded, Sync Gateway 4.1.1: a document is overwritten by naming its winning revision only; a
    ///   deleted one also by naming none.
    private static func check(_ revision: String?, against current: Winner?) throws(GatewayFault) {
        switch (revision, current) {
        case (nil, nil): return
        case (nil, let current?): if !current.isDeleted { throw .documentExists }
        case (let revision?, let current): if revision != current?.revision { throw .revisionConflict }
        }
    }

    /// Takes a revision over with its history. One that is there already changes nothing; one that does not continue
    /// the winning revision would be a conflict.
    private mutating func writeReplicated(
        _ edit: DocumentEdit, _ history: [RevisionID], over current: Winner?
    ) throws -> RevisionID {
        let newest = history[0]
        guard let current else {
            let parentKey = try insertAncestors(history.dropFirst(), of: try documentKeyToCome())
            try insert(edit, newest, parentKey: parentKey, over: nil)
            return newest
        }
        if try current.has(newest, db) { return newest }
        guard let known = history.firstIndex(where: { $0.description == current.revision }) else {
            throw GatewayFault.revisionConflict
        }
        let parentKey = try insertAncestors(
            history[1..<known], of: current.documentKey, onto: current.revisionKey)
        try insert(edit, newest, parentKey: parentKey, over: current)
        return newest
    }

    /// Inserts names without bodies, oldest first.
    ///
    /// - Returns: The key of the newest one, or of what they stand on.
    private mutating func insertAncestors(
        _ names: ArraySlice<RevisionID>, of documentKey: Int64, onto root: Int64? = nil
    ) throws -> Int64? {
        var parent = root
        for name in names.reversed() {
            revisionKey += 1
            try db.cachedStatement(
                sql: """
                    INSERT INTO revisions (key, document, revision, generation, parent, deleted)
                    VALUES (?, ?, ?, ?, ?, 0)
                    """
            ).execute(arguments: [revisionKey, documentKey, name.description, name.generation, parent])
            parent = revisionKey
        }
        return parent
    }

    private func documentKeyToCome() throws -> Int64 {
        (try Int64.fetchOne(db.cachedStatement(sql: "SELECT max(key) FROM documents")) ?? 0) + 1
    }

    private mutating func insert(
        _ edit: DocumentEdit, _ revision: RevisionID, parentKey: Int64?, over current: Winner?
    ) throws {
        let entries = try AttachmentEntries.make(
            edit.document.attachments, parent: current?.attachments, generation: revision.generation)
        revisionKey += 1
        sequence += 1
        let documentKey = try placeDocument(edit.id, current)
        try storeContents(edit.document.attachments, of: documentKey)
        try db.cachedStatement(
            sql: """
                INSERT INTO revisions (key, document, revision, generation, parent, deleted, attachments, body)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            revisionKey, documentKey, revision.description, revision.generation, parentKey,
            edit.document.isDeleted, entries.map { Data($0) }, Data(edit.document.body),
        ])
        if revision.generation > Self.generationLimit {
            try db.cachedStatement(sql: "DELETE FROM revisions WHERE document = ? AND generation <= ?")
                .execute(arguments: [documentKey, revision.generation - Self.generationLimit])
        }
    }

    /// - Returns: The document's key.
    private func placeDocument(_ id: String, _ current: Winner?) throws -> Int64 {
        if let current {
            try db.cachedStatement(sql: "UPDATE documents SET sequence = ?, winner = ? WHERE key = ?")
                .execute(arguments: [sequence, revisionKey, current.documentKey])
            return current.documentKey
        }
        try db.cachedStatement(sql: "INSERT INTO documents (id, sequence, winner) VALUES (?, ?, ?)")
            .execute(arguments: [id, sequence, revisionKey])
        return db.lastInsertedRowID
    }

    private func storeContents(_ attachments: [IncomingAttachment], of documentKey: Int64) throws {
        for case .bytes(let bytes, let digest) in attachments.lazy.map(\.content) {
            try db.cachedStatement(sql: "INSERT OR IGNORE INTO attachments (digest, content) VALUES (?, ?)")
                .execute(arguments: [digest, Data(bytes)])
            try db.cachedStatement(
                sql: """
                    INSERT OR IGNORE INTO document_attachments (document, attachment)
                    SELECT ?, key FROM attachments WHERE digest = ?
                    """
            ).execute(arguments: [documentKey, digest])
        }
    }
}

/// The winning revision of a document, as far as a write must know it.
private struct Winner {
    let documentKey: Int64
    let revisionKey: Int64
    let revision: String
    let isDeleted: Bool
    let attachments: [UInt8]?

    static func find(_ id: String, _ db: Database) throws -> Winner? {
        let statement = try db.cachedStatement(
            sql: """
                SELECT d.key, r.key, r.revision, r.deleted, r.attachments
                FROM documents d JOIN revisions r ON r.key = d.winner WHERE d.id = ?
                """)
        guard let row = try Row.fetchOne(statement, arguments: [id]) else { return nil }
        return Winner(
            documentKey: row[0], revisionKey: row[1], revision: row[2], isDeleted: row[3],
            attachments: (row[4] as Data?).map { Array($0) })
    }

    func has(_ revision: RevisionID, _ db: Database) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: "SELECT 1 FROM revisions WHERE document = ? AND revision = ? AND body IS NOT NULL")
        return try Int.fetchOne(statement, arguments: [documentKey, revision.description]) != nil
    }
}
