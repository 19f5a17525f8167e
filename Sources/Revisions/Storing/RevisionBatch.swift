internal import DocumentFlow
internal import GatewayClient

/// Revisions that are stored by one sender. Small ones are collected and stored together.
package struct RevisionBatch: Sendable {
    /// What the gateway decided about a revision.
    package enum Answer: Sendable {
        case stored
        case refused(isConflict: Bool, reason: String)
    }

    package typealias Note = @Sendable (PreparedRevision, Answer) -> Void

    private let gateway: Gateway
    private var sender: BulkSender
    private let byteLimit: Int
    private var gathered: [PreparedRevision] = []
    private var gatheredBytes = 0

    init(gateway: Gateway, sender: BulkSender, byteLimit: Int) {
        self.gateway = gateway
        self.sender = sender
        self.byteLimit = byteLimit
    }

    /// Stores a revision alone if it has stubs or streamed attachments, otherwise together with others.
    ///
    /// - Parameter whole: The same revision with the bytes of all attachments, if the gateway turns out to lack one.
    /// - Returns: Whether anything was sent.
    /// - Throws: `RunError`, `CancellationError`, what `whole` throws.
    @discardableResult
    package mutating func store(
        _ revision: PreparedRevision, _ note: Note, whole: () async throws -> PreparedRevision? = { nil }
    ) async throws -> Bool {
        if revision.mustBeSentAlone {
            // Its winner may be among them: a gateway that keeps one leaf keeps the first.
            let id = revision.revision.key.id
            if gathered.contains(where: { $0.revision.key.id == id }) { try await storeGathered(note) }
            try await storeAlone(revision, note, whole: whole)
            return true
        }
        gathered.append(revision)
        gatheredBytes += revision.body.count
        guard gatheredBytes >= byteLimit else { return false }
        try await storeGathered(note)
        return true
    }

    /// Stores the remaining revisions.
    ///
    /// - Throws: `RunError`, `CancellationError`. Some revisions may have been stored.
    package mutating func storeGathered(_ note: Note) async throws {
        defer { (gathered, gatheredBytes) = ([], 0) }
        try await storeTogether(gathered, note)
    }

    /// Retries revisions that the gateway did not decide, until the sender gives up.
    ///
    /// - Throws: The same errors as ``storeGathered(_:)``.
    mutating func storeTogether(_ revisions: [PreparedRevision], _ note: Note) async throws {
        var open = revisions
        while !open.isEmpty {
            try Task.checkCancellation()
            let asked = open
            var again: [PreparedRevision] = []
            try await sender.send(
                asked.map(\.document)[...],
                by: { [gateway] part async throws(GatewayError) in
                    try await gateway.storeRevisions(
                        asked[part.indices].map { RevisionToStore($0.document, revision: $0.id) })
                },
                answered: { answered, outcomes in
                    for (revision, outcome) in zip(asked[answered], outcomes) {
                        if let answer = Answer(outcome) {
                            note(revision, answer)
                        } else {
                            again.append(revision)
                        }
                    }
                })
            open = again
        }
    }

    private mutating func storeAlone(
        _ prepared: PreparedRevision, _ note: Note, whole: () async throws -> PreparedRevision?
    ) async throws {
        var revision = prepared
        while true {
            try Task.checkCancellation()
            var last: BulkOutcome?
            let asked = revision
            try await sender.send(
                [asked.document], isPut: true,
                by: { [gateway] _ async throws(GatewayError) in [try await Self.put(asked, at: gateway)] },
                answered: { _, outcomes in last = outcomes.first })
            guard let last else { return }
            if case .rejected = last, asked.hasStubs {
                guard let complete = try await whole() else { return }
                revision = complete
                continue
            }
            if let answer = Answer(last) { return note(asked, answer) }
        }
    }

    private static func put(_ revision: PreparedRevision, at gateway: Gateway) async throws(GatewayError) -> BulkOutcome
    {
        do throws(GatewayError) {
            let id = try await gateway.storeRevision(
                revision.document.id, body: revision.body, attachments: revision.uploads.map(\.upload))
            return .written(id)
        } catch {
            // CouchDB's `missing_stub`, and Sync Gateway's answers to stubs that it can't resolve.
            if revision.hasStubs, let status = error.status, [400, 404, 409, 412].contains(status) {
                return .rejected(status: status, reason: error.message)
            }
            switch error.code {
            case .conflict: return .conflict
            case .invalidRequest, .sourceFailed: return .rejected(status: 400, reason: error.message)
            default: throw error
            }
        }
    }
}

extension RevisionBatch.Answer {
    /// Nil if the gateway did not decide: the revision is sent again.
    fileprivate init?(_ outcome: BulkOutcome) {
        switch outcome {
        case .written: self = .stored
        case .conflict: self = .refused(isConflict: true, reason: outcome.explanation)
        case .rejected: self = .refused(isConflict: false, reason: outcome.explanation)
        case .failed, .undecided, .unmentioned: return nil
        }
    }
}
