internal import HTTPServing
internal import NIOConcurrencyHelpers

/// All faults that are due for one request.
struct DueFaults: Sendable {
    /// In the order of the plan.
    let due: [DueFault]

    /// The delays before the request is carried out.
    var delays: [Duration] {
        due.compactMap { fault in
            guard case .latency(let range) = fault.action else { return nil }
            var random = fault.random
            return .milliseconds(random.number(in: range))
        }
    }

    /// How many sequences before `since` a feed begins. Nil if unchanged.
    var rewind: Int? {
        due.compactMap { fault in
            if case .rewind(let count) = fault.action { count } else { nil }
        }.max()
    }

    /// Decides which documents of a batch are refused. Nil for none.
    var refusedDocuments: RefusedDocuments? {
        for fault in due {
            if case .refuseDocuments(let refusal) = fault.action { return RefusedDocuments(refusal, fault.random) }
        }
        return nil
    }

    /// Applies the faults that affect a feed's rows.
    func applyRowFaults(of answer: inout Answer) {
        let rows = RowFaults(due, isContinuous: answer.fields.contains { $0.value == "application/octet-stream" })
        guard answer.status == 200, let rows else { return }
        switch answer.body {
        case .none, .withheld: return
        case .whole(let bytes):
            var rows = rows
            answer.body = .whole(rows.withFaults(bytes))
        case .streamed(let make): answer.body = .streamed { send in try await Self.applyFaults(rows, make, send) }
        }
    }

    private static func applyFaults(
        _ rows: RowFaults, _ make: @Sendable (@escaping Answer.Send) async throws -> Void,
        _ send: @escaping Answer.Send
    ) async throws {
        struct Ended: Error {}
        let rows = NIOLockedValueBox(rows)
        do {
            try await make { bytes in
                let (text, isEnded) = rows.withLockedValue { ($0.withFaults(bytes), $0.isEnded) }
                try await send(text)
                if isEnded { throw Ended() }
            }
        } catch is Ended {}
    }

    /// Applies the faults that affect an answer's bytes.
    func withFaults(_ answer: Answer) -> Answer {
        var answer = answer
        for fault in due {
            switch fault.action {
            case .slice(let bytes, let pause): answer = answer.sliced(bytes, pause)
            case .cut(let range):
                var random = fault.random
                answer = answer.cut(after: random.number(in: range))
            case .dropAfter: answer = .withheld()
            default: break
            }
        }
        return answer
    }
}

/// Decides which documents of one `_bulk_docs` request are refused.
struct RefusedDocuments: Sendable {
    private let refusal: RefusalFault
    private var random: SeededNumbers

    init(_ refusal: RefusalFault, _ random: SeededNumbers) {
        self.refusal = refusal
        self.random = random
    }

    /// Why the next document is refused. Nil if it is accepted.
    mutating func next() -> RequestError? {
        let isRefused = random.share() < refusal.share
        let status = refusal.statuses[random.number(in: 0...refusal.statuses.count - 1)]
        return isRefused ? RequestError(status, refusal.reason) : nil
    }
}
