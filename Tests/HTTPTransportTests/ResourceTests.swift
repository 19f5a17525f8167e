import Locking
import TestKit
import Testing

@testable import HTTPTransport

/// The behaviour of a client when the system has no resources left.
@Suite(.limitedParallelism) struct ResourceTests {
    private static let refusals: [@Sendable (inout SystemResources) -> Void] = [
        { $0.pipe = { nil } }, { $0.startThread = { _, _ in false } }, { $0.multiHandle = { nil } },
    ]

    @Test(arguments: 0..<3)
    func everyRequestFailsWithoutPipeThreadOrHandle(index: Int) async throws {
        var resources = SystemResources()
        Self.refusals[index](&resources)
        weak var engine: CurlEngine?
        do {
            let client = HTTPClient(configuration: HTTPClientConfiguration(), resources: resources)
            engine = client.engine
            for _ in 0..<2 {
                let error = await #expect(throws: HTTPTransportError.self) {
                    try await client.send(HTTPRequest(url: "http://127.0.0.1:1/"))
                }
                #expect(error?.code == .outOfResources && error?.isRetryable == false)
            }
            let source = HTTPBodySource(count: 1) { [0] }
            let error = await #expect(throws: HTTPTransportError.self) {
                try await client.send(HTTPRequest(method: "PUT", url: "http://127.0.0.1:1/", body: .source(source)))
            }
            #expect(error?.code == .outOfResources)
            await client.shutdown()
        }
        #expect(engine == nil)
    }

    @Test func requestFailsWithoutHandle() async throws {
        let server = try TestServer { connection in try connection.serve { _ in try connection.answer(body: "x") } }
        let refused = EventCounter()
        var resources = SystemResources()
        resources.easyHandle = { [real = resources.easyHandle] in
            refused.increment()
            return refused.count == 1 ? nil : real()
        }
        let client = HTTPClient(configuration: HTTPClientConfiguration(), resources: resources)
        await #expect(throws: HTTPTransportError(.outOfResources, "")) {
            try await client.send(HTTPRequest(url: server.url()))
        }
        #expect(try await client.send(HTTPRequest(url: server.url())).text() == "x")
    }

    @Test func requestDuringShutdownIsCancelled() async throws {
        let shared = Monitor(HTTPClient?.none)
        var resources = SystemResources()
        resources.easyHandle = { [real = resources.easyHandle] in
            shared.with { $0?.engine.loop.stop() }
            return real()
        }
        let client = HTTPClient(configuration: HTTPClientConfiguration(), resources: resources)
        shared.with { $0 = client }
        defer { shared.with { $0 = nil } }
        await #expect(throws: HTTPTransportError(.cancelled, "")) {
            try await client.send(HTTPRequest(url: "http://127.0.0.1:1/"))
        }
    }
}
