import CCurl
internal import Locking

/// The body of a request while libcurl reads it.
struct SentBody {
    /// For a body that is produced while it is sent; nil for all others.
    let flow: Locked<UploadFlow>?
    private var position: UploadPosition
    /// Nil if the request does not measure its upload.
    private(set) var timer: UploadTimer?
    private let mayBeRepeated: Bool

    init(of request: HTTPRequest, _ flow: Locked<UploadFlow>?) {
        self.flow = flow
        position = UploadPosition(request.body)
        timer = request.measuresUpload ? request.body.count.flatMap(UploadTimer.init) : nil
        mayBeRepeated = request.mayBeRepeated
    }

    /// Whether the transfer waits for the next bytes.
    var isStarving: Bool { flow?.withLock(\.isStarving) ?? false }

    /// Why the body can't be produced; nil if it can.
    var failure: HTTPTransportError? { flow?.withLock(\.failure) }

    /// Copies the next bytes, and returns how many, or `CURL_READFUNC_PAUSE`.
    mutating func read(into target: UnsafeMutableRawBufferPointer) -> Int {
        guard let flow else { return readSegments(into: target) }
        let (count, feeder) = flow.withLock { $0.read(into: target) }
        feeder?.resume(returning: true)
        return count ?? Int(CURL_READFUNC_PAUSE)
    }

    private mutating func readSegments(into target: UnsafeMutableRawBufferPointer) -> Int {
        guard let timer else { return position.read(into: target) }
        self.timer?.willRead(isAtStart: position.isAtStart)
        let count = position.read(into: UnsafeMutableRawBufferPointer(rebasing: target.prefix(timer.pieceSize)))
        self.timer?.didRead(count)
        return count
    }

    /// - Returns: False if the body can't be sent from this place, in bytes from its start.
    mutating func seek(to place: Int) -> Bool {
        guard let flow else { return mayBeRepeated || position.isAtStart ? position.seek(to: place) : false }
        return place == 0 && !flow.withLock(\.hasBegun)
    }

    /// The transfer is over: wakes the task that produces the body.
    func close() { flow?.withLock { $0.close() }?.resume(returning: false) }
}
