internal import DocumentFlow
internal import GatewayClient
internal import Revisions

// Documents with conflicting leaf revisions: their leaves are read before the decision.
extension Round {
    /// Reads the other leaves of candidates that may have some.
    mutating func readConflicts() async throws {
        guard let resolver = context.conflicts else { return }
        leaveLargeConflicts()
        let asked = courses.indices.filter { courses[$0].candidate.mayBeInConflict }
        guard !asked.isEmpty else { return }
        let found = try await resolver.conflicts(
            among: asked.map { index in
                let candidate = courses[index].candidate
                return (candidate.id, candidate.reason.leaves)
            })
        for index in asked {
            let answer: Course.Found =
                switch found[courses[index].candidate.id] {
                case .read(let conflict)?: .conflict(conflict)
                case .unreadable(let reason)?: .unreadable(reason: "a leaf revision can't be read: \(reason)")
                case nil: .noConflict
                }
            follow(courses[index].take(answer), of: index)
        }
        dropOver()
    }

    /// Leaves candidates to the next round if their leaves would need too much memory at once. Each leaf is assumed to
    /// be as large as the winner.
    private mutating func leaveLargeConflicts() {
        var bytes = 0
        for index in courses.indices where courses[index].candidate.mayBeInConflict {
            let candidate = courses[index].candidate
            let size = candidate.content.byteCount * (candidate.reason.leaves?.count ?? 2)
            if bytes == 0 || bytes + size <= context.limits.bytes {
                bytes += size
            } else {
                follow(courses[index].leave(), of: index)
            }
        }
        dropOver()
    }
}
