internal import FoundationEssentials
internal import GRDB

/// Writes documents within one transaction and assigns their sequences.
struct DocumentWriter {
    let db: Database
    let rules: WritingRules
    /// The collection and its sync function.
    let store: Store
    /// The user who writes.
    let requestUser: RequestUser
    private var collection: Int64 { store.collection }
    private let firstSequence: Int
    var sequence: Int
    /// The users and roles whose grants change.
    var changedPrincipals: Set<String> = []
    private var revisionKey: Int64
    private var versions: DocumentVersions

    init(_ db: Database, _ store: Store, _ requestUser: RequestUser) throws {
        self.db = db
        self.store = store
        self.requestUser = requestUser
        rules = store.rules
        sequence = try Store.lastSequence(db)
        firstSequence = sequence
        revisionKey = try Int64.fetchOne(db.cachedStatement(sql: "SELECT max(key) FROM revisions")) ?? 0
        versions = try DocumentVersions(db)
    }

    /// Saves the last sequence and removes expired bodies. Must be called once, at the end of the transaction.
    ///
    /// - Returns: The highest sequence.
    func finish() throws -> Int {
        try expireBodies()
        if sequence != firstSequence {
            try db.cachedStatement(sql: "UPDATE counters SET value = ? WHERE name = 'sequence'")
                .execute(arguments: [sequence])
        }
        try versions.finish(db)
        try updateDirectory()
        return sequence
    }

    /// - Throws: ``RequestError`` if the document is refused. Nothing of it is then written.
    mutating func write(_ edit: DocumentEdit) throws -> WrittenRevision {
        let current = try CurrentDocument.find(edit.id, in: collection, db)
        switch edit.kind {
        case .newEdit: return try writeNewEdit(edit, over: current)
        case .replicated(let history): return try writeReplicated(edit, history, over: current)
        }
    }

    private mutating func writeNewEdit(_ edit: DocumentEdit, over current: CurrentDocument?) throws -> WrittenRevision {
        let parent = try parent(of: edit.document, in: current)
        let revision = StoredRevisionID(after: parent?.id, canonicalBody: edit.document.canonicalBody)
        let attachments = try entries(edit, revision, parent)
        let decision = try decision(edit, revision, parent: parent?.key)
        guard let current else { return try place(edit, revision, attachments, decision, parent: nil) }
        return try append(
            edit, revision, attachments, decision, parent: parent, to: current, leafCount: current.leafCount)
    }

    /// - Note: Source: recorded and tried, Sync Gateway 4.1.1: to overwrite a document, a client must name its winning
    ///   revision or its version; for a deleted one, it may omit them. A version in the document (`_cv`) takes
    ///   precedence over a revision. Another branch may be ended with a tombstone, but it may be continued only if
    ///   conflicts are allowed.
    private func parent(of document: IncomingDocument, in current: CurrentDocument?) throws -> ParentRevision? {
        guard let current else {
            guard document.revision == nil, document.version == nil else { throw RequestError.revisionConflict }
            return nil
        }
        if let version = document.version {
            guard version == current.version else { throw RequestError.revisionConflict }
            return current.winner
        }
        guard let named = document.revision else {
            guard current.isDeleted else { throw RequestError.documentExists }
            return current.winner
        }
        if named == current.winner.id.description || named == current.version { return current.winner }
        guard current.leafCount > 1 else { throw RequestError.revisionConflict }
        let tree = try RevisionTree(of: current.key, db)
        guard let leaf = tree[named], tree.isLeaf(leaf),
            rules.allowsConflicts || (document.isDeleted && !leaf.isDeleted)
        else { throw RequestError.revisionConflict }
        return try ParentRevision(leaf, db)
    }

    /// Stores a revision with its history. A revision that already exists changes nothing.
    private mutating func writeReplicated(
        _ edit: DocumentEdit, _ history: [StoredRevisionID], over current: CurrentDocument?
    ) throws -> WrittenRevision {
        guard let current else {
            let attachments = try entries(edit, history[0], nil)
            let decision = try decision(edit, history[0], parent: nil)
            let parent = try insertNames(history.dropFirst(), of: try nextDocumentKey(), onto: nil)
            return try place(edit, history[0], attachments, decision, parent: parent)
        }
        let tree = try RevisionTree(of: current.key, db)
        let known = history.firstIndex { tree[$0.description] != nil } ?? history.endIndex
        guard known > 0 else { return WrittenRevision(id: history[0], version: nil) }
        let joint = known < history.endIndex ? tree[history[known].description] : nil
        guard try isAllowed(edit.document, after: history.dropFirst().first, joint, in: tree, current) else {
            throw RequestError.revisionConflict
        }
        let ancestor = try joint.map { try ParentRevision($0, db) }
        let attachments = try entries(edit, history[0], ancestor)
        let decision = try decision(edit, history[0], parent: ancestor?.key)
        let parent = try insertNames(history[1..<known], of: current.key, onto: ancestor)
        let continues = joint.map(tree.isLeaf) ?? false
        return try append(
            edit, history[0], attachments, decision, parent: parent, to: current,
            leafCount: current.leafCount + (continues ? 0 : 1))
    }

    /// Whether a replicated revision is allowed. Without conflicts it must continue the winner, end another branch, or
    /// begin a new line after the document was deleted.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1, and the rules (a) to (c) of its `IsIllegalConflict`.
    private func isAllowed(
        _ document: IncomingDocument, after parent: StoredRevisionID?, _ joint: RevisionTree.Node?,
        in tree: RevisionTree, _ current: CurrentDocument
    ) throws -> Bool {
        if rules.allowsConflicts || joint?.key == current.winner.key { return true }
        if document.isDeleted {
            guard let joint, joint.id == parent else { return false }
            return tree.isLeaf(joint) && !joint.isDeleted
        }
        return current.isDeleted && joint == nil
    }

    /// Inserts revision ids without bodies, oldest first.
    ///
    /// - Returns: The newest one. `root` if there are none.
    private mutating func insertNames(
        _ names: ArraySlice<StoredRevisionID>, of documentKey: Int64, onto root: ParentRevision?
    ) throws -> ParentRevision? {
        var parent = root
        for name in names.reversed() {
            revisionKey += 1
            try db.cachedStatement(
                sql: """
                    INSERT INTO revisions (key, document, revision, generation, parent, deleted)
                    VALUES (?, ?, ?, ?, ?, 0)
                    """
            ).execute(arguments: [revisionKey, documentKey, name.description, name.generation, parent?.key])
            parent = ParentRevision(key: revisionKey, id: name, attachments: nil)
        }
        return parent
    }

    private func nextDocumentKey() throws -> Int64 {
        (try Int64.fetchOne(db.cachedStatement(sql: "SELECT max(key) FROM documents")) ?? 0) + 1
    }

    /// Inserts a document with its first revision.
    private mutating func place(
        _ edit: DocumentEdit, _ revision: StoredRevisionID, _ attachments: [UInt8]?, _ decision: SyncDecision,
        parent: ParentRevision?
    ) throws -> WrittenRevision {
        revisionKey += 1
        sequence += 1
        try db.cachedStatement(
            sql: "INSERT INTO documents (collection, id, sequence, winner, expires) VALUES (?, ?, ?, ?, ?)"
        ).execute(arguments: [collection, edit.id, sequence, revisionKey, decision.expires])
        let key = db.lastInsertedRowID
        let written = try insert(edit.document, revision, attachments, decision, parent: parent, of: key)
        try apply(decision, to: key, from: [], sequence, (revision.description, edit.document.isDeleted))
        return written
    }

    /// Adds a revision to an existing document.
    private mutating func append(
        _ edit: DocumentEdit, _ revision: StoredRevisionID, _ attachments: [UInt8]?, _ decision: SyncDecision,
        parent: ParentRevision?, to current: CurrentDocument, leafCount: Int
    ) throws -> WrittenRevision {
        revisionKey += 1
        sequence += 1
        let written = try insert(edit.document, revision, attachments, decision, parent: parent, of: current.key)
        if let parent { try supersede(parent) }
        var winner = RevisionTree.Node(
            key: revisionKey, id: revision, parent: parent?.key, isDeleted: edit.document.isDeleted)
        if leafCount > 1 { winner = try RevisionTree(of: current.key, db).winner ?? winner }
        let winning = try winner.key == revisionKey ? decision : redecide(winner, of: edit.id)
        try db.cachedStatement(
            sql: "UPDATE documents SET sequence = ?, winner = ?, leaves = ?, expires = ? WHERE key = ?"
        ).execute(arguments: [sequence, winner.key, leafCount, winning.expires, current.key])
        try apply(
            winning, to: current.key, from: current.channels, sequence, (winner.id.description, winner.isDeleted))
        try prune(current.key, newest: revision, leafCount: leafCount)
        return written
    }

    private mutating func insert(
        _ document: IncomingDocument, _ revision: StoredRevisionID, _ attachments: [UInt8]?, _ decision: SyncDecision,
        parent: ParentRevision?, of documentKey: Int64
    ) throws -> WrittenRevision {
        try storeContents(document.attachments, of: documentKey)
        let version = versions.next(now: rules.preciseNow())
        try db.cachedStatement(
            sql: """
                INSERT INTO revisions (key, document, revision, generation, parent, deleted, attachments, body,
                    channels, version)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            revisionKey, documentKey, revision.description, revision.generation, parent?.key, document.isDeleted,
            attachments.map { Data($0) }, Data(document.body),
            DocumentChannels.write(decision.channels).map { Data($0) }, version,
        ])
        return WrittenRevision(id: revision, version: version)
    }

    private func entries(
        _ edit: DocumentEdit, _ revision: StoredRevisionID, _ parent: ParentRevision?
    ) throws -> [UInt8]? {
        try AttachmentEntries.make(
            edit.document.attachments, parent: parent?.attachments, generation: revision.generation)
    }
}
