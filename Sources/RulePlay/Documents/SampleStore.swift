internal import Locking
internal import LosslessJSON

/// The sample documents of the page, by their numbers.
package final class SampleStore: Sendable {
    /// The maximum number of documents.
    package static let countLimit = 20_000
    /// The maximum number of bytes of all documents together.
    package static let byteLimit = 256 << 20
    /// The largest document that a page may send.
    static let typedLimit = 4 << 20

    private struct State {
        var samples: [Sample] = []
        var bytes = 0
        var unreadable = UnreadableDocuments()
    }

    private let state = Locked(State())
    /// Held while long documents are decided, one at a time, however many pages ask.
    let longDocuments = TaskLock()

    package init() {}

    package var count: Int { state.withLock { $0.samples.count } }

    /// All documents; their indexes are their numbers.
    var all: [Sample] { state.withLock { $0.samples } }

    subscript(number: Int) -> Sample? {
        state.withLock { $0.samples.indices.contains(number) ? $0.samples[number] : nil }
    }

    /// Adds a document.
    ///
    /// - Returns: False if there is no more room.
    @discardableResult
    package func add(_ sample: Sample) -> Bool {
        state.withLock { state in
            let bytes = state.bytes + sample.byteCount
            guard state.samples.count < Self.countLimit, bytes <= Self.byteLimit else { return false }
            state.samples.append(sample)
            state.bytes = bytes
            return true
        }
    }

    /// Puts another document in the place of one.
    ///
    /// - Returns: False if there is no such document, or no more room.
    func replace(_ number: Int, with sample: Sample) -> Bool {
        state.withLock { state in
            guard state.samples.indices.contains(number) else { return false }
            let bytes = state.bytes - state.samples[number].byteCount + sample.byteCount
            guard bytes <= Self.byteLimit else { return false }
            state.samples[number] = sample
            state.bytes = bytes
            return true
        }
    }

    /// Documents of the input that are left out.
    var unreadable: UnreadableDocuments { state.withLock { $0.unreadable } }

    /// Notes that a document of the input can't be read.
    ///
    /// - Parameter description: `PLACE: what is wrong; what to do`.
    package func leaveOut(_ description: String) { state.withLock { $0.unreadable.add(description) } }

    /// Removes documents. The numbers of the others may change.
    ///
    /// - Parameter onlyExamples: Whether all others stay. Default: false.
    /// - Returns: How many were removed.
    @discardableResult
    func remove(onlyExamples: Bool = false) -> Int {
        state.withLock { state in
            let count = state.samples.count
            state.samples.removeAll { !onlyExamples || $0.isExample }
            state.bytes = state.samples.reduce(0) { $0 + $1.byteCount }
            return count - state.samples.count
        }
    }
}

extension Sample {
    /// The length of the document, and of the earlier one.
    var byteCount: Int { document.bytes.count + (before?.bytes.count ?? 0) }
}
