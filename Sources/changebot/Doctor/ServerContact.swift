internal import Encodings
internal import GatewayClient
internal import Glibc
internal import HTTPTransport

/// The facts from one anonymous request for the server's root page, on a separate connection. Any response will do,
/// even an error.
struct ServerContact: Sendable {
    let connection: HTTPConnectionReport
    /// The `Server` header; nil if there is none.
    let server: String?
    /// Nil if the response has no date.
    let clock: ClockReading?

    private static let deadline: Duration = .seconds(20)

    /// - Parameter trustsAnyone: Whether to accept any certificate. Credentials are never sent.
    static func make(
        _ url: GatewayURL, _ settings: GatewaySettings, trustsAnyone: Bool
    ) async throws(HTTPTransportError) -> ServerContact {
        var configuration = HTTPClientConfiguration()
        configuration.tls = HTTPClientConfiguration.TLS(settings.tls)
        configuration.tls.isInsecure = trustsAnyone
        configuration.userAgent = settings.userAgent
        let client = HTTPClient(configuration: configuration)
        let result = await ask(client, url)
        await client.shutdown()
        return try result.get()
    }

    private static func ask(
        _ client: HTTPClient, _ url: GatewayURL
    ) async -> Result<ServerContact, HTTPTransportError> {
        var request = HTTPRequest(url: url.base + "/", deadline: deadline)
        request.reportsConnection = true
        let sent = WallClock.now
        do throws(HTTPTransportError) {
            let response = try await client.send(request)
            let answered = WallClock.now
            let date = response.headers["Date"].flatMap(HTTPDate.init)
            let age = response.headers["Age"].flatMap { Int($0) } ?? 0
            return .success(
                ServerContact(
                    connection: response.connection
                        ?? HTTPConnectionReport(address: nil, port: nil, connecting: .zero, certificates: []),
                    server: response.headers["Server"],
                    clock: date.map {
                        ClockReading(sent: sent, answered: answered, date: Double($0.seconds + max(0, age)))
                    }))
        } catch {
            return .failure(error)
        }
    }

    /// Reports that the server was reached.
    var finding: Finding {
        let address = connection.address.map { $0.contains(":") ? "[\($0)]" : $0 } ?? "the server"
        let port = connection.port.map { ":\($0)" } ?? ""
        let milliseconds = Int((connection.connecting / .milliseconds(1)).rounded(.up))
        return .ok("\(address)\(port) accepts connections, after \(max(1, milliseconds)) ms")
    }
}

/// The time of day.
enum WallClock {
    /// Seconds since 1970.
    static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1_000_000_000
    }
}

/// The times at which a request was sent and answered, and the date in the response, in seconds since 1970.
struct ClockReading: Sendable, Equatable {
    static let warningLimit = 30.0
    static let errorLimit = 300.0

    let sent: Double
    let answered: Double
    /// The `Date` header has no fractions: the true time was up to a second later.
    let date: Double

    /// How many seconds this machine's clock is ahead of the server's, at least; negative if it is behind.
    ///
    /// The server dated its response between the two local times, so a difference that the round trip can explain
    /// counts as 0.
    var offset: Double {
        let least = sent - (date + 1)
        let most = answered - date
        return least > 0 ? least : most < 0 ? most : 0
    }

    var finding: Finding { finding(of: "the gateway") }

    /// - Parameter server: The name of the server whose clock was read.
    func finding(of server: String) -> Finding {
        let size = abs(offset)
        guard size >= 1 else { return .ok("this machine's clock and \(server)'s agree") }
        let text =
            "this machine's clock is \(Quantity.duration(.seconds(Int(size)))) \(offset > 0 ? "ahead of" : "behind") \(server)'s"
        guard size >= Self.warningLimit else { return .ok(text) }
        return Finding(
            size >= Self.errorLimit ? .error : .warning, text,
            remedy:
                "set the wrong clock, and synchronize it with NTP ('timedatectl set-ntp true'): certificates, sessions and the time in rules depend on it"
        )
    }
}
