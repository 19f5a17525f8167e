package import LosslessJSON

/// A property that is not a plain member: the document's origin, or an attachment.
///
/// Decoders and encoders of this target use it instead of the type's `Codable` implementation.
package protocol DocumentPart: Codable, Sendable {
    /// - Returns: Nil if the document has no such part, which is an error unless the property is optional.
    /// - Throws: `DecodingError` if the document's value can't be this part.
    static func read(at place: DocumentPlace) throws -> Self?

    /// The JSON of the member with this name; nil for no member.
    ///
    /// - Throws: `EncodingError` if the part is not allowed here.
    func json(at place: DocumentPlace) throws -> [UInt8]?
}

/// The place of a property in a document.
package struct DocumentPlace {
    /// The document that is read. When writing, its last known content.
    package let document: JSONValue?
    /// Names and indices from the top of the document.
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

/// A part that an encoder found.
package struct EncodedPart {
    /// Names and indices from the top of the document.
    package let path: [any CodingKey]
    package let part: any DocumentPart
}
