/// Sample documents that can't be read, so that the page does not have them.
package struct UnreadableDocuments: Sendable {
    /// At most this many are described.
    package static let describedLimit = 100

    package private(set) var count = 0
    /// `PLACE: what is wrong; what to do`, of the first ones.
    package private(set) var descriptions: [String] = []

    package init() {}

    package mutating func add(_ description: String) {
        count += 1
        if descriptions.count < Self.describedLimit { descriptions.append(description) }
    }
}
