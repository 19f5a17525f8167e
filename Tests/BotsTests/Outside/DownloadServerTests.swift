import DocumentFlow
import Testing

@testable import Outside
@testable import Rules

@Suite struct DownloadServerTests {
    private let server = DownloadServer(ReceiverHealth(RetryPolicy.Settings(), Backoff()))
    private let start = ContinuousClock.now

    private func begin(_ request: DownloadRequest, for document: String, at time: Duration = .zero) {
        server.begin(request, for: document, Task {}, now: start + time)
    }

    private func content(_ length: Int) -> DownloadServer.Answer {
        .ready(.content(AttachmentContent([UInt8](repeating: 1, count: length)), contentType: "image/png"))
    }

    @Test func ninthRequestWaitsAndBeginsWithoutItsDocument() throws {
        let requests = (0..<10).map { downloadRequest("/\($0)") }
        for request in requests.prefix(8) {
            #expect(server.entry(request, for: request.path) == .open)
            begin(request, for: request.path)
        }
        #expect(server.entry(requests[8], for: "/8") == .waiting)
        for request in requests.suffix(2) { _ = server.deferDocument(request, request.path, now: start) }
        #expect(server.next() == nil)
        server.end(requests[3], content(1), now: start + .seconds(1))
        let next = try #require(server.next())
        #expect(next.document == "/8")
        begin(next.request, for: next.document)
        #expect(server.next() == nil)
        server.end(requests[4], content(1), now: start + .seconds(1))
        #expect(server.next()?.document == "/9")
    }

    @Test func contentIsKeptUntilItsDocumentIsDecided() {
        let request = downloadRequest("/a")
        begin(request, for: "a")
        #expect(server.start(of: request) == start)
        server.end(request, content(3), now: start)
        for _ in 0..<2 {
            guard case .ready(.content)? = server.answer(to: request, for: "a", now: start) else {
                Issue.record("it is gone")
                return
            }
        }
        #expect(server.answer(to: request, for: "b", now: start) == nil)
        server.release("a")
        #expect(server.answer(to: request, for: "a", now: start) == nil && server.keepsNothing)
    }

    /// A kept failure would block other requests.
    @Test func failureIsReturnedOnceAndNotKept() {
        let request = downloadRequest("/a")
        begin(request, for: "a")
        server.end(request, .later(reason: "down", due: start), now: start)
        guard case .later? = server.answer(to: request, for: "a", now: start) else {
            Issue.record("no failure")
            return
        }
        #expect(server.answer(to: request, for: "a", now: start) == nil && server.keepsNothing)
    }

    @Test func fullServerServesOnlyDocumentsWithKeptContents() {
        let (first, second) = (downloadRequest("/1"), downloadRequest("/2"))
        begin(first, for: "a")
        server.end(first, content(13 << 20), now: start)
        #expect(server.entry(second, for: "b") == .full)
        #expect(server.entry(second, for: "a") == .open)
        _ = server.deferDocument(second, "b", now: start)
        #expect(server.next() == nil)
        // Document `a` may have been deleted, so its content is dropped after a while.
        server.dropAbandoned(start + .seconds(119))
        #expect(server.next() == nil)
        server.dropAbandoned(start + .seconds(120))
        #expect(server.next()?.document == "b")
    }

    @Test func fewLargeContentsAreInFlightTogether() {
        func request(_ number: Int) -> DownloadRequest { downloadRequest("/\(number)", lengthLimit: 20 << 20) }
        // Their sizes are unknown, so the limit is assumed.
        begin(request(0), for: "0")
        #expect(server.entry(request(1), for: "1") == .open)
        begin(request(1), for: "1")
        #expect(server.entry(request(2), for: "2") == .waiting)
        server.end(request(0), content(1000), now: start)
        begin(request(2), for: "2")
        #expect(server.entry(request(3), for: "3") == .open)
    }

    @Test func deferredDocumentRetriesAtItsExpectedTime() {
        // Each request takes a second.
        for number in 0..<8 {
            let request = downloadRequest("/\(number)")
            begin(request, for: "\(number)")
            server.end(request, content(1), now: start + .seconds(1))
            server.release("\(number)")
        }
        #expect(server.isSlow(start))
        let dues = (0..<1_000).map { number in
            start.duration(to: server.deferDocument(downloadRequest("/n\(number)"), "n\(number)", now: start).due)
        }
        // Eight per second; requests that are due within the same half second retry together.
        #expect(dues[0] == .seconds(1) && dues[8] == .seconds(2) && dues[32] == .seconds(5))
        // Later ones retry earlier, because the server may be faster by then, but not all at once.
        #expect(dues[300...].allSatisfy { (.seconds(2.5)...(.seconds(10))).contains($0) })
        #expect(Set(dues[900...]).count > 8)
        // It keeps its place in the queue.
        #expect(server.deferDocument(downloadRequest("/n0"), "n0", now: start).due == start + .seconds(1))
    }

    @Test func longWaitingDocumentRetriesLessOften() {
        let request = downloadRequest("/a")
        begin(request, for: "a")
        let absences = [0, 1, 4, 60].map { age in
            let now = start + .seconds(age)
            return now.duration(to: server.deferDocument(request, "a", now: now).due)
        }
        #expect(absences == [.milliseconds(500), .milliseconds(500), .seconds(2), .seconds(5)])
    }

    @Test func slownessIsLoggedOnceAMinute() {
        let request = downloadRequest("/a")
        let news = [0, 59, 60, 61].map { server.deferDocument(request, "a", now: start + .seconds($0)).shouldLog }
        #expect(news == [true, false, true, false])
    }
}

@Suite struct DownloadLineTests {
    @Test func queueKeepsTheOrderOfFirstRequests() {
        var line = WaitingDownloads()
        let wants = (0..<5).map { WaitingDownloads.Entry(request: downloadRequest("/\($0)"), document: "\($0)") }
        #expect(wants.map { line.join($0) } == [0, 1, 2, 3, 4])
        #expect(line.join(wants[3]) == 3)
        line.leave(wants[0])
        line.leave(wants[1])
        line.leave(wants[1])
        line.leave(wants[2])
        // The requests before it have left.
        #expect(line.join(wants[3]) == 0)
        #expect(line.first { $0.document != "3" }?.document == "4")
        #expect(line.join(wants[0]) == 2)
        #expect(line.count == 3)
    }

    @Test func queueIsBounded() {
        var line = WaitingDownloads()
        for number in 0..<10_005 {
            _ = line.join(WaitingDownloads.Entry(request: downloadRequest("/\(number)"), document: ""))
        }
        #expect(line.count == 10_000)
    }
}

/// A request as a rule makes it.
private func downloadRequest(_ path: String, lengthLimit: Int = 1 << 20) -> DownloadRequest {
    DownloadRequest(
        source: DownloadSource(origin: "http://pictures", tokenFile: nil, tokens: nil, caFile: nil), path: path,
        lengthLimit: lengthLimit,
        types: ["image/*"], timeout: .seconds(30))
}
