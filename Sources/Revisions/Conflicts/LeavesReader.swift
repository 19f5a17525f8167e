internal import DocumentFlow
package import GatewayClient
internal import LosslessJSON
package import Rules

/// How many documents are read together: as many as have at most `limit` bytes of leaves.
package struct LeavesPortion: Sendable {
    /// In bytes.
    let limit: Int
    /// Whether to read one document, of any size.
    let isSingle: Bool

    package init(limit: Int, isSingle: Bool = false) { (self.limit, self.isSingle) = (limit, isSingle) }

    static let one = LeavesPortion(limit: .max, isSingle: true)
}

/// The leaves of the first documents of a list.
package struct ReadLeaves: Sendable {
    /// The leaves of a document, or why they can't be read.
    package enum Leaves: Sendable {
        case read(Conflict)
        case unreadable(reason: String)
    }

    /// Missing documents have no entry.
    package fileprivate(set) var found: [DocumentID: Leaves] = [:]
    /// How many documents were read, from the first one. 0: the first one is larger than the portion.
    package internal(set) var documentCount = 0

    /// The size of all leaves.
    package var byteCount: Int {
        found.values.reduce(0) { sum, leaves in
            if case .read(let conflict) = leaves { sum + conflict.byteCount } else { sum }
        }
    }

    mutating func replace(_ id: DocumentID, by other: ReadLeaves) { found[id] = other.found[id] }

    /// Removes documents that are not in conflict.
    mutating func removeSettled() {
        found = found.filter { _, leaves in
            guard case .read(let conflict) = leaves else { return true }
            return conflict.leaves.count > 1 || !conflict.leaves.isEmpty && !conflict.deletions.isEmpty
        }
    }
}

/// Reads the leaves of documents in portions, because their sizes are unknown.
struct LeavesReader: Sendable {
    let reader: RevisionsReader

    /// Ends a read.
    private struct IsFull: Error {}

    /// Reads the first documents. What exceeds the portion is not read to the end.
    ///
    /// - Throws: `RunError`, `CancellationError`.
    func read(_ documents: ArraySlice<ChangedDocument>, _ portion: LeavesPortion) async throws -> ReadLeaves {
        let documents = portion.isSingle ? documents.prefix(1) : documents
        var arrived = Arrived()
        let keys = documents.flatMap { document in
            document.revisions.map { BulkGetKey(id: document.id, revision: $0) }
        }
        do {
            try await reader.read(keys) { answer in
                arrived.add(answer)
                if !portion.isSingle, arrived.byteCount > portion.limit { throw IsFull() }
            }
        } catch is IsFull {
            return arrived.first(of: documents, limit: portion.limit)
        }
        return arrived.all(of: documents)
    }

    /// What has arrived so far.
    private struct Arrived {
        private(set) var byteCount = 0
        private var byteCounts: [DocumentID: Int] = [:]
        private var leaves: [DocumentID: [ConflictLeaf]] = [:]
        private var reasons: [DocumentID: String] = [:]
        /// How many revisions of a document were answered.
        private var answers: [DocumentID: Int] = [:]

        mutating func add(_ answer: RevisionsReader.Answer) {
            switch answer {
            case .revision(let text, let key):
                byteCount += text.bytes.count
                byteCounts[key.id, default: 0] += text.bytes.count
                answers[key.id, default: 0] += 1
                if let leaf = ConflictLeaf(text) { leaves[key.id, default: []].append(leaf) }
            case .unreadable(let key, let reason):
                answers[key.id, default: 0] += 1
                if reasons[key.id] == nil { reasons[key.id] = reason }
            }
        }

        /// The first documents, of which all leaves have arrived and fit together.
        func first(of documents: ArraySlice<ChangedDocument>, limit: Int) -> ReadLeaves {
            var bytes = 0
            return all(
                of: documents.prefix { document in
                    bytes += byteCounts[document.id, default: 0]
                    return bytes <= limit && answers[document.id, default: 0] >= document.revisions.count
                })
        }

        func all(of documents: ArraySlice<ChangedDocument>) -> ReadLeaves {
            var read = ReadLeaves()
            read.documentCount = documents.count
            for document in documents {
                if let reason = reasons[document.id] {
                    read.found[document.id] = .unreadable(reason: reason)
                } else if let leaves = leaves[document.id] {
                    read.found[document.id] = .read(Conflict(leaves))
                }
            }
            return read
        }
    }
}
