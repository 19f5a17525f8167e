internal import Locking

/// Requests that one task waits for. Their answers are delivered together, once.
final class Batch: Sendable {
    private let requests: [JQRequest]
    /// Decides what to keep of an answer.
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

    /// Sends the requests and collects the answers. Blocks. After cancellation, for at most about 100 ms more.
    func put(to conversation: Conversation, stopping: () -> JQError?) {
        var answers: [TimedAnswer] = []
        answers.reserveCapacity(requests.count)
        conversation.put(
            requests, stopping: { stopping() ?? (cancellation.withLock { $0 } ? .cancelled : nil) },
            answer: { answers.append(TimedAnswer(answer: reduce(answers.count, $0.answer), time: $0.time)) })
        finish(answers)
    }
}

/// How the requests of one task are divided among helper processes.
struct BatchParts {
    /// The available helpers.
    struct Helpers {
        /// Helpers that are running and idle.
        var idle: Int
        /// Helpers that may still be started.
        var unstarted: Int
    }

    /// A smaller part is answered sooner than another helper wakes up.
    private static let minimumForIdle = 16
    /// A smaller part does not justify a new helper, which first compiles its programs.
    private static let minimumForNew = 64

    /// In order and without gaps. Sizes differ by at most one.
    let ranges: [Range<Int>]

    init(_ count: Int, _ helpers: Helpers) {
        let parts = max(
            1, min(helpers.idle, count / Self.minimumForIdle),
            min(helpers.idle + helpers.unstarted, count / Self.minimumForNew))
        ranges = (0..<parts).map { count * $0 / parts..<count * ($0 + 1) / parts }
    }
}

/// Collects the answers of a batch's parts, and delivers them in order once all are complete.
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

    /// Must be called once for each part.
    func put(_ answers: [TimedAnswer], of part: Int) {
        let all = state.withLock { state -> [[TimedAnswer]]? in
            state.answers[part] = answers
            state.missing -= 1
            return state.missing == 0 ? state.answers : nil
        }
        if let all { finish(all.count == 1 ? all[0] : Array(all.joined())) }
    }
}
