import Locking
import Testing

@testable import AccessTokens

@Suite struct AccessTokenSourceTests {
    /// A source whose clock and token server the test controls.
    private final class TestBed: Sendable {
        private struct State {
            var time = ContinuousClock.now
            var results: [Result<TokenAnswer, TokenError>] = []
            var requests = 0
        }

        private let state = Locked(State())
        /// Requests wait until it is open.
        let gate = Monitor(true)
        let failures = Locked<[String]>([])

        var requests: Int { state.withLock { $0.requests } }

        func advance(_ seconds: Double) { state.withLock { $0.time += .seconds(seconds) } }

        func answer(_ results: Result<TokenAnswer, TokenError>...) { state.withLock { $0.results += results } }

        func source() -> AccessTokenSource {
            AccessTokenSource(
                renewal: TokenRenewal(random: { 1 }), now: { self.state.withLock { $0.time } },
                noteFailure: { error in self.failures.withLock { $0.append(error.message) } },
                fetch: { () async throws(TokenError) in
                    await self.gate.wait { $0 }
                    return try self.state.withLock { state in
                        state.requests += 1
                        return state.results.isEmpty ? Self.token("usual") : state.results.removeFirst()
                    }.get()
                })
        }

        static func token(_ text: String, _ seconds: Double = 10) -> Result<TokenAnswer, TokenError> {
            .success(TokenAnswer(text: text, lifetime: .seconds(seconds)))
        }

        static func failure(
            _ kind: TokenError.Kind = .unavailable, retryAfter: Duration? = nil
        ) -> Result<TokenAnswer, TokenError> {
            .failure(TokenError(kind, "no token", retryAfter: retryAfter))
        }
    }

    private let bed = TestBed()

    @Test func allTasksShareOneRequest() async throws {
        let source = bed.source()
        bed.gate.with { $0 = false }
        try await withThrowingTaskGroup(of: AccessToken.self) { group in
            for _ in 0..<50 { group.addTask { try await source.token() } }
            bed.gate.with { $0 = true }
            for try await token in group { #expect(token.text == "usual") }
        }
        #expect(bed.requests == 1)
    }

    @Test func tokenIsRenewedInTheBackground() async throws {
        let source = bed.source()
        bed.answer(TestBed.token("a"), TestBed.token("b"))
        #expect(try await source.token().text == "a")
        bed.advance(8)
        bed.gate.with { $0 = false }
        // The token server is slow, and nothing waits for it.
        for _ in 0..<10 { #expect(try await source.token().text == "a") }
        bed.gate.with { $0 = true }
        while try await source.token().text != "b" { await Task.yield() }
        #expect(bed.requests == 2)
    }

    @Test func failureIsThrownToAllAndNothingIsSentUntilTheNextAttempt() async throws {
        let source = bed.source()
        bed.answer(TestBed.failure(retryAfter: .seconds(30)))
        let first = await #expect(throws: TokenError.self) { try await source.token() }
        #expect(first?.kind == .unavailable && first?.retryAfter == .seconds(30) && first?.isHeldBack == false)
        bed.advance(10)
        for _ in 0..<10 {
            let error = await #expect(throws: TokenError.self) { try await source.token() }
            #expect(error?.isHeldBack == true && error?.retryAfter == .seconds(20) && error?.message == "no token")
        }
        #expect(bed.requests == 1)
        bed.advance(20)
        #expect(try await source.token().text == "usual")
        #expect(bed.requests == 2)
    }

    @Test func failedRenewalIsReportedOnceAndTheTokenIsUsed() async throws {
        let source = bed.source()
        bed.answer(TestBed.token("a", 100), TestBed.failure(), TestBed.failure())
        _ = try await source.token()
        for seconds in [80.0, 5, 5] {
            bed.advance(seconds)
            #expect(try await source.token().text == "a")
            while bed.failures.withLock({ $0.isEmpty }) { await Task.yield() }
        }
        while try await source.token().text == "a" { bed.advance(0.1) }
        #expect(bed.failures.withLock { $0 } == ["no token"])
    }

    @Test func refusedTokenIsReplaced() async throws {
        let source = bed.source()
        bed.answer(TestBed.token("a", 3600), TestBed.token("b", 3600), TestBed.token("c", 3600))
        let first = try await source.token()
        let second = try #require(try await source.token(insteadOf: first))
        #expect(second.text == "b")
        #expect(try await source.token(insteadOf: first) == second)
        // The new token is refused, too.
        #expect(try await source.token(insteadOf: second) == nil)
        let error = await #expect(throws: TokenError.self) { try await source.token() }
        #expect(error?.kind == .refused && error?.isHeldBack == true)
        #expect(error?.message.contains("new access tokens are refused; check their scope") == true)
        #expect(bed.requests == 2)
        bed.advance(2)
        #expect(try await source.token().text == "c")
    }

    @Test func cancelledTaskDoesNotWait() async throws {
        let source = bed.source()
        bed.gate.with { $0 = false }
        let task = Task { try await source.token() }
        task.cancel()
        let error = await #expect(throws: TokenError.self) { try await task.value }
        #expect(error?.kind == .cancelled)
        bed.gate.with { $0 = true }
        #expect(try await source.token().text == "usual")
        #expect(bed.requests == 1)
    }

    @Test func equalMethodsShareASource() {
        func source(_ word: String) -> AccessTokenSource {
            .shared(.command(TokenCommand(["/none", word])), userAgent: "test", noteFailure: { _ in })
        }
        #expect(source("a") === source("a"))
        #expect(source("a") !== source("b"))
    }
}
