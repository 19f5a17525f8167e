internal import Locking

/// Requests that one task waits for. Their answers are delivered once, together.
final class Batch: Sendable {
    private let requests: [JQRequest]
    /// Decides what is kept of an answer.
    private let reduce: @Sendable (_ request: Int, JQAnswer) -> JQAnswer
    private let cancellation: Locked<Bool>
    private let finish: @Sendable ([TimedAnswer]) -> Void

    init(
        _ requests: [JQRequest], cancellation: Locked<Bool>,
        reduce: @escaping @Sendable (_ request: Int, JQAnswer) -> JQAnswer,
        finish: @escaping @Sendable ([TimedAnswer]) -> Void
    ) {
        self.requests = requests
        self.cancellation = cancellation
        self.reduce = reduce
        self.finish = finish
    }

    func fail(_ error: JQError) { finish(Array(repeating: TimedAnswer(answer: .failed(error)), count: requests.count)) }

    /// Sends the requests and collects the answers. Blocks; if the task is cancelled, for at most about 100 ms more.
    func put(to conversation: Conversation, stopping: () -> JQError?) {
        var answers: [TimedAnswer] = []
        answers.reserveCapacity(requests.count)
        conversation.put(
            requests, stopping: { stopping() ?? (cancellation.withLock { $0 } ? .cancelled : nil) },
            answer: { answers.append(TimedAnswer(answer: reduce(answers.count, $0.answer), time: $0.time)) })
        finish(answers)
    }
}

/// How the requests of one task are divided among helpers.
struct BatchParts {
    /// Helpers that have nothing to do.
    struct Helpers {
        /// Those that are running.
        var idle: Int
        /// Those that may be started.
        var unstarted: Int
    }

    /// A part with fewer requests is answered sooner than another helper wakes up.
    private static let leastForIdle = 16
    /// A new helper first compiles all programs that it runs.
    private static let leastForNew = 64

    /// Without gaps and in order; sizes differ by at most one.
    let ranges: [Range<Int>]

    init(_ count: Int, _ helpers: Helpers) {
        let parts = max(
            1, min(helpers.idle, count / Self.leastForIdle),
            min(helpers.idle + helpers.unstarted, count / Self.leastForNew))
        ranges = (0..<parts).map { count * $0 / parts..<count * ($0 + 1) / parts }
    }
}

/// Collects the answers of the parts of a batch, and delivers them in order once all are there.
final class PartialAnswers: Sendable {
    private struct State: Sendable {
        var answers: [[TimedAnswer]]
        var missing: Int
    }

    private let state: Locked<State>
    private let finish: @Sendable ([TimedAnswer]) -> Void

    init(_ parts: Int, finish: @escaping @Sendable ([TimedAnswer]) -> Void) {
        state = Locked(State(answers: Array(repeating: [], count: parts), missing: parts))
        self.finish = finish
    }

    /// Call once for each part.
    func put(_ answers: [TimedAnswer], of part: Int) {
        let all = state.withLock { state -> [[TimedAnswer]]? in
            state.answers[part] = answers
            state.missing -= 1
            return state.missing == 0 ? state.answers : nil
        }
        if let all { finish(all.count == 1 ? all[0] : Array(all.joined())) }
    }
}
