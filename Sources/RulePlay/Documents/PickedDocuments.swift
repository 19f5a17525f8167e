package import LosslessJSON

/// Documents that a gateway has sent for a selector.
package struct PickedDocuments: Sendable {
    package var documents: [JSONText]
    /// Documents that could not be read. Whether the selector matches them is unknown.
    private(set) var unreadable = UnreadableDocuments()

    package init(_ documents: [JSONText] = []) { self.documents = documents }

    /// Notes that a document can't be read.
    ///
    /// - Parameters:
    ///   - id: Its id.
    ///   - reason: Why.
    package mutating func leaveOut(_ id: String, _ reason: String) { unreadable.add("'\(id)': \(reason)") }
}
