import Locking
import Testing

@testable import DocumentFlow
@testable import GatewayClient

/// A request that was held back waits for the end of a `Retry-After`, and is sent once more.
@Suite struct RetryAfterWaitTests {
    private static func heldBack(_ seconds: Int) -> GatewayError {
        var error = GatewayError(.unavailable, "busy", status: 503, retryAfter: .seconds(seconds))
        error.isHeldBack = true
        return error
    }

    struct Case: Sendable {
        let answers: [GatewayError?]
        let waits: [Duration]
        let isAnswered: Bool
    }

    @Test(arguments: [
        Case(answers: [nil], waits: [], isAnswered: true),
        Case(answers: [heldBack(5), nil], waits: [.seconds(5)], isAnswered: true),
        // The gateway itself answered, so the caller decides how long to wait.
        Case(answers: [GatewayError(.unavailable, "busy", retryAfter: .seconds(5))], waits: [], isAnswered: false),
        // Once only, and at most as long as the caller permits.
        Case(answers: [heldBack(5), heldBack(5)], waits: [.seconds(5)], isAnswered: false),
        Case(answers: [heldBack(60), nil], waits: [.seconds(60)], isAnswered: true),
        Case(answers: [heldBack(61)], waits: [], isAnswered: false),
    ])
    func retryAfterIsWaitedForOnce(test: Case) async throws {
        let (waits, left) = (Locked<[Duration]>([]), Locked(test.answers))
        let pauses = Pauses { duration in waits.withLock { $0.append(duration) } }
        var isAnswered = true
        do {
            try await pauses.waitOutRetryAfter(upTo: .seconds(60)) {
                if let error = left.withLock({ $0.removeFirst() }) { throw error }
            }
        } catch is GatewayError {
            isAnswered = false
        }
        #expect(isAnswered == test.isAnswered)
        #expect(waits.withLock { $0 } == test.waits)
        #expect(left.withLock { $0.isEmpty })
    }

    @Test func stoppingRunDoesNotSendTheRequestAgain() async {
        let pauses = Pauses { _ in throw RunIsStopping() }
        await #expect(throws: RunIsStopping.self) {
            try await pauses.waitOutRetryAfter(upTo: .seconds(60)) { throw Self.heldBack(1) }
        }
    }
}
