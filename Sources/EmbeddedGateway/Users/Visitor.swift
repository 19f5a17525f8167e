/// Who makes a request, and what he may see.
struct Visitor: Sendable {
    /// Nil for GUEST.
    let name: String?
    /// The sequence of his entry in the changes feed.
    let sequence: Int
    /// His channels, each with the sequence at which he got it.
    let channels: [String: Int]
    /// A cookie that goes back to him.
    var cookie: HTTPField?

    /// What a database without users is open to.
    static let everyone = Visitor(
        name: nil, sequence: Store.guestSequence, channels: [Self.everything: Store.guestSequence])
    /// GUEST where he may do nothing but log in.
    static let nobody = Visitor(name: nil, sequence: Store.guestSequence, channels: [:])

    /// The channel that holds all documents.
    static let everything = "*"
    /// The channel that all users have.
    static let everybody = "!"

    var seesEverything: Bool { channels[Self.everything] != nil }

    /// His id in the changes feed.
    var feedID: String { "_user/\(name ?? "GUEST")" }

    func sees(_ documentChannels: [String]) -> Bool {
        seesEverything || documentChannels.contains { channels[$0] != nil }
    }
}
