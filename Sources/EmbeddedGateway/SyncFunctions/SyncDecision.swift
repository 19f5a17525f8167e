internal import Encodings
internal import LosslessJSON
internal import SyncFunctions

/// The decision of a sync function about one revision.
struct SyncDecision: Equatable {
    /// A grant of a document to a user or role.
    struct PrincipalGrant: Hashable {
        /// The key of a user or role, which may not exist yet.
        let principal: String
        let grant: Grant
    }

    /// Sorted and without duplicates.
    var channels: [String] = []
    var grants: Set<PrincipalGrant> = []
    /// When the document expires, in seconds since 1970. Nil: never.
    var expires: Int?

    /// The decision without a sync function.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1: the member `channels` decides.
    init(_ document: IncomingDocument, expires: Int?) throws(RequestError) {
        if let name = document.channels.first(where: { !Self.isChannel($0) }) {
            throw RequestError(400, "Illegal channel name \"\(name)\"")
        }
        channels = document.channels
        self.expires = expires
    }

    /// An empty decision, for an existing revision that the function refuses.
    init() {}

    /// - Parameters:
    ///   - collection: `SCOPE.COLLECTION`, for the channels that are granted.
    ///   - expires: The document's own expiry. The function's takes precedence.
    ///   - now: Seconds since 1970.
    /// - Note: Source: recorded, Sync Gateway 4.1.1, including its order: the function's exception takes precedence
    ///   over invalid names.
    init(
        _ result: SyncFunctionResult, collection: String, expires: Int?, now: Int
    ) throws(RequestError) {
        guard !result.hasFailed else { throw .syncFunctionException }
        if let (status, reason) = result.rejection { throw RequestError(status, reason) }
        guard result.channels.allSatisfy(Self.isChannel) else { throw .syncFunctionException }
        channels = Set(result.channels.filter { !$0.utf8.contains(0) }).sorted()
        for call in result.access { try add(call) { .channel($0, collection: collection) } }
        for call in result.roles {
            guard call.names.allSatisfy({ $0.hasPrefix("role:") }) else { throw .syncFunctionException }
            let names = call.names.map { String($0.dropFirst("role:".count)) }
            guard names.allSatisfy(Self.isChannel) else { throw .syncFunctionException }
            guard names.allSatisfy(Self.isPrincipal) else { throw .syncFunctionError }
            try add(.init(users: call.users, names: names)) { .role($0) }
        }
        let last = result.expiry.compactMap(Expiry.seconds).last
        self.expires = if let last { DocumentExpiry.time(ofSeconds: last, now: now) } else { expires }
    }

    private mutating func add(
        _ call: SyncFunctionResult.Grant, _ grant: (String) -> Grant
    ) throws(RequestError) {
        guard call.names.allSatisfy(Self.isChannel) else { throw .syncFunctionException }
        for user in call.users {
            let isRole = user.hasPrefix("role:")
            let name = isRole ? String(user.dropFirst("role:".count)) : user
            guard Self.isPrincipal(name) else { throw .syncFunctionError }
            let key = isRole ? Principal.role(name) : Principal.user(name)
            for name in call.names where name != RequestUser.starChannel {
                grants.insert(PrincipalGrant(principal: key, grant: grant(name)))
            }
        }
    }

    private static func isChannel(_ name: String) -> Bool { !name.isEmpty && !name.contains(",") }

    private static func isPrincipal(_ name: String) -> Bool {
        name.utf8.count <= 128 && !name.contains { ":/,`".contains($0) }
    }
}

extension RequestError {
    static let syncFunctionError = RequestError(500, "Error in JS sync function")
    static let syncFunctionException = RequestError(500, "Exception in JS sync function")
    static let syncFunctionTimeout = RequestError(500, "JS sync function timed out")
}
