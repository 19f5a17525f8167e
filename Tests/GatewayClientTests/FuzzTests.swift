import LosslessJSON
import TestKit
import Testing

@testable import GatewayClient
@testable import HTTPTransport

/// Damaged answers never crash, and the result does not depend on pieces.
@Suite(.limitedParallelism) struct FuzzTests {
    private enum Outcome: Equatable {
        case facts([RowFacts], last: String?, isComplete: Bool)
        case error
    }

    private func outcome(_ pieces: [[UInt8]]) -> Outcome {
        var parser = ChangesParser()
        var facts: [RowFacts] = []
        do {
            for piece in pieces {
                parser.append(piece)
                while let batch = try parser.nextBatch() { facts += batch.map(RowFacts.init) }
            }
        } catch {
            return .error
        }
        return .facts(facts, last: parser.lastSequence?.description, isComplete: parser.isComplete)
    }

    @Test(arguments: 0..<4) func feedsAreReadTheSameInAnyPieces(seed: UInt64) {
        var mutations = Mutations(
            seed: seed, pieces: ["{", "}", "[", "]", ",", "\"", "\\", ":", "\n", "null", "\"seq\":", "\"last_seq\":"])
        let texts = [FeedSamples.syncGateway, FeedSamples.couchDB].map { Array($0.utf8) }
        var read = 0
        for round in 0..<Mutations.rounds(400) {
            let text = mutations.damaged(texts[round % 2])
            let whole = outcome([text])
            if whole != .error { read += 1 }
            #expect(outcome(mutations.slices(text)) == whole, "round \(round)")
            #expect(outcome(text.map { [$0] }) == whole, "round \(round)")
        }
        #expect(read > 20)
    }

    private static let multipart = Array(
        ("--b1\r\nContent-Type: application/json\r\nX-Doc-Id: a\r\n\r\n{\"a\":1}\r\n--b1 \t\r\n\r\nno\r\nheader\r\n--b\r\n"
            + "--b12\r\n-\r\r\n--b1\r\nContent-Type: text/plain\r\n\r\n\r\n--b1--\r\nepilogue --b1").utf8)

    /// The parts in order, `|` before each and `.` after those that have ended; nil if the body is refused.
    private func parts(_ pieces: [[UInt8]]) -> [UInt8]? {
        var reader = MultipartReader(boundary: "b1")
        var text: [UInt8] = []
        do {
            for piece in pieces {
                reader.append(piece)
                while let piece = try reader.next() {
                    switch piece {
                    case .part(let headers): text += Array("|\(headers["content-type"] ?? "")|".utf8)
                    case .data(let data): text += data
                    case .partEnd: text.append(UInt8(ascii: "."))
                    }
                }
            }
        } catch {
            return nil
        }
        return text + Array(reader.isComplete ? "complete".utf8 : "cut".utf8)
    }

    /// A truncated body may hold back bytes that could start a delimiter.
    @Test(arguments: 0..<4) func partsAreReadTheSameInAnyPieces(seed: UInt64) {
        var mutations = Mutations(seed: seed, pieces: ["\r\n", "\n", "--", "--b1", "--b1--", ":", "\r\n\r\n", " "])
        for round in 0..<Mutations.rounds(1500) {
            let body = mutations.damaged(Self.multipart)
            let whole = parts([body])
            #expect(parts(mutations.slices(body)) == whole, "round \(round)")
        }
    }
}
