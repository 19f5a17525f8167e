internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Logging
internal import LosslessJSON
internal import Revisions
internal import Rules

/// Resolves the conflicts of some documents for `changebot resolve`, and reports on them.
struct DocumentResolution: Sendable {
    private let settings: ResolveSettings
    private let report: ResolveReport
    private let logger: Logger
    private let show: Resolver.PreviewReceiver
    private let resolver: ConflictResolver
    private let refusals: Locked<RepeatedMessages>

    init(
        _ gateway: Gateway, _ contact: GatewayContact, _ settings: ResolveSettings, report: ResolveReport,
        logger: Logger, show: @escaping Resolver.PreviewReceiver
    ) {
        self.settings = settings
        self.report = report
        self.logger = logger
        self.show = show
        resolver = ConflictResolver(
            gateway, contact, settings.retries, pauses: Pauses(),
            inlineAttachmentBytes: settings.inlineAttachmentBytes, logger)
        refusals = Locked(
            RepeatedMessages(last: "further documents that are left in conflict are logged at --log-level debug"))
    }

    /// Reads what the policies need before anything is written. While documents are written, CouchDB may compact the
    /// database and lose old revisions.
    ///
    /// - Throws: `RunError`, ``TransferError``, `CancellationError`.
    func readAhead(_ documents: [ChangedDocument], in spool: ConflictSpool) async throws {
        try await forEachPortion(documents) { documents, leaves in
            let cases = conflicts(among: documents, leaves.found) { _ in }
            for (key, revision) in try await resolver.ancestors(of: cases) { try await spool.add(revision, key) }
            for document in documents where leaves.found[document.id] != nil { try await spool.add(document) }
        }
    }

    /// Reads the leaves of documents and passes them on, in portions: their sizes are unknown.
    private func forEachPortion(
        _ documents: [ChangedDocument],
        _ take: (ArraySlice<ChangedDocument>, ReadLeaves) async throws -> Void
    ) async throws {
        var left = documents[...]
        var isSingle = false
        while !left.isEmpty {
            let leaves = try await resolver.leaves(
                of: left, LeavesPortion(limit: settings.portionBytes, isSingle: isSingle))
            // The next document is probably as large as this one.
            isSingle = leaves.documentCount == 0 || isSingle && leaves.byteCount > settings.portionBytes
            guard leaves.documentCount > 0 else { continue }
            try await take(left.prefix(leaves.documentCount), leaves)
            left = left.dropFirst(leaves.documentCount)
        }
    }

    /// - Parameter spool: Contains what was read in advance.
    /// - Throws: `RunError`, ``TransferError``, `CancellationError`. Some documents may have been resolved.
    func resolve(_ documents: [ChangedDocument], using spool: ConflictSpool? = nil) async throws {
        try await forEachPortion(documents) { documents, leaves in
            report.update { $0.counters.traffic.bytesIn += leaves.byteCount }
            try await resolve(documents, leaves, spool)
        }
    }

    private func resolve(
        _ documents: ArraySlice<ChangedDocument>, _ leaves: ReadLeaves, _ spool: ConflictSpool?
    ) async throws {
        var cases = conflicts(among: documents, leaves.found) { omission in
            switch omission {
            case .unreadable(let id, let reason):
                report.update { $0.counters.matched += 1 }
                note(id, "the server could not send a leaf: \(reason)")
            case .noPolicy(let type): report.noteWithoutPolicy(type: type)
            }
        }
        guard !cases.isEmpty else { return }
        try await resolver.decide(&cases, knowing: spool)
        cases.removeAll(where: \.isSettled)
        report.update { [count = cases.count] in $0.counters.matched += count }
        if settings.isDryRun { try await preview(cases) } else { try await write(cases) }
        if let limit = settings.errorLimit, limit.isExceeded(by: report.failures) {
            throw RunError(limit, report.failures)
        }
    }

    /// Why a document in conflict is not decided.
    private enum Omission {
        case unreadable(DocumentID, reason: String)
        /// No policy covers the type of its winner; nil: it has none.
        case noPolicy(type: String?)
    }

    private func conflicts(
        among documents: ArraySlice<ChangedDocument>, _ leaves: [DocumentID: ReadLeaves.Leaves],
        note: (Omission) -> Void
    ) -> [ConflictCase] {
        let matcher = settings.filter.map { DocumentMatcher($0) }
        return documents.compactMap { document in
            switch leaves[document.id] {
            case .unreadable(let reason)?:
                note(.unreadable(document.id, reason: reason))
                return nil
            case .read(let conflict)?:
                guard let winner = conflict.leaves.first?.document.root,
                    (try? matcher?.matches(winner)) != false
                else { return nil }
                guard let one = ConflictCase(document.id, conflict, settings.policies) else {
                    if conflict.leaves.count > 1 { note(.noPolicy(type: winner["type"]?.string)) }
                    return nil
                }
                return one.isConflict ? one : nil
            case nil: return nil
            }
        }
    }

    private func write(_ cases: [ConflictCase]) async throws {
        try await resolver.write(cases) { one, end in
            switch end {
            case .resolved:
                report.noteResolved(one.resolution)
                one.logResolution(to: logger)
            case .nothing, .changed: report.update { $0.resolved += 1 }
            case .left(let reason): note(one.id, reason)
            }
        } count: { [report] sent in
            report.update { $0.counters.addSent(sent) }
        }
    }

    private func note(_ id: DocumentID, _ reason: String) {
        report.update { $0.counters.rejected += 1 }
        refusals.withLock {
            $0.log(
                "a document is left in conflict", .warning, to: logger,
                [LogKey.id: "\(id)", LogKey.reason: "\(reason)"])
        }
    }

    // MARK: - Without writing

    private func preview(_ cases: [ConflictCase]) async throws {
        for one in cases {
            switch one.resolution {
            case .leave(let reason): note(one.id, reason)
            case .keep, .write, .delete:
                report.noteResolved(one.resolution)
                report.update {
                    if case .write = one.resolution { $0.counters.preview.written += 1 }
                    $0.counters.preview.written += one.losers.count
                    $0.counters.preview.deleted += one.losers.count
                }
            }
            try await show(json(one))
        }
    }

    /// `{id, policy, leaves, ancestor, action, …}`.
    private func json(_ one: ConflictCase) -> [UInt8] {
        var line = JSONWriter()
        line.object { line in
            line.member("id", string: one.id.text)
            line.member("policy", string: one.policy.name)
            line.name("leaves")
            line.array { line in for leaf in one.conflict.leaves { line.string(leaf.revision) } }
            line.member("ancestor", optional: one.ancestor)
            switch one.resolution {
            case .keep(let leaf):
                line.member("action", string: "keep")
                line.member("rev", string: one.conflict.leaves[leaf].revision)
            case .write(let document):
                line.member("action", string: "write")
                line.member("document", raw: document.members.bytes)
                line.name("attachments")
                line.array { line in for attachment in document.attachments { line.string(attachment.name) } }
            case .delete: line.member("action", string: "delete")
            case .leave(let reason):
                line.member("action", string: "set-aside")
                line.member("reason", string: reason)
            }
        }
        return line.bytes
    }
}

extension ConflictCase {
    /// The revision at which the two sides of the conflict parted. With a single leaf, or if a deletion wins, the other
    /// side is a deletion.
    fileprivate var ancestor: String? {
        if case .delete = resolution, policy == .deletesWin { return conflict.commonAncestorWithDeletions }
        return conflict.leaves.count > 1 ? conflict.commonAncestor : conflict.commonAncestorWithDeletions
    }
}
