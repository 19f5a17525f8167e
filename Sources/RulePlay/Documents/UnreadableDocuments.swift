internal import LosslessJSON

/// Sample documents that can't be read, so that the page does not have them.
struct UnreadableDocuments: Sendable {
    /// At most this many are described.
    static let describedLimit = 100

    private(set) var count = 0
    /// `PLACE: what is wrong; what to do`, of the first ones.
    private(set) var descriptions: [String] = []

    mutating func add(_ description: String) {
        count += 1
        if descriptions.count < Self.describedLimit { descriptions.append(description) }
    }

    func write(to writer: inout JSONWriter) {
        writer.member("unreadableDocumentCount", integer: count)
        writer.name("unreadableDocuments")
        writer.array { writer in for text in descriptions { writer.string(text) } }
    }
}
