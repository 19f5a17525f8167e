package import LosslessJSON

/// A property that is not simply the member of its name: where the document came from, or an attachment.
///
/// Decoders and encoders of this target ask it instead of its `Codable` implementation.
package protocol DocumentPart: Codable, Sendable {
    /// - Returns: Nil if the document has no such part, which is an error unless the property is optional.
    /// - Throws: `DecodingError` if what the document has can't be this part.
    static func read(at place: DocumentPlace) throws -> Self?

    /// What the document has as the member of this name; nil for no member.
    ///
    /// - Throws: `EncodingError` if the part can't be here.
    func json(at place: DocumentPlace) throws -> [UInt8]?
}

/// A property's place in a document.
package struct DocumentPlace {
    /// The document that is read; of one that is written, its last known content.
    package let document: JSONValue?
    /// Names and positions from the top of the document.
    package let path: [any CodingKey]

    package init(document: JSONValue?, path: [any CodingKey]) {
        self.document = document
        self.path = path
    }

    /// The value in the document; nil if there is none.
    package var value: JSONValue? {
        path.reduce(document) { value, key in key.intValue.flatMap { value?.element($0) } ?? value?[key.stringValue] }
    }
}

/// A part that an encoder came by.
package struct FoundPart {
    /// Names and positions from the top of the document.
    package let path: [any CodingKey]
    package let part: any DocumentPart
}
