internal import Compression
internal import Locking

extension Gateway {
    /// In bytes. Compressing a smaller body takes longer than it saves.
    private static let smallestCompressedBody = 8 << 10

    /// The same request with its body compressed; nil if it should be sent as it is.
    func compressed(_ request: GatewayRequest) -> GatewayRequest? {
        guard request.mayCompress, let body = request.body, compresses else { return nil }
        let count = body.reduce(0) { $0 + $1.count }
        guard count >= Self.smallestCompressedBody else { return nil }
        let compressed = Gzip.compress(segments: body)
        guard compressed.count < count else { return nil }
        var request = request
        request.body = [compressed]
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
