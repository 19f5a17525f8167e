internal import Locking

/// Sends the same events to every open page.
///
/// A page that does not read misses events, and gets the newest one when it reads again: an event is the whole status.
/// A slow page therefore costs only the memory of one event.
final class EventStream: Sendable {
    private struct State {
        var pages: [Int: AsyncStream<[UInt8]>.Continuation] = [:]
        var next = 0
        var isEnded = false
    }

    /// The maximum number of pages; further ones are refused.
    static let limit = 200

    private let state = Locked(State())
    /// Raised when a page is opened.
    let opened = Signal()

    /// Whether any page is open.
    var hasListeners: Bool { state.withLock { !$0.pages.isEmpty } }

    /// The events from now on; nil if there are too many pages, or the stream has ended.
    func listen() -> AsyncStream<[UInt8]>? {
        let (events, continuation) = AsyncStream<[UInt8]>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state -> Int? in
            guard state.pages.count < Self.limit, !state.isEnded else { return nil }
            state.next += 1
            state.pages[state.next] = continuation
            return state.next
        }
        guard let number else { return nil }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.pages.removeValue(forKey: number) }
        }
        opened.raise()
        return events
    }

    /// Sends an event without blocking.
    func send(_ event: [UInt8]) {
        for page in state.withLock({ Array($0.pages.values) }) { page.yield(event) }
    }

    /// Ends the streams of all pages.
    func end() {
        let pages = state.withLock { state in
            state.isEnded = true
            return Array(state.pages.values)
        }
        for page in pages { page.finish() }
    }

    /// An event of server-sent events with JSON as its data.
    ///
    /// - Note: Source: HTML, "Server-sent events". JSON of `JSONWriter` has no line breaks.
    static func event(_ name: String, _ json: [UInt8]) -> [UInt8] {
        Array("event: \(name)\ndata: ".utf8) + json + Array("\n\n".utf8)
    }

    /// Keeps the connection open through proxies.
    static let comment = Array(": still here\n\n".utf8)
}
