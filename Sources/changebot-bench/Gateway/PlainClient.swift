internal import GatewayClient
internal import HTTPTransport
internal import LosslessJSON

/// Requests to a keyspace with nothing in between: the floor for what a bot can reach.
struct PlainClient: Sendable {
    /// Documents that were prepared for one request.
    struct Bulk: Sendable {
        let body: [UInt8]
        let documents: Int
    }

    private static let largestBulk = 250
    private static let largestBody = 8 << 20
    private static let concurrentRequests = 4

    private let http = HTTPClient()
    private let base: String
    private let credentials: HTTPCredentials?

    /// - Parameter base: The keyspace's URL without a slash at its end.
    init(_ base: String, user: (name: String, password: String)?) {
        self.base = base
        credentials = user.map { .basic(user: $0.name, password: $0.password) }
    }

    /// - Throws: ``BenchmarkError`` for every status but 2xx.
    @discardableResult
    func send(_ method: String, _ path: String, body: [UInt8]? = nil) async throws -> [UInt8] {
        let headers = [(name: "Accept", value: "application/json")]
        let response = try await http.send(
            HTTPRequest(
                method: method, url: base + path,
                headers: headers + (body == nil ? [] : [(name: "Content-Type", value: "application/json")]),
                body: body.map { .bytes($0) } ?? .none, credentials: credentials, deadline: .seconds(300)))
        let answer = try await response.body.collect(upTo: 512 << 20)
        guard (200..<300).contains(response.status) else {
            throw BenchmarkError(
                "\(method) \(path) was answered with \(response.status): "
                    + String(decoding: answer.prefix(200), as: UTF8.self))
        }
        return answer
    }

    /// Packs documents for ``write(_:)``.
    static func bulks(_ documents: [[UInt8]]) -> [Bulk] {
        var bulks: [Bulk] = []
        var rest = documents[...]
        while !rest.isEmpty {
            var (body, count) = (Array(#"{"docs":["#.utf8), 0)
            while let next = rest.first, count < largestBulk, count == 0 || body.count + next.count < largestBody {
                if count > 0 { body.append(UInt8(ascii: ",")) }
                body += next
                count += 1
                rest.removeFirst()
            }
            bulks.append(Bulk(body: body + Array("]}".utf8), documents: count))
        }
        return bulks
    }

    /// Writes prepared documents and does nothing else. The answers are checked once all are there.
    ///
    /// - Throws: ``BenchmarkError`` if the server does not accept each document.
    func write(_ bulks: [Bulk]) async throws -> JobResult {
        var answers: [[UInt8]] = []
        let usage = try await Usage.ofThisProcess {
            answers = try await withThrowingTaskGroup(of: [UInt8].self) { group in
                var rest = bulks[...]
                var answers: [[UInt8]] = []
                func sendNext() {
                    guard let bulk = rest.popFirst() else { return }
                    group.addTask { try await send("POST", "/_bulk_docs", body: bulk.body) }
                }
                for _ in 0..<Self.concurrentRequests { sendNext() }
                while let answer = try await group.next() {
                    answers.append(answer)
                    sendNext()
                }
                return answers
            }
        }
        let documents = bulks.reduce(0) { $0 + $1.documents }
        let rows = answers.flatMap { SmallJSON($0)?.elements ?? [] }
        if let refused = rows.first(where: { $0["error"] != nil }) {
            throw BenchmarkError(
                "the server refused a document: \(refused["error"]?.string ?? "") \(refused["reason"]?.string ?? "")")
        }
        guard rows.count == documents else {
            throw BenchmarkError("the server's answers are about \(rows.count) of \(documents) documents")
        }
        return JobResult(usage: usage, documents: documents, written: documents, requests: bulks.count)
    }

    /// Follows the feed by longpoll, with documents, until the task is cancelled.
    ///
    /// - Parameter body: Gets the rows of each answer as soon as its last byte is there.
    func follow(since start: SequenceID, _ body: ([JSONValue]) async throws -> Void) async throws {
        var since = start
        while true {
            let query = "?feed=longpoll&include_docs=true&timeout=20000&since=\(Self.escaped(since.queryValue))"
            let answer = try JSONText(try await send("GET", "/_changes" + query))
            guard let rows = answer.root["results"], let last = answer.root["last_seq"].flatMap({ SequenceID($0) })
            else { throw BenchmarkError("an answer of _changes is not a feed") }
            try await body(Array(rows.elements))
            since = last
        }
    }

    /// For the query of a URL.
    static func escaped(_ text: String) -> String {
        let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~".utf8)
        return text.utf8.map { byte in
            if plain.contains(byte) { return String(UnicodeScalar(byte)) }
            let digits = String(byte, radix: 16, uppercase: true)
            return "%" + (digits.count == 1 ? "0" : "") + digits
        }.joined()
    }
}
