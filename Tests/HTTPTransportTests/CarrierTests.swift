import HTTPTransport
import Locking
import Testing

/// Servers that are simulated in the client's own process.
@Suite struct CarrierTests {
    /// Passes each request to a function, which answers at once or later.
    private final class Carrier: HTTPCarrier {
        let answer: @Sendable (HTTPRequest, CarriedAnswer) -> Void
        let open = Locked<[UInt64: CarriedAnswer]>([:])
        let deadlines = Locked(0)

        init(_ answer: @escaping @Sendable (HTTPRequest, CarriedAnswer) -> Void) { self.answer = answer }

        func carry(_ request: HTTPRequest, _ answer: CarriedAnswer) {
            open.withLock { $0[answer.id] = answer }
            self.answer(request, answer)
        }

        func cancel(_ id: UInt64) {
            open.withLock { $0.removeValue(forKey: id) }?.fail(.cancelled, "cancelled")
        }

        func extendDeadline(of id: UInt64, to deadline: ContinuousClock.Instant) { deadlines.withLock { $0 += 1 } }
    }

    private func client(_ carrier: Carrier) -> HTTPClient {
        var configuration = HTTPClientConfiguration()
        configuration.carrier = carrier
        return HTTPClient(configuration: configuration)
    }

    @Test func answerArrivesInPieces() async throws {
        let carrier = Carrier { request, answer in
            answer.begin(status: 201, headers: HTTPHeaders([("Server", "Simulated")]))
            answer.append(Array(request.url.utf8))
            answer.append(Array(" \(request.body.count ?? 0)".utf8))
            answer.end()
        }
        let client = client(carrier)
        let source = HTTPBodySource(
            count: 3,
            next: { [left = Locked([[1], [2, 3]] as [[UInt8]])] in
                left.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            })
        let response = try await client.send(
            HTTPRequest(method: "PUT", url: "http://simulated.example/a", body: .source(source)))
        #expect(response.status == 201)
        #expect(response.headers["server"] == "Simulated")
        response.body.extendDeadline(by: .seconds(1))
        #expect(carrier.deadlines.withLock(\.self) == 1)
        #expect(try await response.body.collect(upTo: 100) == Array("http://simulated.example/a 3".utf8))
        await client.shutdown()
    }

    @Test func exchangeFailsBeforeTheHeadOrInTheBody() async throws {
        let client = client(
            Carrier { request, answer in
                if request.method == "GET" {
                    answer.begin(status: 200, headers: HTTPHeaders())
                    answer.append([1])
                }
                answer.fail(.connectionClosed, "cut")
            })
        let request = HTTPRequest(url: "http://simulated.example/")
        let body = try await client.send(request).body
        #expect(try await body.next() == [1])
        await #expect(throws: HTTPTransportError.self) { try await body.next() }
        var post = request
        post.method = "POST"
        await #expect(throws: HTTPTransportError.self) { _ = try await client.send(post) }
    }

    @Test func cancelledRequestEnds() async throws {
        let (began, begin) = AsyncStream<Void>.makeStream()
        let carrier = Carrier { _, _ in begin.yield() }
        let client = client(carrier)
        let task = Task { try await client.send(HTTPRequest(url: "http://simulated.example/")).status }
        for await _ in began { break }
        task.cancel()
        await #expect(throws: HTTPTransportError.self) { try await task.value }
        #expect(carrier.open.withLock(\.isEmpty))
    }

    @Test func producedBodyOfTheWrongLengthIsRefused() async throws {
        let client = client(Carrier { _, _ in Issue.record("it was sent") })
        let source = HTTPBodySource(count: 1, next: { nil })
        let request = HTTPRequest(method: "PUT", url: "http://simulated.example/", body: .source(source))
        await #expect(throws: HTTPTransportError.self) { try await client.send(request) }
    }
}
