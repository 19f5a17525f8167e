/// How fast the body of a request was sent, as measured by its sender. Measured only if the request asks for it.
package struct HTTPUpload: Sendable, Equatable {
    /// Bytes of the whole body.
    package var byteCount: Int
    /// Bytes in the second half of the body, which ``sending`` measures. The first half fills the socket's buffer. The
    /// second half is therefore taken at the speed of the link, unless the buffer is larger than the body.
    package var measured: Int
    /// The time until the socket had accepted the measured bytes.
    package var sending: Duration
    /// The time from the first bytes to the head of the answer, including the server's work.
    package var answered: Duration

    /// Stores the values unchanged.
    package init(byteCount: Int, measured: Int, sending: Duration, answered: Duration) {
        self.byteCount = byteCount
        self.measured = measured
        self.sending = sending
        self.answered = answered
    }
}

/// Times the upload of one transfer: libcurl requests the next bytes once the socket has taken the previous ones.
/// (libcurl 7.88 does not reveal the socket of an active transfer, so its queue can't be inspected.)
struct UploadTimer {
    private static let minPieceSize = 16 << 10
    /// A shorter body does not have enough pieces.
    static let minByteCount = 4 * minPieceSize
    private static let pieces = 16

    /// A body is given to libcurl in pieces of this size while it is timed.
    let pieceSize: Int
    private let byteCount: Int
    private var given = 0
    private var begun: ContinuousClock.Instant?
    /// When the first half had been taken.
    private var half: (given: Int, at: ContinuousClock.Instant)?
    private var sent: (measured: Int, duration: Duration)?

    /// Nil for a body that is too short.
    init?(byteCount: Int) {
        guard byteCount >= Self.minByteCount else { return nil }
        self.byteCount = byteCount
        pieceSize = max(Self.minPieceSize, byteCount / Self.pieces)
    }

    /// Call when libcurl requests bytes, before they are read from the body.
    mutating func willRead(isAtStart: Bool, at now: ContinuousClock.Instant = .now) {
        // libcurl starts again if the connection turns out to be closed.
        if isAtStart { (given, begun, half, sent) = (0, now, nil, nil) }
        if half == nil, given >= byteCount / 2 { half = (given, now) }
        if let half { sent = (given - half.given, half.at.duration(to: now)) }
    }

    /// Call with the number of bytes that libcurl got.
    mutating func didRead(_ count: Int) { given += count }

    /// Call when the head of the answer is complete. Nil if it came before the end of the body.
    func answered(at now: ContinuousClock.Instant = .now) -> HTTPUpload? {
        guard let begun, let sent, given == byteCount else { return nil }
        return HTTPUpload(
            byteCount: byteCount, measured: sent.measured, sending: sent.duration, answered: begun.duration(to: now))
    }
}
