package import GatewayClient

extension Gateway {
    /// Refuses channels where the server has none. Ask once its first answer has told which server it is.
    ///
    /// - Throws: `.badConfiguration`.
    package func check(channels: [String]?) throws(RunFailure) {
        guard channels == nil || dialect.hasChannels else {
            throw RunFailure(.badConfiguration, "--channels: \(url) is no Sync Gateway and has no channels")
        }
    }
}
