internal import Locking

/// Requests that one task waits for. Their answers are delivered once, together.
final class Batch: Sendable {
    private let requests: [JQRequest]
    /// Decides what is kept of an answer.
    private let reduce: @Sendable (_ request: Int, JQAnswer) -> JQAnswer
    private let cancellation: Locked<Bool>
    private let finish: @Sendable ([JQAnswer]) -> Void

    init(
        _ requests: [JQRequest], cancellation: Locked<Bool>,
        reduce: @escaping @Sendable (_ request: Int, JQAnswer) -> JQAnswer,
        finish: @escaping @Sendable ([JQAnswer]) -> Void
    ) {
        self.requests = requests
        self.cancellation = cancellation
        self.reduce = reduce
        self.finish = finish
    }

    func fail(_ error: JQError) { finish(Array(repeating: .failed(error), count: requests.count)) }

    /// Sends the requests and collects the answers. Blocks; if the task is cancelled, for at most about 100 ms more.
    func put(to conversation: Conversation, stopping: () -> JQError?) {
        var answers: [JQAnswer] = []
        answers.reserveCapacity(requests.count)
        conversation.put(
            requests, stopping: { stopping() ?? (cancellation.withLock { $0 } ? .cancelled : nil) },
            answer: { answers.append(reduce(answers.count, $0)) })
        finish(answers)
    }
}
