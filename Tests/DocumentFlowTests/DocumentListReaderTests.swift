import DocumentFlow
import GatewayClient
import Logging
import TestKit
import Testing

/// The list of documents, read from a gateway that fails intermittently.
@Suite(.limitedParallelism) struct DocumentListReaderTests {
    /// How the gateway answers a request for the list.
    enum Step: Sendable {
        case page([String])
        case status(Int)
        /// Ends the connection without an answer.
        case hangUp
    }

    private struct HangUp: Error {}

    private static func page(_ ids: [String]) -> String {
        let rows = ids.map { #"{"key":"\#($0)","id":"\#($0)","value":{"rev":"1-a"},"doc":{"_id":"\#($0)"}}"# }
        return "{\"rows\":[\n" + rows.joined(separator: "\n,") + "\n],\n\"total_rows\":3,\"update_seq\":7}"
    }

    /// Reads the list from a gateway that performs these steps, one per request. The last one is repeated.
    private func read(
        _ steps: [Step], retryFor: Duration = .seconds(60), _ body: (inout DocumentListReader) async throws -> Void
    ) async throws -> (requests: Int, retries: Int) {
        let requests = EventCounter()
        let retries = EventCounter()
        let server = try TestServer { connection in
            try connection.serve { _ in
                let step = steps[min(requests.count, steps.count - 1)]
                requests.increment()
                let headers = ["Server: Couchbase Sync Gateway/4.1.1 CE", "Content-Type: application/json"]
                switch step {
                case .page(let ids): try connection.answer(headers: headers, body: Self.page(ids))
                case .status(let status): try connection.answer(status, headers: headers, body: "{}")
                case .hangUp: throw HangUp()
                }
            }
        }
        defer { server.stop() }
        let gateway = Gateway(try GatewayURL(server.url("/todo")))
        var settings = RetryPolicy.Settings()
        settings.retryFor = retryFor
        let policy = RetryPolicy(settings, hasSucceeded: true, backoff: Backoff(random: { 0 }))
        let retrier = Retrier(policy, logger: Logger(label: "", factory: { _ in SwiftLogNoOpLogHandler() })) {
            retries.increment()
        }
        var list = DocumentListReader(DocumentPages(of: gateway, pageSize: 2), retrier)
        do { try await body(&list) } catch {
            await gateway.shutdown()
            throw error
        }
        await gateway.shutdown()
        return (requests.count, retries.count)
    }

    @Test(arguments: [
        ([Step.page([])], [], 0),
        ([.page(["a"])], ["a"], 0),
        ([.hangUp, .page(["a"])], ["a"], 1),
        ([.hangUp, .status(503), .page(["a"])], ["a"], 2),
        ([.page(["a", "b"]), .page(["b", "c"]), .page(["c"])], ["a", "b", "c"], 0),
        ([.page(["a", "b"]), .status(500), .page(["b", "c"]), .page(["c"])], ["a", "b", "c"], 1),
    ])
    func eachDocumentIsReadOnceDespiteFailures(steps: [Step], ids: [String], retries: Int) async throws {
        var found: [String] = []
        let counts = try await read(steps) { list in
            while let batch = try await list.next() { found += batch.map(\.id.text) }
            #expect(!list.isForbidden)
        }
        #expect(found == ids)
        #expect(counts.retries == retries)
        #expect(counts.requests >= retries + 1)
    }

    @Test(arguments: [403, 405]) func refusalOfTheFirstPageIsNotAnError(status: Int) async throws {
        let counts = try await read([.status(status)]) { list in
            let batch = try await list.next()
            #expect(batch == nil)
            #expect(list.isForbidden)
        }
        #expect(counts.retries == 0)
    }

    @Test func refusalAfterTheFirstPageIsAnError() async throws {
        await #expect(throws: RunError.self) {
            _ = try await read([.page(["a", "b"]), .status(403)]) { list in
                while try await list.next() != nil {}
                #expect(!list.isForbidden)
            }
        }
    }

    @Test func policyErrorEndsTheReading() async throws {
        let error = await #expect(throws: RunError.self) {
            _ = try await read([.status(500)], retryFor: .milliseconds(1)) { list in _ = try await list.next() }
        }
        #expect(error?.code == .gaveUp)
    }
}
