/// How the connection of a request was opened, for diagnosis.
package struct HTTPConnectionReport: Sendable, Equatable {
    /// The IP address that was connected to; that of the proxy if there is one. Nil if unknown.
    package let address: String?
    /// The port there; nil if unknown.
    package let port: Int?
    /// The time from the start of the request until the TCP connection was established, including the name lookup.
    package let connecting: Duration
    /// The certificates that the server sent, its own first. Empty without TLS.
    package let certificates: [HTTPCertificate]

    /// Stores the values unchanged.
    package init(address: String?, port: Int?, connecting: Duration, certificates: [HTTPCertificate]) {
        self.address = address
        self.port = port
        self.connecting = connecting
        self.certificates = certificates
    }
}
