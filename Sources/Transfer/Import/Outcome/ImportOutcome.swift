internal import GatewayClient
internal import LosslessJSON

/// What became of one document, or would become of it.
enum ImportOutcome: Sendable, Equatable {
    case inserted
    /// The JSON Patch that leads from what was there to what is; empty where nobody asked.
    case changed([UInt8])
    case deleted
    /// It was there already as it should be.
    case unchanged
    case rejected(reason: String)
}

/// What became of the documents so far.
package struct ImportCounts: Sendable, Equatable {
    package var inserted = 0
    /// Replaced, patched or deleted.
    package var changed = 0
    /// Of those inserted or changed: how many are tombstones.
    package var deleted = 0
    package var unchanged = 0
    package var rejected = 0

    package init() {}

    package var settled: Int { inserted + changed + unchanged + rejected }

    /// - Parameter isDeletion: Whether the document of the input is a tombstone.
    mutating func add(_ outcome: ImportOutcome, isDeletion: Bool) {
        switch outcome {
        case .deleted: deleted += 1
        case .inserted, .changed: deleted += isDeletion ? 1 : 0
        case .unchanged, .rejected: break
        }
        switch outcome {
        case .inserted: inserted += 1
        case .changed, .deleted: changed += 1
        case .unchanged: unchanged += 1
        case .rejected: rejected += 1
        }
    }
}

extension ImportOutcome {
    /// What a dry run says of a document, on one line without a line feed.
    ///
    /// - Parameter document: What would be written, where that is to be shown.
    func preview(of entry: ImportEntry, document: [UInt8]?) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("line", integer: entry.origin.line)
            writer.member("id", optional: entry.id?.text)
            switch self {
            case .inserted: writer.member("action", string: "insert")
            case .deleted: writer.member("action", string: "delete")
            case .unchanged: writer.member("action", string: "leave")
            case .changed(let patch):
                writer.member("action", string: "change")
                writer.member("patch", raw: patch)
            case .rejected(let reason):
                writer.member("action", string: "refuse")
                writer.member("reason", string: reason)
            }
            guard let document else { return }
            var line: [UInt8] = []
            line.appendOnOneLine(document[...])
            writer.member("document", raw: line)
        }
        return writer.bytes
    }
}
