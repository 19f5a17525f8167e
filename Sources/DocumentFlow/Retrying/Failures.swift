internal import Encodings

/// How many documents of a run failed, and in which way.
package struct Failures: Sendable, Equatable {
    /// The result for the failed documents.
    package enum Kind: Sendable {
        case deadLettered
        /// An import refused them.
        case rejected
        /// They are missing or incomplete in an export.
        case notExported
        /// A replication could not read them, or its target refused them.
        case notReplicated
        /// They are still in conflict.
        case notResolved
    }

    /// The number of failed documents.
    package let count: Int
    /// The number of documents that could have failed.
    package let documents: Int
    /// Determines the wording of ``description``.
    package let kind: Kind
    /// Whether this is a dry run: ``description`` then states what would happen.
    package var isPreview: Bool

    /// - Parameter documents: The documents that could have failed, including those that did.
    package init(_ kind: Kind, _ count: Int, of documents: Int, isPreview: Bool = false) {
        self.kind = kind
        self.count = count
        self.documents = documents
        self.isPreview = isPreview
    }

    /// In percent. 0 without documents.
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
    /// The dead letters among the matched documents. A document that is not JSON is dead-lettered without a match.
    package var failures: Failures { Failures(.deadLettered, deadLetters, of: max(matched, deadLetters)) }
}
