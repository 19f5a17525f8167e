internal import Encodings

/// How many documents of a run failed, and what happened to them.
package struct Failures: Sendable, Equatable {
    /// What happened to the documents.
    package enum Kind: Sendable {
        case deadLettered
        /// An import refused them.
        case rejected
        /// An export lacks them, or parts of them.
        case notExported
        /// A replication could not read them, or its target refused them.
        case notReplicated
        /// They are still in conflict.
        case notResolved
    }

    /// How many failed.
    package let count: Int
    /// How many could have failed.
    package let documents: Int
    /// What the failed documents are called in ``description``.
    package let kind: Kind
    /// A dry run: ``description`` says what would happen.
    package var isPreview: Bool

    /// - Parameter documents: How many could have failed, the failed ones included.
    package init(_ kind: Kind, _ count: Int, of documents: Int, isPreview: Bool = false) {
        self.kind = kind
        self.count = count
        self.documents = documents
        self.isPreview = isPreview
    }

    /// In percent; 0 if there are no documents.
    var share: Double { documents == 0 ? 0 : Double(count) * 100 / Double(documents) }

    /// With the share: `3 of 10 documents (30%) were rejected`.
    var shareDescription: String {
        "\(count) of \(documents.counted(noun)) (\(ErrorLimit.text(percent: share))) \(predicate)"
    }

    private var noun: String { kind == .notReplicated ? "revision" : "document" }

    private var predicate: String {
        switch (kind, count == 1, isPreview) {
        case (.deadLettered, true, false): "became a dead letter"
        case (.deadLettered, false, false): "became dead letters"
        case (.deadLettered, true, true): "would become a dead letter"
        case (.deadLettered, false, true): "would become dead letters"
        case (.rejected, true, false): "was rejected"
        case (.rejected, false, false): "were rejected"
        case (.rejected, _, true): "would be rejected"
        case (.notReplicated, true, _): "was not replicated"
        case (.notReplicated, false, _): "were not replicated"
        case (.notResolved, true, _): "is left in conflict"
        case (.notResolved, false, _): "are left in conflict"
        case (.notExported, true, _): "is missing or incomplete in the export"
        case (.notExported, false, _): "are missing or incomplete in the export"
        }
    }
}

extension Failures: CustomStringConvertible {
    /// `3 documents were rejected`.
    package var description: String { "\(count.counted(noun)) \(predicate)" }
}

extension RunCounters {
    /// Dead letters among the matched documents. A document that is not JSON is dead-lettered without having matched.
    package var failures: Failures { Failures(.deadLettered, deadLetters, of: max(matched, deadLetters)) }
}
