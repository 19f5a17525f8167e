internal import Encodings
internal import FoundationEssentials
internal import GRDB
internal import LosslessJSON
internal import SyncFunctions

/// Calls the sync function, and applies its decisions.
extension DocumentWriter {
    /// Runs the sync function for a new revision.
    ///
    /// - Parameter parent: The key of the parent revision.
    /// - Throws: ``RequestError`` if the function refuses it.
    func decision(_ edit: DocumentEdit, _ revision: StoredRevisionID, parent: Int64?) throws -> SyncDecision {
        let expires = edit.document.expiry.flatMap { DocumentExpiry.time(ofSeconds: $0, now: rules.now()) }
        guard let function = store.function.current else { return try SyncDecision(edit.document, expires: expires) }
        let document = StoredDocument(
            id: edit.id, revision: revision.description, isDeleted: edit.document.isDeleted, body: edit.document.body)
        let call = SyncFunctionCall(
            document: document.text(), parent: try parent.flatMap { try self.parent($0, of: edit.id) },
            user: try writer())
        return try decision(function, call, expires: expires)
    }

    /// Runs the sync function again for a stored revision, as an administrator. A refused document is in no channel.
    func redecide(_ node: RevisionTree.Node, of id: String) throws -> SyncDecision {
        let statement = try db.cachedStatement(
            sql: """
                SELECT r.body, r.channels, d.expires FROM revisions r JOIN documents d ON d.key = r.document
                WHERE r.key = ?
                """)
        guard let row = try Row.fetchOne(statement, arguments: [node.key]) else { return SyncDecision() }
        var known = SyncDecision()
        known.channels = DocumentChannels.read(stored: (row[1] as Data?).map { Array($0) })
        known.expires = row[2]
        guard let function = store.function.current, let body = row[0] as Data? else { return known }
        let document = StoredDocument(
            id: id, revision: node.id.description, isDeleted: node.isDeleted, body: Array(body))
        let call = SyncFunctionCall(
            document: document.text(), parent: try node.parent.flatMap { try parent($0, of: id) }, user: nil)
        do { return try decision(function, call, expires: known.expires) } catch is RequestError {
            return SyncDecision()
        }
    }

    /// Records the channels and grants of a document's winning revision.
    mutating func apply(
        _ decision: SyncDecision, to documentKey: Int64, from channels: [String], _ sequence: Int,
        _ revision: (name: String, isDeleted: Bool)
    ) throws {
        try ChannelRouting(db: db).move(
            documentKey, from: channels, to: decision.channels, sequence: sequence, revision: revision)
        if let expires = decision.expires {
            db.afterNextTransaction { [next = store.nextExpiry] _ in next.bringForward(to: expires) }
        }
        changedPrincipals.formUnion(
            try DocumentGrants(db: db).replace(documentKey, with: decision.grants, sequence: sequence))
    }

    /// Makes the changed grants visible after the commit.
    func updateDirectory() throws {
        guard !changedPrincipals.isEmpty else { return }
        var changed: [String: Principal] = [:]
        for key in changedPrincipals { changed[key] = try PrincipalReader(db: db).principal(key) }
        db.afterNextTransaction { [directory = store.principals, changed] _ in directory.update(changed) }
    }

    private func decision(
        _ function: SyncFunction, _ call: SyncFunctionCall, expires: Int?
    ) throws -> SyncDecision {
        let result: SyncFunctionResult
        do throws(SyncFunction.Failure) { result = try function.call(call) } catch {
            throw error == .timedOut ? RequestError.syncFunctionTimeout : .syncFunctionException
        }
        for line in result.log { rules.log(line) }
        return try SyncDecision(result, collection: store.name, expires: expires, now: rules.now())
    }

    /// The parent as passed to the function. Nil if its body was removed.
    private func parent(_ key: Int64, of id: String) throws -> [UInt8]? {
        let statement = try db.cachedStatement(sql: "SELECT deleted, body, attachments FROM revisions WHERE key = ?")
        guard let row = try Row.fetchOne(statement, arguments: [key]), let body = row[1] as Data? else { return nil }
        var text = JSONWriter(minimumCapacity: body.count + 64)
        text.object { text in
            if row[0] { text.member("_deleted", bool: true) }
            text.member("_id", string: id)
            guard !row[0] else { return }
            if body.count > 2 { text.raw(body.dropFirst().dropLast()) }
            if let stored = row[2] as Data?, let entries = try? JSONText(Array(stored)).root {
                Self.write(entries, to: &text)
            }
        }
        return text.bytes
    }

    /// - Note: Source: tried on Sync Gateway 4.1.1: each entry has `"ver":2`, which documents don't show.
    private static func write(_ entries: JSONValue, to text: inout JSONWriter) {
        guard entries.childCount > 0 else { return }
        text.name("_attachments")
        text.object { list in
            for entry in entries.members {
                list.name(entry.name.string ?? "")
                list.object { members in
                    for member in entry.value.members { members.raw(entry.value.text.bytes[member.range]) }
                    members.member("ver", integer: 2)
                }
            }
        }
    }

    /// The user who writes, with the roles and channels as of this transaction. Nil for an administrator.
    private func writer() throws -> SyncFunctionCall.Writer? {
        guard !requestUser.isAdministrator else { return nil }
        let name = requestUser.name ?? ""
        let reader = PrincipalReader(db: db)
        guard requestUser.isRestricted, let principal = try reader.principal(Principal.user(requestUser.name)) else {
            return .init(
                name: name, roles: [], channels: [RequestUser.publicChannel] + requestUser.channels.keys.sorted())
        }
        let access = ChannelAccess.of(principal, roles: try reader.roles(of: principal))
        return .init(
            name: name, roles: principal.roles,
            channels: (access[store.name] ?? ChannelAccess()).held.keys.sorted())
    }
}
