/// The buffer between a receiving transfer and a reading task: about one high-water mark of bytes.
///
/// A plain value under a lock; the result of each function says what the caller must do after releasing the lock.
/// Receiving → (paused ⇄ receiving) → ended. Only the loop's thread receives; the reader takes bytes or gives up.
struct BodyFlow: Sendable {
    typealias Part = Result<[UInt8]?, HTTPTransportError>
    typealias Reader = UnsafeContinuation<Part, Never>

    /// What a new reader must do.
    enum Arrival {
        /// Take `part`; if `wasPaused`, tell the transfer to continue.
        case part(Part, wasPaused: Bool)
        case wait
    }

    /// A reader to wake, with its bytes.
    struct Delivery {
        let reader: Reader
        let part: Part
        /// The transfer was paused because of these bytes and must be told to continue.
        let wasPaused: Bool
    }

    private let highWaterMark: Int
    private var waiting: [UInt8] = []
    private var lastTaken = 0
    private var reader: Reader?
    private var end: Result<Void, HTTPTransportError>?
    private(set) var isPaused = false
    private(set) var received = 0

    init(highWaterMark: Int) {
        self.highWaterMark = highWaterMark
    }

    var isEnded: Bool { end != nil }

    /// Stores bytes from libcurl. False: not stored; the transfer must pause and offer them again.
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard waiting.count < highWaterMark else {
            isPaused = true
            return false
        }
        if waiting.isEmpty { waiting.reserveCapacity(max(bytes.count, lastTaken)) }
        waiting.append(contentsOf: bytes)
        received += bytes.count
        return true
    }

    /// Returns the bytes for a new reader, or tells it to wait.
    mutating func arrive() -> Arrival {
        if case .failure(let error)? = end, waiting.isEmpty { return .part(.failure(error), wasPaused: false) }
        if !waiting.isEmpty {
            defer { isPaused = false }
            return .part(.success(take()), wasPaused: isPaused)
        }
        return end == nil ? .wait : .part(.success(nil), wasPaused: false)
    }

    /// Makes `reader` wait, unless bytes have arrived meanwhile.
    mutating func wait(_ reader: Reader) -> Arrival {
        let arrival = arrive()
        if case .wait = arrival {
            precondition(self.reader == nil, "a body has one reader at a time")
            self.reader = reader
        }
        return arrival
    }

    /// Returns the waiting reader with the bytes for it; nil if there is no reader or nothing has arrived.
    mutating func takeDelivery() -> Delivery? {
        guard let reader, !waiting.isEmpty || end != nil else { return nil }
        self.reader = nil
        guard case .part(let part, let wasPaused) = arrive() else { return nil }
        return Delivery(reader: reader, part: part, wasPaused: wasPaused)
    }

    /// Ends the transfer. After a cut, the bytes received before it can still be read; after a cancellation, none can.
    mutating func finish(_ result: Result<Void, HTTPTransportError>) -> Delivery? {
        guard end == nil else { return nil }
        end = result
        if case .failure(let error) = result, error.code == .cancelled { waiting = [] }
        isPaused = false
        return takeDelivery()
    }

    private mutating func take() -> [UInt8] {
        let bytes = waiting
        waiting = []
        lastTaken = bytes.count
        return bytes
    }
}
