internal import Compression
internal import Locking

extension Gateway {
    /// In bytes. Compressing a smaller body takes longer than it saves.
    private static let smallestPackedBody = 8 << 10

    /// The same request with its body compressed; nil if it should be sent as it is.
    func packed(_ request: GatewayRequest) -> GatewayRequest? {
        guard request.mayCompress, let body = request.body, compresses else { return nil }
        let count = body.reduce(0) { $0 + $1.count }
        guard count >= Self.smallestPackedBody else { return nil }
        let packed = Gzip.pack(segments: body)
        guard packed.count < count else { return nil }
        var request = request
        request.body = [packed]
        request.isCompressed = true
        return request
    }

    private var compresses: Bool {
        switch settings.compressesRequests {
        case .never: false
        case .auto where url.isLoopback: false
        case .auto, .always: !refusesCompression.withLock { $0 }
        }
    }
}
