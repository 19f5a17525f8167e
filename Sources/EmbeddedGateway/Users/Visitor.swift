/// Who makes a request, and what he may see.
struct Visitor: Sendable {
    /// Nil for GUEST.
    let name: String?
    /// The sequence of his entry in the changes feed.
    let sequence: Int
    /// His channels in the collection that he has entered, each with the sequence at which he got it.
    private(set) var channels: [String: Int] = [:]
    /// Those that he has lost there, each with the sequence at which it happened.
    private(set) var lostChannels: [String: Int] = [:]
    /// By collection; nil if he has the same channels in all.
    private let access: [String: ChannelAccess]?
    /// A cookie that goes back to him.
    var cookie: HTTPField?

    /// One who has not entered a collection.
    init(name: String?, sequence: Int, access: [String: ChannelAccess]) {
        self.name = name
        self.sequence = sequence
        self.access = access
    }

    private init(everywhere channels: [String: Int]) {
        name = nil
        sequence = Store.guestSequence
        self.channels = channels
        access = nil
    }

    /// What a database without users is open to.
    static let everyone = Visitor(everywhere: [Self.everything: Store.guestSequence])
    /// GUEST where he may do nothing but log in.
    static let nobody = Visitor(everywhere: [:])

    /// The channel that holds all documents.
    static let everything = "*"
    /// The channel that all users have.
    static let everybody = "!"

    /// - Parameter collection: `SCOPE.COLLECTION`.
    func entering(_ collection: String) -> Visitor {
        guard let access else { return self }
        let here = access[collection] ?? ChannelAccess()
        var visitor = self
        visitor.channels = here.held
        visitor.lostChannels = here.lost
        return visitor
    }

    var seesEverything: Bool { channels[Self.everything] != nil }

    /// His id in the changes feed.
    var feedID: String { "_user/\(name ?? "GUEST")" }

    func sees(_ documentChannels: [String]) -> Bool {
        seesEverything || documentChannels.contains { channels[$0] != nil }
    }
}
