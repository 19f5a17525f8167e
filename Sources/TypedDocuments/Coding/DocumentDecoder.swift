package import LosslessJSON

/// Decodes documents into `Codable` types.
///
/// A `Date` is an ISO 8601 text with its zone, `Data` is base64, and a `Decimal` keeps all digits of its number. An
/// integer may be written as a float with an integral value: `5.0`. A number that its property can't hold exactly is an
/// error, except for a `Double` or a `Float`.
package struct DocumentDecoder {
    /// Creates a decoder. It has no settings.
    package init() {}

    /// Recurses as deep as the type does.
    ///
    /// - Throws: ``TypeMismatch``.
    package func decode<Value: Decodable>(_ type: Value.Type, from document: JSONValue) throws(TypeMismatch) -> Value {
        do { return try ValueReader(value: document, path: [], document: document).read(type) } catch {
            throw TypeMismatch(error, in: document)
        }
    }
}

/// A name or an index on the path to a value.
struct PathKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }

    init(intValue: Int) { (stringValue, self.intValue) = ("\(intValue)", intValue) }
}
