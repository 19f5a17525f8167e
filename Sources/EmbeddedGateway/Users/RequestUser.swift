internal import HTTPServing

/// The user who makes a request, with the user's access.
struct RequestUser: Sendable {
    /// Nil for GUEST.
    let name: String?
    /// The sequence of the user's entry in the changes feed.
    let sequence: Int
    /// Channels in the entered collection, each with the sequence of its grant.
    private(set) var channels: [String: Int] = [:]
    /// Channels lost in that collection, each with the sequence of the loss.
    private(set) var lostChannels: [String: Int] = [:]
    /// By collection. Nil if the channels are the same in all collections.
    private let access: [String: ChannelAccess]?
    private var collection: String?
    /// Whether it is an administrator, whom sync functions don't check.
    private(set) var isAdministrator = false
    /// A cookie to set in the answer.
    var cookie: HTTPField?

    /// A user who has not entered a collection. ``channels`` is empty.
    init(name: String?, sequence: Int, access: [String: ChannelAccess]) {
        self.name = name
        self.sequence = sequence
        self.access = access
    }

    private init(
        name: String? = nil, sequence: Int = Store.guestSequence, everywhere channels: [String: Int]
    ) {
        self.name = name
        self.sequence = sequence
        self.channels = channels
        access = nil
    }

    /// The user of a database without users, who has full access.
    static let unrestricted = RequestUser(everywhere: [Self.starChannel: Store.guestSequence])
    /// An anonymous user, who may only log in.
    static let anonymous = RequestUser(everywhere: [:])

    /// Any user of the administrative port.
    static let administrator: RequestUser = {
        var requestUser = RequestUser(name: nil, sequence: 0, everywhere: [Self.starChannel: Store.guestSequence])
        requestUser.isAdministrator = true
        return requestUser
    }()

    /// The channel that contains all documents.
    static let starChannel = "*"
    /// The channel that all users have.
    static let publicChannel = "!"

    /// - Parameter collection: `SCOPE.COLLECTION`.
    func entering(_ collection: String) -> RequestUser {
        guard let access else { return self }
        let here = access[collection] ?? ChannelAccess()
        var requestUser = self
        requestUser.channels = here.held
        requestUser.lostChannels = here.lost
        requestUser.collection = collection
        return requestUser
    }

    /// The user in the collection that another user has entered.
    func entering(like other: RequestUser) -> RequestUser { other.collection.map { entering($0) } ?? self }

    /// Whether the channels depend on grants.
    var isRestricted: Bool { access != nil }

    var seesEverything: Bool { channels[Self.starChannel] != nil }

    /// The user's id in the changes feed.
    var feedID: String { "_user/\(name ?? "GUEST")" }

    func sees(_ documentChannels: [String]) -> Bool {
        seesEverything || documentChannels.contains { channels[$0] != nil }
    }
}
