internal import Compression
internal import Locking

extension Gateway {
    /// In bytes. Compressing a smaller body takes longer than it saves.
    private static let smallestCompressedBody = 8 << 10
    /// zlib's fastest level. A higher level pays off only on a very slow link.
    private static let compressionLevel: Int32 = 1

    /// The same request with a compressed body; nil if it should be sent uncompressed.
    func compressed(_ request: GatewayRequest) -> GatewayRequest? {
        guard let whole = request.body, whole.mayBeCompressed, let body = whole.segments else { return nil }
        let count = body.reduce(0) { $0 + $1.count }
        guard count >= Self.smallestCompressedBody, compresses(body, count) else { return nil }
        let compressed = measuredCompression(of: body, count)
        guard compressed.count < count else { return nil }
        var request = request
        request.body = whole.compressed(to: compressed)
        return request
    }

    /// Whether upload speeds must be measured.
    var measuresUploads: Bool { settings.compressesRequests == .auto && !url.isLoopback }

    private func compresses(_ body: [[UInt8]], _ count: Int) -> Bool {
        switch settings.compressesRequests {
        case .never: false
        case .auto: measuresUploads && !refusesCompression.withLock { $0 } && savesTime(body, count)
        case .always: !refusesCompression.withLock { $0 }
        }
    }

    private func savesTime(_ body: [[UInt8]], _ count: Int) -> Bool {
        if case let choice = choice(for: count), choice != .sample { return choice == .compressed }
        var sample: [UInt8] = []
        for segment in body where sample.count < CompressionGauge.sampleSize {
            sample += segment.prefix(CompressionGauge.sampleSize - sample.count)
        }
        _ = measuredCompression(of: [sample], sample.count)
        return choice(for: count) == .compressed
    }

    private func choice(for count: Int) -> CompressionGauge.Choice {
        compressionGauge.withLock { $0.choice(for: count, at: settings.process.now()) }
    }

    private func measuredCompression(of body: [[UInt8]], _ count: Int) -> [UInt8] {
        let start = settings.process.now()
        let compressed = Gzip.compress(segments: body, level: Self.compressionLevel)
        let end = settings.process.now()
        compressionGauge.withLock {
            $0.noteCompression(of: count, to: compressed.count, in: start.duration(to: end), at: end)
        }
        return compressed
    }
}
