internal import GatewayClient
internal import Locking
internal import LosslessJSON
internal import TestKit

/// An in-memory database that answers the requests of `changebot run` with little processor time.
///
/// The documents are rows with numbers. Documents that the bot writes back are not reported again.
final class WireDatabase: Sendable {
    private struct State: Sendable {
        var newest: Int
        var isOver = false
        var pendingLongpolls = 0
        /// The times when documents became visible, and when they were written back.
        var posted: [Int: Int] = [:]
        var written: [Int: Int] = [:]
        var localDocuments: [String: (revision: Int, body: JSONText)] = [:]
    }

    private let feed: WireFeed
    private let state: Monitor<State>

    /// - Parameter rowCount: The initial number of rows.
    init(_ feed: WireFeed, rowCount: Int) {
        self.feed = feed
        state = Monitor(State(newest: WireRows.first - 1 + rowCount))
    }

    // MARK: - Control by the benchmark

    /// Adds rows.
    ///
    /// - Returns: Their numbers.
    func post(_ count: Int = 1) -> Range<Int> {
        state.with { state in
            let first = state.newest + 1
            state.newest += count
            let now = MonotonicTime.nanoseconds
            for number in first..<first + count { state.posted[number] = now }
            return first..<first + count
        }
    }

    /// Whether a client waits for a change.
    var hasPendingLongpoll: Bool { state.quietly { $0.pendingLongpolls > 0 } }

    /// Whether all these documents have been written back.
    func hasWritten(_ numbers: some Collection<Int>) -> Bool {
        state.quietly { state in numbers.allSatisfy { state.written[$0] != nil } }
    }

    /// The milliseconds from the time when rows became visible until they were written back.
    func latencies(of numbers: Range<Int>) -> [Double] {
        state.quietly { state in
            numbers.compactMap { number in
                guard let posted = state.posted[number], let written = state.written[number] else { return nil }
                return Double(written - posted) / 1e6
            }
        }
    }

    /// Ends all longpolls.
    func end() { state.with { $0.isOver = true } }

    // MARK: - Answers

    /// The head of an answer, without the length and the blank line.
    static func head(_ status: Int) -> String {
        "HTTP/1.1 \(status) Answer\r\nServer: Couchbase Sync Gateway/4.1.1 CE\r\nContent-Type: application/json\r\n"
    }

    func answer(_ request: TestRequest, on connection: TestConnection) throws {
        let arrival = MonotonicTime.nanoseconds
        let parts = request.target.split(separator: "?", maxSplits: 1).map(String.init)
        let path = parts[0].split(separator: "/").map(String.init)
        switch (request.method, path.count > 1 ? path[1] : "") {
        case ("GET", "") where path.isEmpty: try reply(200, Self.greeting, on: connection)
        case ("GET", ""): try reply(200, information(path[0]), on: connection)
        case ("GET", "_changes"): try sendChanges(parts.count > 1 ? parts[1] : "", on: connection)
        case ("POST", "_all_docs"): try list(request.body, on: connection)
        case ("POST", "_bulk_docs"): try write(request.body, at: arrival, on: connection)
        case ("GET", "_local"): try readLocal(parts[0], on: connection)
        case ("PUT", "_local"): try writeLocal(parts[0], request.body, on: connection)
        default: try reply(501, #"{"error":"not_implemented","reason":"only in a real gateway"}"#, on: connection)
        }
    }

    private func reply(_ status: Int, _ body: String, on connection: TestConnection) throws {
        let head = Self.head(status) + "Content-Length: \(body.utf8.count)\r\n\r\n"
        try connection.write(head + body)
    }

    private static let greeting =
        #"{"couchdb":"Welcome","vendor":{"name":"Couchbase Sync Gateway","version":"4.1"},"#
        + #""version":"Couchbase Sync Gateway/4.1.1(0;6bdbe7d) CE","persistent_config":false}"#

    private func information(_ name: String) -> String {
        let newest = state.quietly { $0.newest }
        return #"{"db_name":"\#(name)","update_seq":\#(newest),"committed_update_seq":\#(newest),"#
            + #""instance_start_time":1795208996707529,"compact_running":false,"purge_seq":0,"#
            + #""disk_format_version":0,"state":"Online"}"#
    }

    private func sendChanges(_ query: String, on connection: TestConnection) throws {
        let values = query.split(separator: "&").map { $0.split(separator: "=", maxSplits: 1) }
        func value(_ name: String) -> Substring { values.first { $0.count > 1 && $0[0] == name }?[1] ?? "" }
        let newest = state.quietly { $0.newest }
        let since = value("since") == "now" ? newest : Int(value("since")) ?? 0
        let first = max(since + 1, WireRows.first)
        let hasDocuments = value("include_docs") == "true"
        let rows = hasDocuments ? feed.rows : feed.rowsWithoutDocuments
        if value("feed") == "longpoll", newest < first { return try wait(for: first, rows, on: connection) }
        let last = max(first - 1, min(newest, first - 1 + (Int(value("limit")) ?? .max / 2)))
        guard hasDocuments else {
            let text = WireFeed.opening + String(decoding: rows.text(first..<last + 1), as: UTF8.self)
            return try reply(200, text + WireFeed.closing(max(last, since)), on: connection)
        }
        try feed.send(first..<last + 1, lastSequence: max(last, since), on: connection)
    }

    /// The head is sent immediately, as by Sync Gateway.
    private func wait(for first: Int, _ rows: WireRows, on connection: TestConnection) throws {
        let head = Self.head(200) + "Transfer-Encoding: chunked\r\n\r\n"
        try connection.write(Array(head.utf8) + WireFeed.chunk(Array(WireFeed.opening.utf8)))
        state.with { $0.pendingLongpolls += 1 }
        let newest = state.block(
            until: { $0.newest >= first || $0.isOver },
            then: { state in
                state.pendingLongpolls -= 1
                return state.newest
            })
        let closing = WireFeed.closing(newest)
        let text = rows.text(first..<max(first, newest + 1))
        try connection.write(WireFeed.chunk(text + Array(closing.utf8)) + Array("0\r\n\r\n".utf8))
    }

    /// Answers with the documents of the rows whose ids are the keys.
    private func list(_ body: [UInt8], on connection: TestConnection) throws {
        let numbers = try JSONText(body).root["keys"]?.elements.compactMap { $0.string.flatMap(WireRows.number) } ?? []
        let text = String(decoding: feed.listed.text(numbers), as: UTF8.self)
        try reply(200, #"{"total_rows":\#(numbers.count),"rows":[\#(text)]}"#, on: connection)
    }

    private func write(_ body: [UInt8], at arrival: Int, on connection: TestConnection) throws {
        let ids = try JSONText(body).root["docs"]?.elements.compactMap { $0["_id"]?.string } ?? []
        state.quietly { state in
            for id in ids { if let number = WireRows.number(id) { state.written[number] = arrival } }
        }
        let rows = ids.map { #"{"id":"\#($0)","rev":"2-967a00dff5e02add41819138abb3284d"}"# }
        try reply(201, "[\(rows.joined(separator: ","))]", on: connection)
    }

    // MARK: - Checkpoints

    private func readLocal(_ path: String, on connection: TestConnection) throws {
        guard let document = state.quietly({ $0.localDocuments[path] }) else {
            return try reply(404, #"{"error":"not_found","reason":"missing"}"#, on: connection)
        }
        try reply(200, String(decoding: document.body.bytes, as: UTF8.self), on: connection)
    }

    private func writeLocal(_ path: String, _ body: [UInt8], on connection: TestConnection) throws {
        let id = path.split(separator: "/").dropFirst().joined(separator: "/")
        let sent = try JSONText(body)
        let revision = try state.quietly { state in
            let revision = (state.localDocuments[path]?.revision ?? 0) + 1
            let own = try JSONText(#"{"_id":"\#(id)","_rev":"0-\#(revision)"}"#)
            state.localDocuments[path] = (revision, try sent.merging(own.root))
            return revision
        }
        try reply(201, #"{"ok":true,"id":"\#(id)","rev":"0-\#(revision)"}"#, on: connection)
    }
}

/// A ``WireDatabase`` on a port of the loopback.
final class WireServer: Sendable {
    let database: WireDatabase
    private let server: TestServer

    init(_ feed: WireFeed, rowCount: Int) throws {
        let database = WireDatabase(feed, rowCount: rowCount)
        self.database = database
        server = try TestServer { connection in try connection.serve { try database.answer($0, on: connection) } }
    }

    var url: String { server.url("/wire") }

    func stop() {
        database.end()
        server.stop()
    }
}
