/// How a client talks to its gateway. Every default is written here and nowhere else.
public struct GatewaySettings: Sendable {
    public struct Deadlines: Sendable {
        /// Small requests: information, single documents, `_local`.
        public var small: Duration = .seconds(60)
        /// A bulk write, from the first byte sent to the last of the answer.
        public var bulk: Duration = .seconds(300)
        /// Silence on a stream that should flow: a catch-up, an attachment.
        public var silence: Duration = .seconds(60)
        /// How long after its own timeout a longpoll may still come. Above it the connection is taken for dead.
        public var longpollGrace: Duration = .seconds(10)

        public init() {}
    }

    public var credentials: GatewayCredentials?
    /// Overrides what the server says of itself.
    public var dialect: GatewayDialect?
    public var deadlines = Deadlines()
    /// A file of certificates to trust instead of the system's.
    public var caFile: String?
    /// Takes any certificate. For tests and emergencies.
    public var isInsecure = false
    public var userAgent = "changebot"

    public init() {}
}
