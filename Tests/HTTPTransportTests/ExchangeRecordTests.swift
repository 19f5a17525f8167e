import Locking
import TestKit
import Testing

@testable import HTTPTransport

@Suite(.limitedParallelism) struct ExchangeRecordTests {
    private let records = Monitor<[HTTPExchangeRecord]>([])

    private var client: HTTPClient {
        var configuration = HTTPClientConfiguration()
        configuration.observer = { [records] record in records.with { $0.append(record) } }
        return HTTPClient(configuration: configuration)
    }

    @Test func exchangesAreRecordedWithoutSecrets() async throws {
        let server = try TestServer { connection in
            try connection.serve { _ in try connection.answer(201, body: "done") }
        }
        var request = HTTPRequest(
            method: "POST", url: server.url("/todo/_x?since=5&a=%20"), body: .bytes(Array("secret".utf8)))
        request.credentials = .basic(user: "amy", password: "hunter2")
        let client = client
        _ = try await client.send(request).body.collect(upTo: 100)
        await client.shutdown()
        let all = records.with { $0 }
        let record = try #require(all.first)
        #expect(all.count == 1)
        #expect(record.method == "POST" && record.target == "/todo/_x?since=5&a=%20")
        #expect(record.status == 201 && record.sent == 6 && record.received == 4 && record.error == nil)
        #expect(!"\(record)".contains("hunter2") && !"\(record)".contains("secret"))
    }

    @Test func failedExchangeIsRecordedWithReason() async throws {
        let server = try TestServer { connection in _ = try connection.readRequest() }
        let client = client
        await #expect(throws: HTTPTransportError.self) { try await client.send(HTTPRequest(url: server.url())) }
        await client.shutdown()
        let record = try #require(records.with { $0.first })
        #expect(record.status == nil && record.error?.code == .connectionClosed && record.target == "/")
    }
}
