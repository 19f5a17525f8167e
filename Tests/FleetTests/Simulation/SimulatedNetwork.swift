import Fleet
import TestKit

/// Why a call over the simulated network has no answer.
enum NetworkError: Error {
    /// It was certainly not carried out.
    case notSent
    /// It may have been, or will be.
    case noAnswer
}

/// The network route from one member to one server.
final class SimulatedRoute: @unchecked Sendable {
    /// One server; the same for all members.
    final class Server: @unchecked Sendable {
        /// Calls that arrive are lost.
        var isDown = false
        /// Calls that arrive wait.
        var isFrozen = false { didSet { if !isFrozen { resume() } } }
        private var waiting: [() -> Void] = []

        func take(_ call: @escaping () -> Void) {
            if isDown { return }
            if isFrozen { waiting.append(call) } else { call() }
        }

        private func resume() {
            let calls = waiting
            waiting = []
            for call in calls { call() }
        }
    }

    private final class Pending<Result: Sendable>: @unchecked Sendable {
        var continuation: UnsafeContinuation<Result, Never>?
        func resume(_ result: Result) {
            continuation?.resume(returning: result)
            continuation = nil
        }
    }

    let server: Server
    private let scheduler: Scheduler
    private let timeout: Duration
    var isClosed = false
    var losesRequests = false
    var losesAnswers = false
    /// Some messages take longer than the time limit of a call.
    var isSlow = false

    init(_ server: Server, _ scheduler: Scheduler, timeout: Duration) {
        (self.server, self.scheduler, self.timeout) = (server, scheduler, timeout)
    }

    func call<Answer: Sendable>(_ body: @escaping () -> Answer) async -> Result<Answer, NetworkError> {
        if isClosed || losesRequests && scheduler.chance(0.3) { return .failure(.notSent) }
        let pending = Pending<Result<Answer, NetworkError>>()
        return await withUnsafeContinuation { continuation in
            pending.continuation = continuation
            scheduler.after(timeout) { pending.resume(.failure(.noAnswer)) }
            guard !losesRequests else { return }
            scheduler.after(latency) { [self] in
                server.take { [self] in
                    let answer = body()
                    guard !losesAnswers else { return }
                    scheduler.after(latency) { pending.resume(.success(answer)) }
                }
            }
        }
    }

    private var latency: Duration {
        if isSlow, scheduler.chance(0.1) { return scheduler.time(0, 12) }
        return scheduler.time(0.000_2, scheduler.chance(0.05) ? 0.2 : 0.004)
    }
}

/// The network route to the engine.
struct SimulatedLink: EngineLink {
    let route: SimulatedRoute

    func call<Answer: Sendable>(
        isChange: Bool, _ body: @escaping @Sendable () throws(WorkLogError) -> Answer
    ) async throws(WorkLogError) -> Answer {
        let answer = await route.call { () -> Result<Answer, WorkLogError> in
            do throws(WorkLogError) { return .success(try body()) } catch { return .failure(error) }
        }
        switch answer {
        case .success(let result): return try result.get()
        case .failure(.notSent): throw .unavailable("not sent")
        case .failure(.noAnswer): throw isChange ? .unknownCommit("no answer") : .unavailable("no answer")
        }
    }
}
