import LosslessJSON

func scan(_ text: some Sequence<UInt8>, limits: JSONLimits = .documents) -> Result<JSONText, JSONError> {
    Result { () throws(JSONError) in try JSONText(Array(text), limits: limits) }
}

/// The error of an invalid text.
func error(
    of text: some Sequence<UInt8>, limits: JSONLimits = .documents
) throws -> JSONError {
    switch scan(text, limits: limits) {
    case .success: throw Unexpected("accepted")
    case .failure(let error): error
    }
}

struct Unexpected: Error {
    let what: String
    init(_ what: String) { self.what = what }
}

/// The root of a valid text.
func json(_ text: String) throws -> JSONValue { try JSONText(text).root }

extension JSONText {
    var string: String { String(decoding: bytes, as: UTF8.self) }

    /// The bytes, of which those in `range` are replaced.
    func replacing(_ range: Range<Int>, with bytes: some Collection<UInt8>) -> [UInt8] {
        var result = self.bytes
        result.replaceSubrange(range, with: bytes)
        return result
    }

    func setting(_ pointer: String, to value: String) throws -> JSONText {
        try setting(JSONPointer(pointer), to: value.utf8)
    }

    func inserting(_ value: String, at pointer: String) throws -> JSONText {
        try inserting(value.utf8, at: JSONPointer(pointer))
    }

    func removing(_ pointer: String) throws -> JSONText { try removing(JSONPointer(pointer)) }

    func merging(_ patch: String) throws -> JSONText { try merging(json(patch)) }

    func patched(with patch: String) throws -> JSONText { try applying(JSONPatch(json(patch))) }
}
