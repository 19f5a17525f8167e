internal import Foundation
internal import GatewayClient
internal import LosslessJSON

/// The keyspace that is measured. It holds documents of this benchmark only.
struct BenchmarkKeyspace {
    /// How many documents of which kind there are.
    struct Contents {
        /// The numbers of tasks.
        var tasks: Set<Int> = []
        var large = 0
        /// Of imports and of measurements of latency.
        var others = 0

        var count: Int { tasks.count + large + others }
    }

    private static let prefix = "bench-"
    private static let taskPrefix = "bench-task-"
    static let largePrefix = "bench-large-"

    /// Without a slash at the end.
    let url: String
    let gateway: Gateway
    let plain: PlainClient
    /// From the environment, as for the program.
    private let user: (name: String, password: String)?

    init(_ text: String) throws {
        let parsed: GatewayURL
        do { parsed = try GatewayURL(text) } catch { throw BenchmarkError("\(error)") }
        guard parsed.userInfo == nil else {
            throw BenchmarkError("write user and password in CHANGEBOT_USER and CHANGEBOT_PASSWORD, not in the URL")
        }
        let address = text.hasSuffix("/") ? String(text.dropLast()) : text
        let environment = ProcessInfo.processInfo.environment
        let login = environment["CHANGEBOT_USER"].map { ($0, environment["CHANGEBOT_PASSWORD"] ?? "") }
        var settings = GatewaySettings()
        settings.credentials = login.map { .basic(user: $0.0, password: $0.1) }
        url = address
        user = login
        gateway = Gateway(parsed, settings: settings)
        plain = PlainClient(address, user: login)
    }

    /// What curl reads from stdin (`-K -`): other users of the machine can see argv.
    var curlConfiguration: String {
        guard let user else { return "" }
        let text = "\(user.name):\(user.password)"
            .replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "\"", with: "\\\"")
        return "user = \"\(text)\"\n"
    }

    /// - Throws: ``BenchmarkError`` if there is a document that is not of this benchmark.
    func contents() async throws -> Contents {
        var contents = Contents()
        var pages = DocumentPages(of: gateway, includesDocuments: false)
        while let batch = try await pages.next() {
            for row in batch {
                let id = row.id.text
                if let number = id.hasPrefix(Self.taskPrefix) ? Int(id.dropFirst(Self.taskPrefix.count)) : nil {
                    contents.tasks.insert(number)
                } else if id.hasPrefix(Self.largePrefix) {
                    contents.large += 1
                } else if id.hasPrefix(Self.prefix) {
                    contents.others += 1
                } else {
                    throw BenchmarkError(
                        "the keyspace has documents of others, such as '\(id)': give the benchmark one of its own, "
                            + "empty or with nothing but documents whose ids begin with '\(Self.prefix)'")
                }
            }
        }
        return contents
    }

    /// Writes the tasks that are missing.
    func load(_ contents: inout Contents, upTo count: Int) async throws {
        let missing = (0..<count).filter { [tasks = contents.tasks] in !tasks.contains($0) }
        for start in stride(from: 0, to: missing.count, by: 500) {
            let documents = missing[start..<min(start + 500, missing.count)].map { number in
                let id = Self.taskPrefix + Self.digits(number)
                return BulkDocument(id: DocumentID(id), segments: [Self.task(number, id: id, type: "task")])
            }
            for outcome in try await gateway.bulkDocs(documents) {
                guard case .written = outcome else { throw BenchmarkError("a document was not accepted: \(outcome)") }
            }
        }
        contents.tasks.formUnion(missing)
    }

    /// The sequence of the newest change.
    func newestSequence() async throws -> SequenceID {
        guard let sequence = try await gateway.databaseInfo().updateSequence else {
            throw BenchmarkError("the gateway does not tell its newest sequence")
        }
        return sequence
    }

    // MARK: - Documents

    /// A document of about 580 bytes.
    static func task(_ number: Int, id: String, type: String) -> [UInt8] {
        let note = String(repeating: "lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do ", count: 5)
        return Array(
            (#"{"_id":"\#(id)","type":"\#(type)","task":"thing \#(number)","hundredth":\#(number % 100 == 0),"#
                + #""round":0,"complete":false,"createdAt":"2026-11-20T10:00:00.000Z","#
                + #""assignee":"amy.archer@example.org","taskList":{"id":"amy.groceries","owner":"amy"},"n":12345678901234567890123,"note":"\#(note)"}"#)
                .utf8)
    }

    static func digits(_ number: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, 8 - text.count)) + text
    }

    /// All tasks as they are now, but with another round: prepared for a write.
    func tasks(withRound round: Int) async throws -> [[UInt8]] {
        var documents: [[UInt8]] = []
        var pages = DocumentPages(of: gateway)
        while let batch = try await pages.next() {
            for row in batch where row.document?["type"]?.string == "task" {
                if let document = row.document { documents.append(Self.setting("round", to: "\(round)", in: document)) }
            }
        }
        return documents
    }

    /// - Parameter json: The new value.
    static func setting(_ member: String, to json: String, in document: JSONValue) -> [UInt8] {
        var writer = JSONWriter(minimumCapacity: document.bytes.count + 64)
        writer.object { writer in
            for old in document.members where !old.name.isString(member) {
                writer.member(old.name.string ?? "", raw: old.value.bytes)
            }
            writer.member(member, raw: json.utf8)
        }
        return writer.bytes
    }
}
