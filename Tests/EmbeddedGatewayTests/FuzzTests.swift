import Foundation
import TestKit
import Testing

@testable import EmbeddedGateway

/// Mutated requests and files: accepted or refused, never a crash.
@Suite(.limitedParallelism) struct FuzzTests {
    private static let body = Array(
        ("preamble\r\n--b1\r\nContent-Type: application/json\r\n\r\n{\"a\":1}\r\n--b1 \t\n\nno\r\nheader\r\n--b\r\n--b12"
            + "\r\n-\r\r\n--b1\r\nContent-Type: text/plain\r\n\r\n\r\n--b1--\r\nepilogue --b1").utf8)

    @Test(arguments: 0..<4) func mutatedMultipartBodiesAreSplitOrRefused(seed: UInt64) throws {
        var mutations = Damage(seed: seed, pieces: ["\r\n", "\n", "--", "--b1", "--b1--", ":", "\r\n\r\n"])
        var taken = 0
        for round in 0..<Damage.rounds(1500) {
            let body = mutations.damaged(Self.body)
            var reader = try MultipartSplitter(body, contentType: "multipart/mixed; boundary=b1")
            var length = 0
            while let part = try? reader.next() {
                length += part.content.count
                taken += 1
                #expect(part.content.startIndex >= body.startIndex && part.content.endIndex <= body.endIndex)
                // Parts never overlap.
                #expect(length <= body.count, "round \(round)")
                if length > body.count { return }
            }
        }
        #expect(taken > 500)
    }

    private static let errors = Array(
        #"""
        {"seed":3,"faults":[{"name":"a","on":["_changes","_bulk_docs"],"status":{"code":503,"retry_after":1},"share":0.5},
        {"latency":["10ms","2s"],"after":"1s","for":3},{"slice":{"bytes":7,"pause":"1ms"},"every":2},
        {"refuse_documents":{"share":0.1,"status":[403,409],"reason":"no"},"times":4},{"cut":[1,20]},{"offline":"5s"}]}
        """#.utf8)
    private static let users = Array(
        #"""
        {"databases":{"todo":{"guest":{"disabled":true},"roles":{"r":{"admin_channels":["c"]}},
        "users":{"amy":{"password":"secret","admin_channels":["*"],"admin_roles":["r"]}},
        "scopes":{"s":{"collections":{"c":{}}}}}}}
        """#.utf8)
    private static let json = [
        "{", "}", "[", "]", ",", ":", "\"", "\\u", "1e999", "-1", "null", "99999999999999999999",
    ]

    @Test(arguments: 0..<4) func mutatedFilesAreParsedOrRefusedWithAPosition(seed: UInt64) {
        var mutations = Damage(seed: seed, pieces: Self.json)
        var read = 0
        for round in 0..<Damage.rounds(1000) {
            let plan = mutations.damaged(Self.errors)
            do throws(FaultPlanError) {
                _ = try FaultPlan.parse(plan).descriptions
                read += 1
            } catch {
                let havePlaces = error.mistakes.allSatisfy { mistake in
                    mistake.line >= 1 && mistake.column >= 1 && (0...plan.count).contains(mistake.offset)
                }
                #expect(!error.mistakes.isEmpty && havePlaces, "round \(round)")
            }
            do throws(EmbeddedGateway.UsersError) {
                _ = try EmbeddedGateway.Users.parse(mutations.damaged(Self.users), database: "todo")
            } catch {
                #expect(error.line >= 1 && error.column >= 1, "round \(round)")
            }
        }
        #expect(read > 0)
    }

    /// Any bytes sent as documents get an answer, and the gateway keeps running.
    @Test(arguments: 0..<2) func mutatedDocumentsAreAnswered(seed: UInt64) async throws {
        let gateway = try TestGateway()
        var mutations = Damage(seed: seed, pieces: Self.json)
        let text = Array(
            #"{"docs":[{"_id":"a","_rev":"1-a","x":[1.0,"é"],"_attachments":{"f":{"data":"aGk=","stub":false}}},{"_id":"b"}]}"#
                .utf8)
        for round in 0..<Damage.rounds(300) {
            let body = String(decoding: mutations.damaged(text), as: UTF8.self)
            let status = try await gateway.answer("POST", "/open/_bulk_docs", body).status
            #expect([201, 400, 413].contains(status), "round \(round): \(status) \(body)")
        }
        #expect(try await gateway.put("last", "{}").status == 201)
    }
}

/// Mutates texts at random, the same way for the same seed.
private struct Damage {
    private var random: SeededNumbers
    private let pieces: [[UInt8]]

    init(seed: UInt64, pieces: [String]) {
        random = SeededNumbers(seed: seed, fault: 0, request: 0)
        self.pieces = pieces.map { Array($0.utf8) }
    }

    /// `CHANGEBOT_FUZZ_ROUNDS`, if set.
    static func rounds(_ usual: Int) -> Int {
        ProcessInfo.processInfo.environment["CHANGEBOT_FUZZ_ROUNDS"].flatMap { Int($0) } ?? usual
    }

    private mutating func below(_ limit: Int) -> Int { random.number(in: 0...(limit - 1)) }

    mutating func damaged(_ text: [UInt8]) -> [UInt8] {
        var text = text
        for _ in 0..<1 + below(3) where !text.isEmpty {
            let place = below(text.count)
            switch below(4) {
            case 0: text[place] = UInt8(below(256))
            case 1: text.removeSubrange(place..<min(text.count, place + 1 + below(12)))
            case 2: text.insert(contentsOf: text[place..<min(text.count, place + below(30))], at: place)
            default: text.insert(contentsOf: pieces[below(pieces.count)], at: place)
            }
        }
        return text
    }
}
