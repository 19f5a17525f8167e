package import GatewayClient

extension Gateway {
    /// Throws if channels are given but the server has none. To be called after its first answer, which names the
    /// server.
    ///
    /// - Throws: `.badConfiguration`.
    package func check(channels: [String]?) throws(RunError) {
        guard channels == nil || dialect.hasChannels else {
            throw RunError(.badConfiguration, "--channels: \(url) is no Sync Gateway and has no channels")
        }
    }
}
