internal import GatewayClient

/// Checks each revision of the bot as the gateway stores it.
struct WriteCheck {
    /// How many revisions each side has written, by document.
    private var written: [String: (users: Int, bots: Int)] = [:]
    /// When each document that rules put was last there, as the number of its write.
    private var lastAlive: [String: Int] = [:]
    /// When each revision was written.
    private var times: [String: Int] = [:]
    private var count = 0
    private var conflicts = ConflictCheck()
    private var isReplaced = false

    /// - Parameter parent: The revision that it replaced.
    /// - Throws: ``Violation``.
    mutating func note(
        _ document: StoredDocument, _ revision: StoredRevision, replacing parent: StoredRevision?
    ) throws {
        count += 1
        times["\(document.id) \(revision.id)"] = count
        defer {
            noteLife(of: document, parent)
            conflicts.note(document)
        }
        if revision.author != .user, conflicts.isResolution(document, revision) {
            // A merged revision is like one of a user: rules apply to it.
            if !revision.isDeleted { written[document.id, default: (0, 0)].users += 1 }
            return
        }
        guard case .bot = revision.author else {
            written[document.id, default: (0, 0)].users += 1
            return
        }
        // The resolution of a conflict was under way when the database was replaced.
        if isReplaced, revision.isReplicated, revision.generation != (parent?.generation ?? 0) + 1 {
            written[document.id, default: (0, 0)].users += 1
            return
        }
        if revision.isReplicated { throw conflicts.violation(document, revision) }
        written[document.id, default: (0, 0)].bots += 1
        if Scenario.isTotal(document.id) { return try TotalCheck.checkWrite(document, revision, replacing: parent) }
        let isDomino = Scenario.domino(document.id) != nil
        if let put = Scenario.putBody(document.id), !isDomino || parent == nil {
            // Rules apply to it.
            if isDomino { written[document.id, default: (0, 0)].users += 2 }
            return try checkPut(document, revision, parent, put)
        }
        try checkOwnWrite(document, revision, parent)
        if Scenario.onlyNotesErrand(revision) { written[document.id, default: (0, 0)].users += 1 }
        let numbers = written[document.id, default: (0, 0)]
        guard numbers.bots <= numbers.users else {
            throw Violation(
                guarantee: .loops,
                detail: "\(document.id) has \(numbers.users) revisions of users, and \(numbers.bots) of the bot")
        }
    }

    /// The database was replaced.
    ///
    /// - Parameters:
    ///   - documents: Those that it now has.
    ///   - copy: The check when it was copied; nil for an empty database.
    mutating func noteReset(_ documents: [String: StoredDocument], copy: WriteCheck?) {
        count += 1
        isReplaced = true
        written = copy?.written ?? [:]
        for (id, last) in lastAlive where last == .max && documents[id]?.body == nil { lastAlive[id] = count }
        for (id, document) in documents where document.body != nil { lastAlive[id] = .max }
    }

    private mutating func noteLife(of document: StoredDocument, _ parent: StoredRevision?) {
        // A document that is deleted now was there until now.
        if document.body != nil || parent?.isDeleted == false { lastAlive[document.id] = count }
        if document.body != nil { lastAlive[document.id] = .max }
    }

    /// A document that a rule puts is only created, with the content that the rule gives.
    private func checkPut(
        _ document: StoredDocument, _ revision: StoredRevision, _ parent: StoredRevision?, _ wanted: String
    ) throws {
        guard parent?.isDeleted != false else {
            throw Violation(guarantee: .edits, detail: "\(document.id) exists and was put again")
        }
        guard !revision.isDeleted, revision.body.text == wanted else {
            throw Violation(guarantee: .bytes, detail: "\(document.id) is \(revision.body.text), not \(wanted)")
        }
    }

    /// The bot's revision is the one before it, with the effect of the rule that matches that one.
    private func checkOwnWrite(
        _ document: StoredDocument, _ revision: StoredRevision, _ parent: StoredRevision?
    ) throws {
        guard let parent, !parent.isDeleted else {
            throw Violation(guarantee: .edits, detail: "\(document.id) was deleted, and the bot writes it")
        }
        guard let effect = Scenario.effect(on: parent) else {
            throw Violation(
                guarantee: .bytes, detail: "no rule matches \(document.id) \(parent.id.short) \(parent.body.text)")
        }
        switch effect {
        case .delete:
            guard revision.isDeleted else {
                throw Violation(guarantee: .bytes, detail: "\(document.id) must be deleted, not changed")
            }
        case .event: throw change(document, revision, parent)
        case .attach(let picture):
            guard !revision.isDeleted, revision.body == parent.body else { throw change(document, revision, parent) }
            try AttachmentCheck.check(document.id, revision, parent, adding: picture)
        case .merge(let member):
            let expected = parent.body.members.map(\.bytes) + [Array(member.utf8)]
            let further = Scenario.furtherMember(on: parent).map { expected + [Array($0.utf8)] }
            let found = revision.body.members.map(\.bytes)
            guard !revision.isDeleted, found == expected || found == further else {
                throw change(document, revision, parent)
            }
            try AttachmentCheck.check(document.id, revision, parent, adding: nil)
            for put in Scenario.puts(document.id, parent) { try checkOrder(document, parent, put) }
        }
    }

    private func change(
        _ document: StoredDocument, _ revision: StoredRevision, _ parent: StoredRevision
    ) -> Violation {
        Violation(
            guarantee: .bytes,
            detail: "\(document.id) \(parent.id.short) \(parent.body.text) became \(revision.body.text)")
    }

    /// The other document was there at some time after the bot could have seen the changed one.
    private func checkOrder(_ document: StoredDocument, _ parent: StoredRevision, _ put: String) throws {
        let alive = lastAlive[put] ?? 0
        guard alive < times["\(document.id) \(parent.id)"] ?? 0 else { return }
        throw Violation(
            guarantee: .order,
            detail: "\(document.id) \(parent.id.short) is marked, but \(put) was not written")
    }
}
