internal import HTTPServing

/// Decides which requests may be answered. Only the page that this program has opened may read or write anything.
struct RequestGuard: Sendable {
    /// The field with the token. Another site's page can't send it: browsers ask before, and are refused.
    static let tokenField = "X-Changebot-Token"

    private let token: PlayToken

    init(token: PlayToken) { self.token = token }

    /// Why a request is not answered at all; nil if it may be.
    ///
    /// A page of another site can reach this server under a name of its own (DNS rebinding), or from another port of
    /// this machine.
    func refusal(_ request: Request) -> Refusal? {
        guard let host = request.field("Host"), RequestedHost(host).isLoopback else {
            return Refusal(421, "this host name is not accepted; use 127.0.0.1 or localhost")
        }
        if let origin = request.field("Origin"), origin.lowercased() != "http://\(host.lowercased())" {
            return Refusal(403, "requests of other pages are not accepted; open the address that changebot has printed")
        }
        return nil
    }

    /// Why a request about rules or documents is refused; nil if it may be answered.
    func refusalOfData(_ request: Request) -> Refusal? {
        guard request.method == "POST" else { return Refusal(405, "only POST is allowed", allow: "POST") }
        if let site = request.field("Sec-Fetch-Site"), site != "same-origin" {
            return Refusal(403, "requests of other pages are not accepted; open the address that changebot has printed")
        }
        guard let type = request.field("Content-Type"), type.lowercased().hasPrefix("application/json") else {
            return Refusal(415, "the body must have the type application/json")
        }
        guard let given = request.field(Self.tokenField), token.isSame(as: given) else {
            return Refusal(401, "this page has no token, or an old one; open the address that changebot has printed")
        }
        return nil
    }
}

/// A request that is not answered with data.
struct Refusal: Error, Equatable {
    let status: Int
    /// What is wrong and what to do.
    let reason: String
    var allow: String?

    init(_ status: Int, _ reason: String, allow: String? = nil) {
        (self.status, self.reason, self.allow) = (status, reason, allow)
    }
}

/// The secret that only the opened page has. It is behind `#` in its address, which browsers never send.
package struct PlayToken: Sendable {
    package let text: String

    /// A new random token.
    package init() {
        var random = SystemRandomNumberGenerator()
        text = (0..<2).map { _ in
            let digits = String(random.next(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Compares every byte, so that the time does not tell how many are right.
    func isSame(as other: String) -> Bool {
        let (left, right) = (Array(text.utf8), Array(other.utf8))
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(0) { $0 | $1.0 ^ $1.1 } == 0
    }
}
