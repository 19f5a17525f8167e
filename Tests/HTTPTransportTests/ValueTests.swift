import Testing

@testable import HTTPTransport

/// The parts that work without a socket.
@Suite struct ValueTests {
    private func append(_ lines: [String], to parser: inout HeadParser) -> HeadParser.Progress {
        var progress = HeadParser.Progress.more
        for line in lines {
            progress = Array((line + "\r\n").utf8).withUnsafeBytes { parser.append(line: $0) }
        }
        return progress
    }

    @Test func headersAreFoundInAnyCase() {
        let headers = HTTPHeaders([("Set-Cookie", "a=1"), ("ETag", "\"x\""), ("set-cookie", " b=2 ")])
        #expect(headers["etag"] == "\"x\"")
        #expect(headers["SET-COOKIE"] == "a=1")
        #expect(headers.values(of: "Set-cookie") == ["a=1", "b=2"])
        #expect(headers["Set"] == nil)
        #expect(headers.fields.map(\.name) == ["Set-Cookie", "ETag", "set-cookie"])
    }

    @Test func interimHeadsAreSkippedAndFoldedLinesJoined() {
        var parser = HeadParser(limit: 1000)
        #expect(append(["HTTP/1.1 100 Continue", "X: interim", ""], to: &parser) == .more)
        #expect(append(["HTTP/1.1 200 OK", "A: one", "  two", "B: ", ""], to: &parser) == .complete)
        #expect(parser.status == 200)
        #expect(parser.headers["A"] == "one two")
        #expect(parser.headers["B"] == "")
        #expect(parser.headers["X"] == nil)
        #expect(append(["Trailer: late", ""], to: &parser) == .more)
        #expect(parser.headers["Trailer"] == nil)
    }

    @Test func headAboveLimitIsRefused() {
        var parser = HeadParser(limit: 20)
        #expect(append(["HTTP/1.1 200 OK", "A: 12345678901234567890"], to: &parser) == .tooLarge)
    }

    @Test func uploadReadsAcrossSegmentsAndSeeks() {
        var upload = UploadPosition(.segments([Array("ab".utf8), [], Array("cde".utf8)]))
        var target = [UInt8](repeating: 0, count: 4)
        let first = target.withUnsafeMutableBytes { upload.read(into: $0) }
        #expect(first == 4)
        #expect(String(decoding: target, as: UTF8.self) == "abcd")
        let others = (0..<2).map { _ in target.withUnsafeMutableBytes { upload.read(into: $0) } }
        #expect(others == [1, 0])
        for (place, rest) in [(0, "abcd"), (1, "bcde"), (2, "cde"), (4, "e"), (5, "")] {
            let exists = upload.seek(to: place)
            #expect(exists)
            let count = target.withUnsafeMutableBytes { upload.read(into: $0) }
            #expect(String(decoding: target[..<count], as: UTF8.self) == rest)
        }
        let isBeyond = [upload.seek(to: 6), upload.seek(to: -1)]
        #expect(isBeyond == [false, false])
    }

    @Test func flowPausesAtHighWaterMarkAndContinuesAfterReader() throws {
        var flow = BodyFlow(highWaterMark: 4)
        let bytes: [UInt8] = [1, 2, 3]
        let took = (0..<3).map { _ in bytes.withUnsafeBytes { flow.append($0) } }
        #expect(took == [true, true, false])
        #expect(flow.isPaused)
        guard case .part(let part, let wasPaused) = flow.arrive() else { throw TestError("nothing to read") }
        #expect(try part.get() == bytes + bytes)
        #expect(wasPaused)
        #expect(!flow.isPaused)
        #expect(flow.received == 6)
    }

    @Test func flowGivesBytesBeforeCutButNoneAfterCancellation() throws {
        let bytes: [UInt8] = [1]
        for (code, isKept) in [(HTTPTransportError.Code.connectionClosed, true), (.cancelled, false)] {
            var flow = BodyFlow(highWaterMark: 4)
            _ = bytes.withUnsafeBytes { flow.append($0) }
            let delivery = flow.finish(.failure(HTTPTransportError(code, "")))
            #expect(delivery.map { _ in true } == nil)
            if isKept {
                guard case .part(let part, _) = flow.arrive() else { throw TestError("nothing to read") }
                #expect(try part.get() == bytes)
            }
            guard case .part(let part, _) = flow.arrive() else { throw TestError("no end") }
            #expect(throws: HTTPTransportError(code, "")) { try part.get() }
        }
    }

    @Test func timersGiveNearestDeadline() {
        let start = ContinuousClock.now
        var timers = ExchangeTimers(deadline: .seconds(10), idleTimeout: .seconds(3), now: start)
        #expect(timers.due == start + .seconds(3))
        timers.noteActivity(at: start + .seconds(8), isPaused: false)
        #expect(timers.due == start + .seconds(10))
        timers.noteActivity(at: start + .seconds(1), isPaused: true)
        #expect(timers.due == start + .seconds(10))
        #expect(ExchangeTimers(deadline: nil, idleTimeout: nil, now: start).due == nil)
    }

    @Test func durationsAreRoundedUpToMilliseconds() {
        #expect(Duration.nanoseconds(1).milliseconds == 1)
        #expect(Duration.milliseconds(1500).milliseconds == 1500)
        #expect(Duration.seconds(-1).milliseconds == 0)
        #expect(Duration.seconds(Int64.max).milliseconds == Int(Int32.max))
    }
}

struct TestError: Error {
    let message: String
    init(_ message: String) { self.message = message }
}
