internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// The outcome for one document; in a dry run, the expected one.
enum ImportOutcome: Sendable, Equatable {
    case inserted
    /// The JSON Patch from the old to the new document; empty unless it is a dry run.
    case changed([UInt8])
    case deleted
    /// The gateway had an equivalent document.
    case unchanged
    case rejected(reason: String)
}

/// How many documents had each outcome so far.
package struct ImportCounts: Sendable, Equatable {
    /// Documents that did not exist before. In a restore, includes tombstones.
    package var inserted = 0
    /// Replaced, patched or deleted.
    package var changed = 0
    /// How many of the inserted or changed documents are tombstones.
    package var deleted = 0
    /// Documents that already existed in an equivalent form and were not written.
    package var unchanged = 0
    /// Documents that were not written: invalid, in conflict, or refused by the gateway.
    package var rejected = 0

    /// All zero.
    package init() {}

    /// All documents that have an outcome. ``deleted`` is not added, because those are already counted.
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
    /// Whether the gateway has the input's document, and it is not a tombstone.
    var leavesDocument: Bool {
        switch self {
        case .inserted, .changed, .unchanged: true
        case .deleted, .rejected: false
        }
    }

    /// What a dry run prints for a document, on one line without a line feed.
    ///
    /// - Parameter document: What would be written; nil if it is not shown.
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

/// Counts of the documents that were read, before they are written.
package struct InputCounts: Sendable, Equatable {
    /// Documents of the input, including broken ones.
    package var documents = 0
    /// Documents for which a rule of the mapping fired or failed. Without a mapping: documents that the selector
    /// matches.
    package var matched = 0
    /// How often each rule of the mapping fired, by its name.
    package var rules: [String: Int] = [:]

    /// All zero.
    package init() {}

    /// The counts of one document.
    ///
    /// - Parameters:
    ///   - mapped: The result of the mapping; nil if there is none.
    ///   - isSelected: Whether there is something to write or to reject.
    init(_ item: SourceItem, _ mapped: MappingResult?, isSelected: Bool) {
        documents = 1
        // A broken document matches nothing.
        guard case .document = item else { return }
        guard let mapped else {
            matched = isSelected ? 1 : 0
            return
        }
        matched = mapped.fired.isEmpty && mapped.error?.rule == nil ? 0 : 1
        for rule in mapped.fired { rules[rule, default: 0] += 1 }
    }

    static func += (left: inout InputCounts, right: InputCounts) {
        left.documents += right.documents
        left.matched += right.matched
        left.rules.merge(right.rules) { $0 + $1 }
    }
}

extension InputCounts {
    func write(to writer: inout JSONWriter) {
        writer.member("documents", integer: documents)
        writer.member("matched", integer: matched)
        writer.name("rules")
        writer.object { writer in
            for rule in rules.keys.sorted() { writer.member(rule, integer: rules[rule] ?? 0) }
        }
    }

    /// Nil if this is not valid. Files of earlier versions only have `documents`.
    init?(_ value: JSONValue) {
        guard let documents = value["documents"]?.count else { return nil }
        self.documents = documents
        matched = value["matched"]?.count ?? 0
        guard let fired = value["rules"] else { return }
        for member in fired.members {
            guard let rule = member.name.string, let count = member.value.count else { return nil }
            rules[rule] = count
        }
    }
}
