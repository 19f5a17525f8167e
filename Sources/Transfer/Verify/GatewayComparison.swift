package import DocumentFlow
package import GatewayClient
package import Logging
internal import LosslessJSON
internal import Revisions
internal import Rules

/// Compares an export with a gateway: documents that are missing there, differ, or exist only there.
package struct GatewayComparison: Sendable {
    private static let requestSize = 200
    private static let requestBytes = 4 << 20

    private let file: ExportFile
    private let gateway: Gateway
    private let comparesRevisions: Bool
    private let contact: GatewayContact
    private let logger: Logger

    /// - Parameter comparesRevisions: Whether `_rev` must also be equal; always if the export has revisions.
    package init(
        _ file: ExportFile, gateway: Gateway, comparesRevisions: Bool, retries: RetryPolicy.Settings, logger: Logger
    ) {
        self.file = file
        self.gateway = gateway
        self.comparesRevisions = comparesRevisions || file.manifest.options.includesRevisions
        contact = GatewayContact(settings: retries, logger: logger)
        self.logger = logger
    }

    /// Why tables can't be compared: a cell does not distinguish an empty string from a missing member, and columns may
    /// be omitted.
    package static let tableRemedy =
        "a table can't be compared with a gateway: export as ndjson for that; without --against, verify compares the table with its manifest"

    /// Reads the export and the gateway's documents. The search for documents that exist only on the gateway needs a
    /// full export of all channels.
    ///
    /// - Parameter report: Called with each finding, in the order found.
    /// - Throws: `RunError`, ``TransferError``, and what `report` throws.
    package func compare(_ report: (VerificationFinding) throws -> Void) async throws {
        guard !file.manifest.options.format.isTable else {
            throw TransferError(.usage, Self.tableRemedy)
        }
        _ = try await contact.connect(to: gateway, logLevel: .debug)
        // Not earlier, because the first answer tells which server this is.
        let comparison = comparison
        var reader = contact.makeReader(of: gateway)
        var bodies = AttachmentBytesComparison(AttachmentFetcher(gateway: gateway, contact: contact))
        var seen = SeenDocuments()
        var waiting: [JSONText] = []
        var bytes = 0
        try await file.readLines { line in
            guard case .success(let text) = line.document, let id = text.root["_id"]?.string else { return }
            seen.note(DocumentID(id))
            waiting.append(text)
            bytes += text.bytes.count
            guard waiting.count >= Self.requestSize || bytes >= Self.requestBytes else { return }
            try await compare(waiting, by: comparison, &reader, &bodies, report)
            (waiting, bytes) = ([], 0)
        }
        if !waiting.isEmpty { try await compare(waiting, by: comparison, &reader, &bodies, report) }
        if bodies.undecided > 0 {
            logger.notice(
                "only length and type of these attachments could be compared: their digests are of different kinds",
                metadata: [LogKey.attachments: "\(bodies.undecided)"])
        }
        try await findExtraDocuments(seen, report)
    }

    private var comparison: DocumentComparison {
        var comparison = DocumentComparison()
        comparison.comparesRevisions = comparesRevisions
        comparison.comparesNumbersByValue =
            file.manifest.facts.dialect.rewritesNumbers || gateway.dialect.rewritesNumbers
        return comparison
    }

    private func compare(
        _ documents: [JSONText], by comparison: DocumentComparison, _ reader: inout CurrentDocumentReader,
        _ bodies: inout AttachmentBytesComparison, _ report: (VerificationFinding) throws -> Void
    ) async throws {
        if file.manifest.options.includesRevisions {
            return try await compareRevisions(documents, by: comparison, &bodies, report)
        }
        let ids = documents.map { DocumentID($0.root["_id"]?.string ?? "") }
        let lookups = try await reader.read(ids[...], limit: CurrentDocumentReader.answerLimit)
        for ((document, id), lookup) in zip(zip(documents, ids), lookups) {
            let isTombstone = document.root["_deleted"]?.bool == true
            switch lookup {
            case .found(let revision, let text) where !isTombstone:
                if let path = comparison.difference(document.root, text.root) {
                    try report(VerificationFinding(.different, id: id.text, path: path.description))
                } else if let finding = try await bodies.finding(
                    document, text, comparison.undecidedAttachments(document.root, text.root), of: id, revision)
                {
                    try report(finding)
                }
            case .found:
                try report(
                    VerificationFinding(
                        .different, id: id.text, message: "deleted in the export, but not on the gateway"))
            case .deleted, .missing:
                if !isTombstone { try report(VerificationFinding(.missing, id: id.text)) }
            case .refused(let reason):
                try report(VerificationFinding(.unreadable, id: id.text, message: reason))
            }
        }
    }

    // MARK: - Revisions

    private func compareRevisions(
        _ documents: [JSONText], by comparison: DocumentComparison, _ bodies: inout AttachmentBytesComparison,
        _ report: (VerificationFinding) throws -> Void
    ) async throws {
        let keys = documents.map { document in
            BulkGetKey(
                id: DocumentID(document.root["_id"]?.string ?? ""),
                revision: document.root["_rev"]?.string.map { RevisionID($0) })
        }
        let (found, damages) = try await contact.ask { try await revisions(keys) }
        for (document, key) in zip(documents, keys) {
            guard let other = found[key] else {
                let damage = damages.first { $0.id == nil || $0.id == key.id }
                try report(
                    VerificationFinding(
                        damage == nil ? .missing : .unreadable, id: key.id.text, revision: key.revision?.text,
                        message: damage?.reason))
                continue
            }
            if let path = comparison.difference(document.root, other.root) {
                try report(
                    VerificationFinding(
                        .different, id: key.id.text, revision: key.revision?.text, path: path.description))
            } else if var finding = try await bodies.finding(
                document, other, comparison.undecidedAttachments(document.root, other.root), of: key.id, key.revision)
            {
                finding.revision = key.revision?.text
                try report(finding)
            }
        }
    }

    private func revisions(
        _ keys: [BulkGetKey]
    ) async throws(GatewayError) -> (found: [BulkGetKey: JSONText], damages: [BulkGetDamage]) {
        var found: [BulkGetKey: JSONText] = [:]
        var damages: [BulkGetDamage] = []
        var answer = try await gateway.bulkGet(keys, includesHistory: true)
        while let item = try await answer.next() {
            switch item {
            case .attachment, .unavailable: continue
            case .malformed(let damage): damages.append(damage)
            case .revision(let text):
                guard let id = text.root["_id"]?.string else { continue }
                let revision = text.root["_rev"]?.string.map { RevisionID($0) }
                found[BulkGetKey(id: DocumentID(id), revision: revision)] = text
            }
        }
        return (found, damages)
    }

    // MARK: - Documents only on the gateway

    private func findExtraDocuments(_ seen: SeenDocuments, _ report: (VerificationFinding) throws -> Void) async throws
    {
        let options = file.manifest.options
        guard options.since == nil, options.channels == nil else {
            logger.notice("skipped the search for documents that only the gateway has: this is a partial export")
            return
        }
        let matcher = try options.selector.map { text throws(RuleFilesError) in
            DocumentMatcher(try DocumentFilter(text, name: "selector"))
        }
        var list = DocumentListReader(
            DocumentPages(of: gateway, includesDocuments: matcher != nil), contact.makeRetrier())
        while let batch = try await list.next() {
            for document in batch where !seen.contains(document.id) {
                if let matcher, let body = document.document, try !matcher.matches(body) { continue }
                guard document.kind == .document else { continue }
                try report(VerificationFinding(.extra, id: document.id.text, revision: document.revision?.text))
            }
        }
        if list.isForbidden {
            logger.notice(
                "skipped the search for documents that only the gateway has: this user may not list documents")
        }
    }
}
