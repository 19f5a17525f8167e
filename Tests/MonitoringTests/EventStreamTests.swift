import Testing

@testable import Monitoring

@Suite struct EventStreamTests {
    @Test func slowPageGetsNewestEventLater() async throws {
        let stream = EventStream()
        var events = try #require(stream.listen()).makeAsyncIterator()
        for number in UInt8(1)...9 { stream.send([number]) }
        #expect(await events.next() == [9])
    }

    @Test func closedPageIsRemoved() async {
        let stream = EventStream()
        let reading = Task { [events = stream.listen()] in for await _ in events! {} }
        #expect(stream.hasListeners)
        reading.cancel()
        await reading.value
        #expect(!stream.hasListeners)
    }

    @Test func tooManyPagesAreRefused() {
        let stream = EventStream()
        let open = (0..<EventStream.limit).map { _ in stream.listen() }
        #expect(open.allSatisfy { $0 != nil })
        #expect(stream.listen() == nil)
        withExtendedLifetime(open) {}
    }

    @Test func serverEndClosesPages() async throws {
        let stream = EventStream()
        var events = try #require(stream.listen()).makeAsyncIterator()
        stream.end()
        #expect(await events.next() == nil)
        #expect(stream.listen() == nil)
    }

    @Test func eventIsOneLineOfData() {
        let event = EventStream.event("status", Array(#"{"a":1}"#.utf8))
        #expect(String(decoding: event, as: UTF8.self) == "event: status\ndata: {\"a\":1}\n\n")
    }
}
