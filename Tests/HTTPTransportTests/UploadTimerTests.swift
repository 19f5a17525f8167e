import TestKit
import Testing

@testable import HTTPTransport

/// Measures how fast the body of a request was sent.
@Suite(.limitedParallelism) struct UploadTimerTests {
    private static func request(_ server: TestServer, bytes: Int, measures: Bool = true) -> HTTPRequest {
        var request = HTTPRequest(
            method: "POST", url: server.url(),
            body: .segments([[UInt8](repeating: 1, count: bytes / 2), [UInt8](repeating: 2, count: bytes - bytes / 2)]))
        request.measuresUpload = measures
        return request
    }

    @Test(arguments: [(1, false), (65_535, false), (65_536, true), (3_000_000, true)])
    func longUploadIsMeasuredOnRequest(bytes: Int, isMeasured: Bool) async throws {
        let server = try TestServer { connection in
            try connection.serve { request in
                #expect(request.body.count == bytes)
                try connection.answer(201, body: "done")
            }
        }
        let client = HTTPClient()
        for _ in 0..<2 {
            let response = try await client.send(Self.request(server, bytes: bytes))
            #expect((response.upload != nil) == isMeasured)
            if let upload = response.upload {
                #expect(upload.byteCount == bytes && (16_384...bytes / 2).contains(upload.measured))
                #expect(upload.answered >= upload.sending)
            }
            _ = try await response.body.collect(upTo: 100)
        }
        let plain = try await client.send(Self.request(server, bytes: bytes, measures: false))
        #expect(plain.upload == nil)
        await client.shutdown()
    }

    /// A buffer of 40,000 bytes, then 10,000 bytes per second.
    @Test func onlySecondHalfIsMeasured() throws {
        var timer = try #require(UploadTimer(byteCount: 100_000))
        let start = ContinuousClock.now
        #expect(UploadTimer(byteCount: 65_535) == nil && timer.pieceSize == 16_384)
        for _ in 0..<2 {
            #expect(timer.answered(at: start) == nil)
            var given = 0
            while given < 100_000 {
                let now = start + .seconds(Double(max(0, given - 40_000)) / 10_000)
                timer.willRead(isAtStart: given == 0, at: now)
                let count = min(timer.pieceSize, 100_000 - given)
                timer.didRead(count)
                given += count
            }
            // Six pieces are full; four of them are the first half.
            let upload = try #require(timer.answered(at: start + .seconds(9)))
            #expect(upload.measured == 2 * 16_384 && upload.answered == .seconds(9))
            #expect(abs(upload.sending / .seconds(1) - 3.2768) < 0.001)
            // A new attempt starts over.
            timer.willRead(isAtStart: true, at: start)
        }
    }
}
