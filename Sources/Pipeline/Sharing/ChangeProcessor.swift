internal import Fleet
internal import GatewayClient
internal import Locking
internal import LosslessJSON

/// Decides the changes of a fleet's partitions with the pipeline of this process.
///
/// The pipeline reads each document as it is now, so several changes of one are decided once. What it can't decide
/// becomes a dead letter of the state; what it must wait for, it keeps. So every change is answered as done, unless
/// this process ends before.
struct ChangeProcessor: Processor {
    /// How much memory a document that is still to be read is expected to need.
    private static let expectedBytes = 4096

    let delivery: Delivery

    func process(
        _ changes: [LoggedChange], _ tenure: Fleet.Tenure, _ answer: @escaping @Sendable (LoggedChange, Verdict) -> Void
    ) async {
        guard tenure.isValid else {
            for change in changes { answer(change, .postponed) }
            return
        }
        let open = Monitor(Set(changes.map(\.n)))
        let candidates = changes.map { change in
            var candidate = Self.candidate(change)
            candidate.whenEnded = [
                { isFinished in
                    guard open.with({ $0.contains(change.n) }) else { return }
                    // Removed last: once nothing is open, there is no other answer than these.
                    answer(change, isFinished ? .done : .postponed)
                    _ = open.with { $0.remove(change.n) }
                }
            ]
            return candidate
        }
        try? await delivery.take(candidates)
        await open.wait(until: \.isEmpty)
        // The pipeline may still finish them: they are decided once more then.
        let left = open.with { open in
            defer { open = [] }
            return open
        }
        for change in changes where left.contains(change.n) { answer(change, .postponed) }
    }

    private static func candidate(_ change: LoggedChange) -> Candidate {
        let entry = change.entry
        let id = DocumentID(change.id.text)
        guard entry.isDeleted else {
            return Candidate(
                sequence: SequenceID(entry.sequence), id: id, revision: RevisionID(entry.revision), document: [],
                expectedBytes: expectedBytes)
        }
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("_id", string: id.text)
            writer.member("_rev", string: entry.revision)
            writer.member("_deleted", bool: true)
        }
        return Candidate(
            sequence: SequenceID(entry.sequence), id: id, revision: RevisionID(entry.revision), isDeleted: true,
            document: writer.bytes)
    }
}
