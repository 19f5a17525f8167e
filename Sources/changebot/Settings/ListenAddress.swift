/// `HOST:PORT`, `[::1]:PORT`, or `:PORT` for the loopback address.
struct ListenAddress: Equatable {
    let host: String
    let port: Int

    /// - Parameter option: The option's name, for messages.
    /// - Throws: ``CommandError`` with 64 if the text has none of these forms.
    init(_ text: String, option: String) throws(CommandError) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]) else {
            throw CommandError(
                .usage, "--\(option) '\(text)' is not valid: write HOST:PORT, such as 127.0.0.1:4985 or [::1]:4985")
        }
        guard (0...65535).contains(port) else {
            throw CommandError(
                .usage, "--\(option) '\(text)' is not valid: write a port from 1 to 65535, or 0 for a free one")
        }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        self.host = host.isEmpty ? "127.0.0.1" : host
        self.port = port
    }
}
