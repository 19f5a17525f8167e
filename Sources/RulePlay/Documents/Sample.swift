package import LosslessJSON

/// A document on which the page tries the rules. It exists only in this process.
package struct Sample: Sendable {
    package let document: JSONText
    /// The document as the rules last saw it. Nil: they see it for the first time.
    package var before: JSONText?
    /// Where it comes from, for people.
    package let origin: String
    /// What it came with, such as a recipe with its values. The list has a heading for each group.
    let group: String
    /// Whether it belongs to the example of a new file, and the user has not changed it.
    let isExample: Bool

    package init(_ document: JSONText, before: JSONText? = nil, origin: String, group: String = "") {
        self.init(document, before: before, origin: origin, group: group, isExample: false)
    }

    init(_ document: JSONText, before: JSONText?, origin: String, group: String, isExample: Bool) {
        (self.document, self.before, self.origin, self.group) = (document, before, origin, group)
        self.isExample = isExample
    }

    /// The document's id. Empty if it has none.
    var id: String { document.root["_id"]?.string ?? "" }

    var isDeleted: Bool { document.root["_deleted"]?.bool == true }

    /// The beginning of the document, for a list.
    var excerpt: String {
        let limit = 160
        let text = String(decoding: document.bytes.prefix(limit), as: UTF8.self)
        let words = text.split { $0.isWhitespace }.joined(separator: " ")
        return document.bytes.count > limit ? words + " …" : words
    }
}
