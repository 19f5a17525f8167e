/// How fast the body of a request left, as far as its sender can see. Measured only if the request asks for it.
package struct HTTPUpload: Sendable, Equatable {
    /// Bytes of the whole body.
    package var byteCount: Int
    /// Bytes in the second half of the body that ``sending`` is about. The first half fills the socket's buffer, so
    /// that these are taken as fast as the link sends, unless the buffer is larger than the body.
    package var measured: Int
    /// How long it took until the socket had taken the measured bytes.
    package var sending: Duration
    /// From the first bytes to the head of the answer. Includes the work of the server.
    package var answered: Duration

    /// Takes the values as they are.
    package init(byteCount: Int, measured: Int, sending: Duration, answered: Duration) {
        self.byteCount = byteCount
        self.measured = measured
        self.sending = sending
        self.answered = answered
    }
}

/// Times the upload of one transfer: libcurl asks for the next bytes once the socket has taken those before. (libcurl
/// 7.88 does not tell the socket of a transfer that is under way, so its queue can't be looked at.)
struct UploadTimer {
    private static let leastPiece = 16 << 10
    /// A shorter body has too few pieces.
    static let leastByteCount = 4 * leastPiece
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
        guard byteCount >= Self.leastByteCount else { return nil }
        self.byteCount = byteCount
        pieceSize = max(Self.leastPiece, byteCount / Self.pieces)
    }

    /// Call when libcurl asks for bytes, before they are read from the body.
    mutating func willRead(isAtStart: Bool, at now: ContinuousClock.Instant = .now) {
        // libcurl begins again after a connection that turns out to be closed.
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
