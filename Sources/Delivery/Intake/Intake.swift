package import BotState
internal import DocumentFlow
package import GatewayClient
internal import LosslessJSON
package import Rules

/// Receives changes or documents from one task, and submits those on which a rule may fire to the writers.
///
/// Do not share it between tasks: its decider is not shared.
package struct Intake {
    package let filter: ChangeFilter
    let flow: CandidateFlow
    let progress: RunProgress
    package let ledger: Ledger
    let deadLettered: DeadLetteredDocuments
    let deadLetterLog: DeadLetterLog
    let mode: Mode
    let settings: Delivery.Settings
    /// Nil: no rule counts, or this run does not keep the counts.
    var counts: Counts?
    /// Nil: no rule compares documents with earlier states, or other members share the work.
    var unchanged: UnchangedDocuments?

    /// Takes a batch of the feed and returns once there is room for the next.
    ///
    /// - Throws: ``StateError`` if a dead letter can't be written; `CancellationError` while it waits for room, after
    ///   it has taken the batch; `RunError` if too many documents failed.
    package func take(_ rows: ChangesBatch.SubSequence?, reached: SequenceID) async throws {
        var counted: Set<DocumentID>?
        if let counts, let rows { counted = try await counts.documentsToDecide(among: rows, flow.queue) }
        var filtered = rows.map { filter.filter($0, counted: counted) } ?? ChangeFilter.Result()
        let highestDeadLetterNumber = deadLettered.newest
        try await unchanged?.remove(from: &filtered.matches, filter, flow.queue)
        try await deadLetter(filtered.deadLetters)
        let matches = filtered.matches.compactMap { match in match.sequence.map { (match.preceding, $0) } }
        let tickets = await progress.advance(
            through: matches, to: reached, changes: rows?.count ?? 0, bytes: rows?.byteCount ?? 0)
        let isFinished = InjectedFault.passingCheckpoint.isActive
        if isFinished { await progress.finish(tickets) }
        try await submit(
            zip(filtered.matches, tickets).map { $0.candidate(ticket: isFinished ? nil : $1) }, highestDeadLetterNumber)
        if mode.endsOnceSettled, let counts, let rows { try await decideAgain(counts.outdated(among: rows)) }
        // `dead-letters retry` may have requested that documents are counted again.
        if rows != nil { counts?.noteChange() }
    }

    /// Decides the current content of documents after their older rows. Call this after those rows are submitted.
    private func decideAgain(_ documents: [DocumentID]) async throws {
        try await submit(
            documents.map { Candidate(unread: $0) }, deadLettered.newest)
    }

    /// The same for documents that are not from a feed.
    package func take(_ documents: DocumentBatch) async throws {
        let filtered = filter.filter(documents)
        let highestDeadLetterNumber = deadLettered.newest
        try await deadLetter(filtered.deadLetters)
        await count(documents.map(\.byteCount))
        try await submit(filtered.matches.map { $0.candidate(ticket: nil) }, highestDeadLetterNumber)
    }

    /// The same for dead-lettered documents. Their dead letters are dropped once the documents are written or need no
    /// change.
    package func take(_ documents: [RetriedDocument]) async throws {
        let filtered = filter.filter(documents)
        let highestDeadLetterNumber = deadLettered.newest
        try await deadLetter(filtered.deadLetters)
        try await ledger.drop(filtered.settled)
        await count(documents.map(\.byteCount), deadLetters: filtered.untouched)
        try await submit(filtered.candidates, highestDeadLetterNumber)
    }

    /// Saves dead letters.
    ///
    /// - Throws: `RunError` if too many documents failed.
    func deadLetter(_ deadLetters: [DeadLetter]) async throws {
        guard !deadLetters.isEmpty else { return }
        let deadLetters = Array(deadLetters.prefix(await progress.admit(deadLetters.count, settings.errorLimit)))
        deadLetterLog.report(deadLetters)
        settings.observe(deadLetters)
        deadLettered.insert(deadLetters, numbers: try await ledger.keep(deadLetters))
        try await progress.check(settings.errorLimit)
    }

    /// - Parameter bytes: The size of each document.
    private func count(_ bytes: [Int], deadLetters: Int = 0) async {
        await progress.count { counters in
            counters.changes += bytes.count
            counters.traffic.bytesIn += bytes.reduce(0, +)
            counters.deadLetters += deadLetters
        }
    }

    func submit(_ candidates: [Candidate], _ highestDeadLetterNumber: Int) async throws {
        try await flow.submit(candidates, highestDeadLetterNumber)
    }
}

extension CandidateFlow {
    /// Adds candidates that were just read, and returns once there is room for more.
    ///
    /// - Parameter highestDeadLetterNumber: The highest number of a dead letter when the candidates were read.
    /// - Throws: `CancellationError`, while it waits: the candidates are added.
    func submit(_ candidates: [Candidate], _ highestDeadLetterNumber: Int) async throws {
        guard !candidates.isEmpty else { return }
        await submit(
            candidates.map { candidate in
                var candidate = candidate
                candidate.content.highestDeadLetterNumber = highestDeadLetterNumber
                return candidate
            })
        // Reading stops until the writers have freed enough memory.
        try await budget.room()
    }
}

/// Finds the documents, in a batch of the feed or of a full pass, on which some rule may fire. All others are inspected
/// only once.
package struct ChangeFilter {
    /// A document that needs work. From a feed: with the sequence of the row before it, if that row needs no work.
    struct Match {
        var preceding: SequenceID?
        var sequence: SequenceID?
        let id: DocumentID
        let revision: RevisionID?
        var isDeleted = false
        var isLost = false
        /// The leaf revisions that a row of the feed names; nil without one.
        var leaves: [RevisionID]?
        /// A part of what was read; nil if it came without the document.
        let document: JSONValue?
        /// Whether only rules with `changed`, `enter` or `leave` may fire, and no total requires a decision.
        var isOnlyCompared = false

        func candidate(ticket: SafeSequenceTracker.Ticket?) -> Candidate {
            let bytes = isLost ? Candidate.lostDocument(id, revision) : document.map { Array($0.bytes) } ?? []
            return Candidate(
                id, Content(revision, bytes, isDeleted: isDeleted || isLost, isLost: isLost),
                reason: Reason(sequence: sequence, leaves: leaves), acknowledgements: Acknowledgements(ticket))
        }
    }

    struct Result {
        var matches: [Match] = []
        /// Dead letters of documents that are not JSON and so can't be decided.
        var deadLetters: [DeadLetter] = []
    }

    package let decider: Decider
    /// False for a full pass: it decides live documents only, even if it reads them from a feed.
    var decidesTombstones = true
    /// Documents with dead letters are decided even if no rule fires on them now, because their dead letters may
    /// be obsolete.
    var deadLettered = DeadLetteredDocuments()
    /// Documents with timers are decided even if no rule fires on them now, because their timers may be obsolete.
    var timers: DocumentTimers?
    /// Documents that a rule with `enter` or `leave` knows are decided even if no rule fires on them now, because they
    /// may have left.
    var lastSeen: LastSeenDocuments?
    var interruptions = InterruptedDecisions()
    /// Whether the rows of the feed name all leaf revisions.
    var namesLeaves = false
    /// Records which document is being read, in case it crashes the process.
    var note = InterruptedDecisions().makeNote(0)

    /// Whether the document must be decided. Usually allocates nothing for a document that need not be.
    ///
    /// - Parameters:
    ///   - name: The UTF-8 of its id and revision.
    ///   - id: Evaluated only if any document has dead letters or timers.
    private func isWanted(
        _ document: JSONValue, _ name: (id: ArraySlice<UInt8>, revision: ArraySlice<UInt8>),
        _ id: @autoclosure () -> DocumentID, isDeleted: Bool, mayBeInConflict: Bool = false
    ) -> Bool {
        note.begin(id: name.id, revision: name.revision)
        return decider.mayFire(on: document, isDeleted: isDeleted, mayBeInConflict: mayBeInConflict)
            || deadLettered.mayContain(id())
            || timers?.mayContain(id()) ?? false
            || lastSeen?.mayRemember(id()) ?? false
    }

    /// - Parameter counted: Documents that must be decided because they add to totals, even if no rule can fire on
    ///   them. Nil: no rule counts.
    func filter(_ rows: ChangesBatch.SubSequence, counted: Set<DocumentID>? = nil) -> Result {
        var result = Result()
        var preceding: Change?
        // A document may come twice, and its second row may cancel its contribution to totals.
        var counted = counted
        for change in rows {
            let isToBeRead = isToBeRead(change)
            let isExcluded =
                !isToBeRead && interruptions.isExcluded(change.id, change.revision) && change.sequence != nil
            if !isExcluded, let match = match(change, isToBeRead: isToBeRead, after: preceding, counted) {
                result.matches.append(match)
                preceding = nil
                counted?.insert(change.id)
                continue
            }
            if isExcluded {
                result.deadLetters.append(Self.deadLetter(change, InterruptedDecisions.reason))
            } else if case .malformed(let error) = change.kind {
                result.deadLetters.append(Self.deadLetter(change, Self.reason(error)))
            }
            preceding = change
        }
        note.end()
        return result
    }

    /// Nil if the row needs no work. For such a row, nothing is copied.
    private func match(
        _ change: Change, isToBeRead: Bool, after preceding: Change?, _ counted: Set<DocumentID>?
    ) -> Match? {
        if isToBeRead { return match(change, after: preceding, nil) }
        if isLost(change) { return match(change, after: preceding, nil, isLost: true) }
        guard let document = document(toDecide: change, counted) else { return nil }
        var match = match(change, after: preceding, document)
        match?.isOnlyCompared = isOnlyCompared(change, document, counted)
        return match
    }

    private func match(
        _ change: Change, after preceding: Change?, _ document: JSONValue?, isLost: Bool = false
    ) -> Match? {
        guard let sequence = change.sequence else { return nil }
        return Match(
            preceding: preceding?.sequence, sequence: sequence, id: change.id, revision: change.revision,
            isDeleted: change.kind == .tombstone, isLost: isLost, leaves: leaves(of: change), document: document)
    }

    /// Whether a document that must be decided need not be if rules with `changed`, `enter` or `leave` see nothing new,
    /// unless ``hasObsoleteRecords(_:)``.
    private func isOnlyCompared(_ change: Change, _ document: JSONValue, _ counted: Set<DocumentID>?) -> Bool {
        decider.onlyCompares(document) && change.kind == .document && change.revisions.count <= 1
            && document["_id"]?.isString(change.id.text) == true && counted?.contains(change.id) != true
    }

    /// Whether a decision may find that a record about this document is obsolete: a dead letter, a timer, or the note of
    /// a crash.
    func hasObsoleteRecords(_ id: DocumentID) -> Bool {
        deadLettered.mayContain(id) || timers?.mayContain(id) ?? false || interruptions.isSuspect(id)
    }

    /// Whether a row came without its body: the document has changed again, or the gateway failed to read it. In the
    /// second case no other row will follow.
    private func isToBeRead(_ change: Change) -> Bool { change.kind == .withoutBody && !change.id.text.isEmpty }

    /// Whether a rule may know a document that this client can't see any longer.
    private func isLost(_ change: Change) -> Bool {
        guard let lastSeen else { return false }
        return [.removed, .revoked].contains(change.kind) && lastSeen.mayRemember(change.id)
    }

    private func leaves(of change: Change) -> [RevisionID]? { namesLeaves ? change.revisions : nil }

    private func document(toDecide change: Change, _ counted: Set<DocumentID>?) -> JSONValue? {
        let kind = change.kind
        guard kind == .document || kind == .tombstone && decidesTombstones, let document = change.document,
            isWanted(
                document, change.name, change.id, isDeleted: kind == .tombstone,
                mayBeInConflict: namesLeaves && change.revisions.count > 1)
                || counted?.contains(change.id) == true
        else { return nil }
        return document
    }

    func filter(_ documents: DocumentBatch) -> Result {
        var result = Result()
        for document in documents {
            switch document.kind {
            case .document:
                guard let body = document.document else { continue }
                guard !interruptions.isExcluded(document.id, document.revision) else {
                    result.deadLetters.append(Self.deadLetter(document, InterruptedDecisions.reason))
                    continue
                }
                guard isWanted(body, document.name, document.id, isDeleted: false) else { continue }
                result.matches.append(
                    Match(id: document.id, revision: document.revision, document: body))
            case .malformed(let error):
                result.deadLetters.append(Self.deadLetter(document, Self.reason(error)))
            case .unreadable(let reason):
                result.deadLetters.append(Self.deadLetter(document, "can't be read: \(reason)"))
            case .deleted, .missing: continue
            }
        }
        note.end()
        return result
    }

    // MARK: - Dead letters

    private static func reason(_ error: JSONError) -> String {
        "the document is not JSON: \(error), at byte \(error.offset) of its row"
    }

    private static func deadLetter(_ change: Change, _ reason: String) -> DeadLetter {
        DeadLetter(sequence: change.sequence, id: change.id, revision: change.revision, reason: reason)
    }

    private static func deadLetter(_ document: ListedDocument, _ reason: String) -> DeadLetter {
        DeadLetter(sequence: nil, id: document.id, revision: document.revision, reason: reason)
    }
}

// MARK: - Without the version

// Sync Gateway 4 adds `_cv` to documents that it serves. Writes are guarded by `_rev`, and the two could disagree.

extension JSONText {
    func withoutVersion() throws(JSONEditError) -> JSONText {
        root["_cv"] == nil ? self : try removing(JSONPointer(tokens: ["_cv"]))
    }
}
