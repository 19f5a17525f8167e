import HTTPTransport
import Testing

@testable import GatewayClient

/// When requests are compressed. The gauge is a value: nothing is sent, and no time passes.
@Suite struct CompressionGaugeTests {
    private static let body = 1_000_000
    private let start = ContinuousClock.now
    private var gauge = CompressionGauge()

    /// An upload of which 100,000 bytes were taken at this rate, in bytes per second.
    private static func upload(_ rate: Double) -> HTTPUpload {
        HTTPUpload(
            byteCount: body, measured: 100_000, sending: .seconds(100_000 / rate),
            answered: .seconds(Double(body) / rate + 0.001))
    }

    private mutating func note(rates: [Double], at seconds: Int = 0) {
        for rate in rates { gauge.note(Self.upload(rate), at: start + .seconds(seconds)) }
    }

    /// - Parameter speed: In bytes per second.
    private mutating func noteCompression(speed: Double, ratio: Double, at seconds: Int = 0) {
        gauge.noteCompression(
            of: 64_000, to: Int(64_000 * ratio), in: .seconds(64_000 / speed), at: start + .seconds(seconds))
    }

    private mutating func choice(at seconds: Int = 0) -> CompressionGauge.Choice {
        gauge.choice(for: Self.body, at: start + .seconds(seconds))
    }

    @Test(
        arguments: [
            ([], .plain), ([1e6], .plain), ([1e6, 1e6], .plain), ([1e6, 1e6, 1e6], .sample),
            // The fastest of the last three rates counts.
            ([1e6, 1e6, 1e9], .plain), ([1e9, 1e6, 1e6, 1e6], .sample), ([1e6, 1e6, 1e6, 1e9], .plain),
            // On a fast link, gzip is not even tried.
            ([3e8, 3e8, 3e8], .plain),
        ] as [([Double], CompressionGauge.Choice)])
    mutating func nothingIsCompressedUntilLinkIsKnownToBeSlow(rates: [Double], choice expected: CompressionGauge.Choice)
    {
        note(rates: rates)
        #expect(choice() == expected)
    }

    /// Speeds of the link and of gzip, in bytes per second.
    @Test(
        arguments: [
            (1e6, 80e6, 0.2, .compressed), (10e6, 80e6, 0.2, .compressed), (40e6, 80e6, 0.2, .compressed),
            // Gigabit: compressing takes longer than sending.
            (110e6, 80e6, 0.2, .plain), (50e6, 80e6, 0.2, .plain),
            // A slow processor, and a body that hardly shrinks.
            (10e6, 5e6, 0.2, .plain), (1e6, 80e6, 0.8, .plain), (1e6, 80e6, 0.7, .compressed),
        ] as [(Double, Double, Double, CompressionGauge.Choice)])
    mutating func bodiesAreCompressedIfThatSavesTime(
        link: Double, speed: Double, ratio: Double, choice expected: CompressionGauge.Choice
    ) {
        note(rates: [link, link, link])
        noteCompression(speed: speed, ratio: ratio)
        #expect(choice() == expected)
    }

    @Test mutating func fasterLinkIsDetectedAfterOneMinute() {
        note(rates: [1e6, 1e6, 1e6])
        noteCompression(speed: 80e6, ratio: 0.2)
        #expect(choice(at: 59) == .compressed)
        noteCompression(speed: 80e6, ratio: 0.2, at: 59)
        // One request measures the link; the others continue meanwhile.
        #expect(choice(at: 60) == .plain)
        #expect(choice(at: 60) == .compressed)
        note(rates: [1e9], at: 61)
        #expect(choice(at: 61) == .plain)
    }

    @Test mutating func slowerLinkIsDetected() {
        note(rates: [1e9, 1e9, 1e9])
        #expect(choice() == .plain)
        note(rates: [1e6, 1e6])
        #expect(choice() == .plain)
        note(rates: [1e6])
        #expect(choice() == .sample)
    }

    /// A body of 1 MB would take 100 s.
    @Test mutating func verySlowLinkIsRarelyMeasured() {
        note(rates: [1e4, 1e4, 1e4])
        for minute in 1...66 {
            noteCompression(speed: 80e6, ratio: 0.2, at: minute * 60)
            #expect(choice(at: minute * 60) == .compressed, "\(minute)")
        }
        noteCompression(speed: 80e6, ratio: 0.2, at: 4001)
        #expect(choice(at: 4001) == .plain)
    }

    /// Compressed requests also measure the link.
    @Test mutating func compressedRequestsMeasureTheLinkToo() {
        note(rates: [1e6, 1e6, 1e6])
        for minute in 1...5 {
            noteCompression(speed: 80e6, ratio: 0.2, at: minute * 50)
            note(rates: [1e6], at: minute * 50)
            #expect(choice(at: minute * 50) == .compressed)
        }
    }

    @Test mutating func gzipIsMeasuredAgainEachMinute() {
        note(rates: [1e6, 1e6, 1e6])
        noteCompression(speed: 80e6, ratio: 0.9)
        #expect(choice(at: 59) == .plain)
        #expect(choice(at: 60) == .sample)
    }

    /// A body that the socket's buffer takes immediately gives only a lower bound for the link.
    @Test mutating func immediatelySentBodiesGiveMinimumRate() {
        var upload = HTTPUpload(
            byteCount: 50_000, measured: 0, sending: .microseconds(10), answered: .milliseconds(500))
        for _ in 0..<5 { gauge.note(upload, at: start) }
        #expect(choice() == .plain)
        note(rates: [1e6, 1e6, 1e6])
        gauge.note(upload, at: start)
        #expect(choice() == .sample)
        upload.answered = .microseconds(100)
        gauge.note(upload, at: start)
        #expect(choice() == .plain)
    }

    @Test mutating func zeroDurationsAreAccepted() {
        let upload = HTTPUpload(byteCount: 50_000, measured: 20_000, sending: .zero, answered: .zero)
        for _ in 0..<3 { gauge.note(upload, at: start) }
        #expect(choice() == .plain)
        gauge.noteCompression(of: 10, to: 5, in: .zero, at: start)
        #expect(choice() == .plain)
    }
}
