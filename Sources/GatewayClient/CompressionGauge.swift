internal import HTTPTransport

/// Decides whether the bodies of requests are compressed: only if compressing and sending clearly takes less time than
/// sending the uncompressed body.
///
/// A plain value without a clock. Nothing is compressed until three requests have shown how fast the link is. On a fast
/// link, gzip is not even tried; on others, it is occasionally tried with a sample.
struct CompressionGauge: Sendable {
    enum Choice: Equatable {
        case plain
        case compressed
        /// Compress up to ``sampleSize`` bytes of the body, record the result, and ask again.
        case sample
    }

    static let sampleSize = 64 << 10
    /// Smaller bodies do not give a rate.
    private static let minMeasuredBytes = 16 << 10
    /// Use the fastest of the last three rates: a busy server makes a link look slow, but nothing makes it look fast.
    private static let rateCount = 3
    /// In bytes per second. On such a link, even perfect compression would not pay off. More likely, the socket's
    /// buffer took the whole body immediately.
    private static let fastLink = 250e6
    /// The required saving, as a share of the uncompressed sending time: the gateway has to decompress the body.
    private static let minSaving = 0.25
    /// How long a measurement is valid.
    private static let validity: Duration = .seconds(60)
    /// An uncompressed request to measure the link may cost 1/50 of the time since the previous measurement.
    private static let measuringCostFactor = 50.0

    /// The result of compressing a body.
    private struct Compression {
        /// Seconds for each byte.
        let time: Double
        /// Bytes of the result for each byte.
        let ratio: Double
        let at: ContinuousClock.Instant
    }

    /// Bytes per second of the last requests.
    private var rates: [Double] = []
    private var ratesRecordedAt: ContinuousClock.Instant?
    private var compression: Compression?

    /// Records how fast the body of a request was sent, compressed or not.
    mutating func note(_ upload: HTTPUpload, at now: ContinuousClock.Instant) {
        var rate = Double(upload.measured) / upload.sending.positiveSeconds
        if upload.measured < Self.minMeasuredBytes || rate >= Self.fastLink {
            // This is a lower bound: the link can be much faster.
            rate = Double(upload.byteCount) / upload.answered.positiveSeconds
            guard let fastest = rates.max(), rate > fastest else { return }
        }
        rates = rates.suffix(Self.rateCount - 1) + [rate]
        ratesRecordedAt = now
    }

    /// Records how long it took to compress `byteCount` bytes to `compressedCount`.
    mutating func noteCompression(
        of byteCount: Int, to compressedCount: Int, in time: Duration, at now: ContinuousClock.Instant
    ) {
        compression = Compression(
            time: time.positiveSeconds / Double(byteCount), ratio: Double(compressedCount) / Double(byteCount), at: now)
    }

    /// How to send a body of `byteCount` bytes.
    ///
    /// Occasionally a body that should be compressed is sent uncompressed, to find out whether the link is still slow.
    mutating func choice(for byteCount: Int, at now: ContinuousClock.Instant) -> Choice {
        guard rates.count == Self.rateCount, let rate = rates.max(), rate < Self.fastLink, let ratesRecordedAt else {
            return .plain
        }
        guard let compression, compression.at.duration(to: now) < Self.validity else { return .sample }
        let plainTime = Double(byteCount) / rate
        let saved = plainTime - Double(byteCount) * (compression.time + compression.ratio / rate)
        guard saved >= plainTime * Self.minSaving else { return .plain }
        guard ratesRecordedAt.duration(to: now) < max(Self.validity, .seconds(saved * Self.measuringCostFactor)) else {
            self.ratesRecordedAt = now
            return .plain
        }
        return .compressed
    }
}

extension Duration {
    /// In seconds, at least a microsecond.
    fileprivate var positiveSeconds: Double { max(self / .seconds(1), 1e-6) }
}
