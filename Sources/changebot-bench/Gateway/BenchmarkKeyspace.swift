internal import Foundation
internal import GatewayClient
internal import LosslessJSON

/// The measured keyspace. It contains only documents of this benchmark.
struct BenchmarkKeyspace: Sendable {
    private static let prefix = "bench-task-"
    private static let maxBulkSize = 250
    private static let concurrentRequests = 4

    /// The URL without a slash at the end.
    let url: String
    let gateway: Gateway
    /// The credentials from the environment, as for the program.
    private let user: (name: String, password: String)?

    init(_ text: String) throws {
        let parsed: GatewayURL
        do { parsed = try GatewayURL(text) } catch { throw BenchmarkError("\(error)") }
        guard parsed.userInfo == nil else {
            throw BenchmarkError("write user and password in CHANGEBOT_USER and CHANGEBOT_PASSWORD, not in the URL")
        }
        let environment = ProcessInfo.processInfo.environment
        user = environment["CHANGEBOT_USER"].map { ($0, environment["CHANGEBOT_PASSWORD"] ?? "") }
        var settings = GatewaySettings()
        settings.credentials = user.map { .basic(user: $0.name, password: $0.password) }
        url = text.hasSuffix("/") ? String(text.dropLast()) : text
        gateway = Gateway(parsed, settings: settings)
    }

    var curlConfiguration: String {
        guard let user else { return "" }
        let text = "\(user.name):\(user.password)"
            .replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "\"", with: "\\\"")
        return "user = \"\(text)\"\n"
    }

    /// The numbers of the existing documents.
    ///
    /// - Throws: ``BenchmarkError`` if there is a document that does not belong to this benchmark.
    func tasks() async throws -> Set<Int> {
        var tasks: Set<Int> = []
        var pages = DocumentPages(of: gateway, includesDocuments: false)
        while let batch = try await pages.next() {
            for id in batch.map(\.id.text) {
                guard id.hasPrefix(Self.prefix), let number = Int(id.dropFirst(Self.prefix.count)) else {
                    throw BenchmarkError(
                        "the keyspace has other documents, such as '\(id)': use one that is empty, or has only "
                            + "documents whose ids are '\(Self.prefix)' and a number")
                }
                tasks.insert(number)
            }
        }
        return tasks
    }

    /// Writes prepared documents and nothing else: the yardstick for writing jobs.
    ///
    /// - Throws: ``BenchmarkError`` if the server does not accept each document.
    func write(_ documents: [BulkDocument]) async throws -> JobResult {
        let bulks = stride(from: 0, to: documents.count, by: Self.maxBulkSize).map {
            documents[$0..<min($0 + Self.maxBulkSize, documents.count)]
        }
        let usage = try await Usage.ofThisProcess {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, bulk) in bulks.enumerated() {
                    if index >= Self.concurrentRequests { try await group.next() }
                    group.addTask {
                        for outcome in try await gateway.bulkDocs(Array(bulk)) {
                            guard case .written = outcome else {
                                throw BenchmarkError("the server refused a document: \(outcome)")
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        let perRequest = Double(documents.count) / Double(max(1, bulks.count))
        return JobResult(usage: usage, documents: documents.count, perRequest: perRequest)
    }

    // MARK: - Documents

    /// A document of about 580 bytes.
    static func newTask(_ number: Int) -> BulkDocument {
        let digits = String(number)
        let id = prefix + String(repeating: "0", count: max(0, 8 - digits.count)) + digits
        let note = String(repeating: "lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do ", count: 5)
        let body =
            #"{"_id":"\#(id)","type":"task","task":"thing \#(number)","round":0,"complete":false,"#
            + #""createdAt":"2026-11-20T10:00:00.000Z","assignee":"amy.archer@example.org","#
            + #""taskList":{"id":"amy.groceries","owner":"amy"},"n":12345678901234567890123,"note":"\#(note)"}"#
        return BulkDocument(id: DocumentID(id), segments: [Array(body.utf8)])
    }

    /// The current tasks with another round, prepared for a write.
    func tasks(withRound round: Int) async throws -> [BulkDocument] {
        let patch = try JSONText(#"{"round":\#(round)}"#)
        var documents: [BulkDocument] = []
        var pages = DocumentPages(of: gateway)
        while let batch = try await pages.next() {
            for row in batch {
                guard let document = row.document?.copied() else { continue }
                documents.append(BulkDocument(id: row.id, segments: [try document.merging(patch.root).bytes]))
            }
        }
        return documents
    }
}
