internal import Delivery
internal import Encodings
internal import Foundation
internal import GatewayClient
internal import Locking
internal import LosslessJSON
internal import Rules

/// A piece of the program's work whose instructions are counted.
enum WorkItem: String, CaseIterable {
    case scan
    case parsePieces = "parse-pieces"
    case parseRows = "parse-rows"
    case matchShipped = "match-shipped"
    case matchWords = "match-1000-words"
    case matchPatterns = "match-10-patterns"
    case intake
    case edit
    case encodeBase64 = "base64-encode"
    case decodeBase64 = "base64-decode"
    case sha256, sha1, md5

    /// The size of a picture, in bytes.
    private static let pictureSize = 1 << 20

    /// The unit by which its cost is divided.
    enum Unit: String { case row, byte }

    /// A description for the baseline, and the number of repetitions for which a count is stable and fast.
    var description: (about: String, per: Unit, repetitions: Int) {
        switch self {
        case .scan: ("change rows through the JSON scanner", .byte, 4)
        case .parsePieces: ("a feed in pieces of 64 KiB", .row, 4)
        case .parseRows: ("a feed, one row in each piece", .row, 4)
        case .matchShipped: ("documents on which none of the project's rules fires", .row, 4)
        case .matchWords: ("the same with 1,000 rules of the form (?i)^word$", .row, 4)
        case .matchPatterns: ("the same with 10 rules with other patterns", .row, 2)
        case .intake: ("rows to the queue of the writers; one in 50 matches a rule", .row, 4)
        case .edit: ("a merge into a document", .row, 2)
        case .encodeBase64: ("a picture of 1 MiB to base64", .byte, 1)
        case .decodeBase64: ("and back", .byte, 1)
        case .sha256, .sha1, .md5: ("the digest of 1 MiB", .byte, 1)
        }
    }

    /// The number of units in one repetition.
    func unitCount(_ input: WorkInput) -> Int {
        if description.per == .row { return input.rows.count }
        return self == .scan ? input.rowBytes.count : Self.pictureSize
    }

    /// Runs it single-threaded, after preparations that do not depend on `times`.
    ///
    /// - Parameter directory: For rule files.
    func run(times: Int, _ input: WorkInput, in directory: String) throws {
        switch self {
        case .scan: for _ in 0..<times { try input.scan() }
        case .parsePieces, .parseRows:
            let pieces = self == .parseRows ? input.rowPieces : input.pieces
            for _ in 0..<times { blackHole(try WorkInput.parse(pieces)) }
        case .matchShipped: try match(times, input, Program.shippedRules)
        case .matchWords: try match(times, input, RuleFiles.words(1000, in: directory))
        case .matchPatterns: try match(times, input, RuleFiles.patterns(10, in: directory))
        case .intake: try take(times, input, in: directory)
        case .edit: try edit(times, input)
        case .encodeBase64:
            let picture = Self.picture
            for _ in 0..<times { blackHole(Base64.encode(picture)) }
        case .decodeBase64:
            let text = Base64.encode(Self.picture)
            for _ in 0..<times { blackHole(try Base64.decode(text)) }
        case .sha256: digest(.sha256, times)
        case .sha1: digest(.sha1, times)
        case .md5: digest(.md5, times)
        }
    }

    private func match(_ times: Int, _ input: WorkInput, _ rules: String) throws {
        let decider = try RuleSet.load(paths: [rules]).makeDecider()
        let batches = try WorkInput.parse(input.pieces)
        for _ in 0..<times {
            for change in batches.joined() {
                guard let document = change.document else { continue }
                if decider.mayFire(on: document, isDeleted: change.isDeleted) {
                    throw BenchmarkError("a rule matches \(change.id)")
                }
            }
        }
    }

    private static let intakeRules = """
        version: 1
        rules:
          - name: first
            when: { type: task, priority: 4, tags.0: tea }
            then: [{ merge: { first: true } }]
        """

    private func take(_ times: Int, _ input: WorkInput, in directory: String) throws {
        let rules = try RuleSet.load(paths: [Program.write(Self.intakeRules, to: directory + "/intake.yaml")])
        let batches = try WorkInput.parse(input.pieces)
        try Self.waitFor {
            let gateway = Gateway(try GatewayURL("http://127.0.0.1:1/todo"))
            let intake = try await IntakeMeasurement(gateway, rules, directory: directory + "/state")
            for _ in 0..<times { blackHole(try await intake.take(batches)) }
            intake.close()
            await gateway.shutdown()
        }
    }

    /// Blocks this thread until `body`, which runs on other threads, is done.
    private static func waitFor(_ body: @escaping @Sendable () async throws -> Void) throws {
        let result = Monitor<Result<Void, any Error>?>(nil)
        Task {
            do {
                try await body()
                result.with { $0 = .success(()) }
            } catch {
                result.with { $0 = .failure(error) }
            }
        }
        result.block { $0 != nil }
        try result.quietly { try $0?.get() }
    }

    private func edit(_ times: Int, _ input: WorkInput) throws {
        let patch = try JSONText(
            #"{"complete":true,"priority":null,"checkedAt":"2026-11-20T10:00:00Z","taskList":{"owner":"ben"}}"#)
        let documents = try WorkInput.parse(input.pieces).joined().compactMap { $0.document?.copied() }
        for _ in 0..<times {
            for document in documents { blackHole(try document.merging(patch.root)) }
        }
    }

    private func digest(_ digest: Digest, _ times: Int) {
        let picture = Self.picture
        for _ in 0..<times { blackHole(digest(picture)) }
    }

    /// Bytes that resemble a compressed picture.
    private static var picture: [UInt8] {
        var random = LinearCongruentialGenerator(state: 1)
        return (0..<pictureSize).map { _ in UInt8(random.next(below: 256)) }
    }
}

/// Uses a result, so that the optimizer does not remove the work.
@inline(never)
func blackHole<Value>(_ value: Value) {}
