package import LosslessJSON

/// Converts MongoDB's Extended JSON to plain JSON: canonical, relaxed, and the forms of version 1.
///
/// | wrapper | becomes |
/// | --- | --- |
/// | `$oid` | its 24 digits as a string |
/// | `$date`, milliseconds or ISO 8601 | `YYYY-MM-DDTHH:MM:SS.mmmZ` in UTC; further digits of a fraction are kept |
/// | `$numberInt`, `$numberLong` | the number, as it is spelled |
/// | `$numberDouble` | the number, as it is spelled; `NaN` and the infinities as strings |
/// | `$numberDecimal` | the number, if it is spelled as JSON spells numbers, else a string |
/// | `$binary` | base64; a UUID (subtype 04) as `$uuid`. The subtype is lost |
/// | `$uuid` | its 36 characters as a string |
/// | `$regularExpression`; `$regex` with `$options` | `/PATTERN/OPTIONS` |
/// | `$timestamp` | `{"t":SECONDS,"i":ORDINAL}` |
/// | `$symbol`, `$code` | the string |
/// | `$code` with `$scope` | `{"code":"…","scope":{…}}` |
/// | `$dbPointer` | `{"$ref":"COLLECTION","$id":"…"}` |
/// | `$minKey`, `$maxKey` | `"MinKey"`, `"MaxKey"` |
/// | `$undefined` | `null` |
///
/// A wrapper has exactly these members. An object with more members or an unknown name stays as it is, and so do
/// references (`$ref`, `$id`, `$db`); values inside them are converted. All other bytes are kept.
///
/// - Note: Source: MongoDB Extended JSON (v2), specification of 2017-07-20; MongoDB Extended JSON (v1), strict mode.
package enum ExtendedJSON {
    /// The document without wrappers; the same text if it has none. Does not recurse.
    ///
    /// - Throws: ``ExtendedJSONError`` if a wrapper has invalid content.
    package static func plain(_ text: JSONText) throws(ExtendedJSONError) -> JSONText {
        let original = text.bytes
        guard mayHaveWrappers(original.span) else { return text }
        var replacements: [Replacement] = []
        /// The values still to visit, the next one last.
        var values = [text.root]
        while let value = values.popLast() {
            if let wrapper = ExtendedJSONWrapper(value) {
                try wrapper.replace(into: &replacements, rest: &values)
            } else {
                values.append(contentsOf: value.members.map(\.value))
                values.append(contentsOf: value.elements)
            }
        }
        guard !replacements.isEmpty else { return text }
        let bytes = apply(replacements, to: original)
        do throws(JSONError) { return try JSONText(bytes) } catch {
            throw ExtendedJSONError(wrapper: "document", expected: "\(error)", offset: 0)
        }
    }

    /// Whether the `_id` is a wrapper, which only MongoDB writes.
    static func hasWrapperID(_ document: JSONValue) -> Bool {
        document["_id"].flatMap { ExtendedJSONWrapper($0) } != nil
    }

    struct Replacement {
        let range: Range<Int>
        let bytes: [UInt8]
    }

    /// Whether any string begins with `$`, or with an escape that may represent it.
    private static func mayHaveWrappers(_ text: Span<UInt8>) -> Bool {
        for index in 1..<max(text.count, 1)
        where text[unchecked: index - 1] == UInt8(ascii: "\"")
            && (text[unchecked: index] == UInt8(ascii: "$") || text[unchecked: index] == UInt8(ascii: "\\"))
        {
            return true
        }
        return false
    }

    private static func apply(_ replacements: [Replacement], to bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var copied = 0
        for replacement in replacements.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
            result.append(contentsOf: bytes[copied..<replacement.range.lowerBound])
            result.append(contentsOf: replacement.bytes)
            copied = replacement.range.upperBound
        }
        result.append(contentsOf: bytes[copied...])
        return result
    }
}

/// A wrapper of Extended JSON with invalid content.
package struct ExtendedJSONError: Error, Equatable, Sendable {
    /// The wrapper's name, such as `$oid`.
    package let wrapper: String
    /// What it must contain, for messages.
    package let expected: String
    /// The offset of the wrong value in the document.
    package let offset: Int
}

extension ExtendedJSONError: CustomStringConvertible {
    /// Has no values of the document: safe to log.
    package var description: String { "\(wrapper) needs \(expected)" }
}
