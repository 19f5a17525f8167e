internal import Encodings
internal import FoundationEssentials
internal import LosslessJSON

/// Reads one value of a document as a type.
struct ValueReader {
    /// Nil if the document has no such member.
    let value: JSONValue?
    let path: [any CodingKey]
    let document: JSONValue

    /// The reader of a member or an element.
    func reader(of value: JSONValue?, at key: some CodingKey) -> ValueReader {
        ValueReader(value: value, path: path + [key], document: document)
    }

    /// Whether there is nothing to decode.
    var isAbsent: Bool { value == nil || value?.kind == .null }

    func read<Value: Decodable>(_ type: Value.Type) throws -> Value {
        if let part = type as? any DocumentPart.Type {
            guard let part = try readPart(part) as? Value else { throw missing("a value") }
            return part
        }
        if let special = try special(type), let value = special as? Value { return value }
        return try Value(from: ValueDecoder(reader: self))
    }

    /// Nil if the value is missing or null.
    func readIfPresent<Value: Decodable>(_ type: Value.Type) throws -> Value? {
        if let part = type as? any DocumentPart.Type { return try readPart(part) as? Value }
        return isAbsent ? nil : try read(type)
    }

    private func readPart(_ type: any DocumentPart.Type) throws -> (any DocumentPart)? {
        try type.read(at: DocumentPlace(document: document, path: path))
    }

    /// Foundation types with a special form in documents; nil for all others.
    private func special(_ type: any Decodable.Type) throws -> Any? {
        switch type {
        case is Date.Type: return try date()
        case is Data.Type: return Data(try bytes())
        case is Decimal.Type: return try decimal()
        case is URL.Type:
            guard let url = URL(string: try text("a URL")) else { throw corrupted("a URL") }
            return url
        default: return nil
        }
    }

    private func date() throws -> Date {
        let expected = "a time such as \"2026-11-20T10:00:00.000Z\""
        guard let date = UTCDate(rfc3339: try text(expected)) else { throw corrupted(expected) }
        return Date(timeIntervalSince1970: date.secondsWithFraction)
    }

    private func bytes() throws -> [UInt8] {
        do { return try Base64.decode(Array(text("base64").utf8)) } catch is Base64Error { throw corrupted("base64") }
    }

    private func decimal() throws -> Decimal {
        let expected = "a number with at most 38 digits"
        let text = try number(expected)
        let mantissa = text.prefix { !"eE".contains($0) }
        let digits = mantissa.filter(\.isNumber).drop { $0 == "0" }
        let significant = digits.reversed().drop { $0 == "0" }.count
        // Additional digits would be rounded, and a number out of range would become NaN or zero.
        guard significant <= 38, let decimal = Decimal(string: text), decimal.isFinite,
            (decimal == 0) == (significant == 0)
        else { throw corrupted(expected) }
        return decimal
    }

    // MARK: - Scalars

    func bool() throws -> Bool {
        guard let bool = value?.bool else { throw mismatch(Bool.self, "true or false") }
        return bool
    }

    func text(_ expected: String = "text") throws -> String {
        guard let text = value?.string else { throw mismatch(String.self, expected) }
        return text
    }

    /// Infinite if the number is out of the type's range.
    func float<Float: BinaryFloatingPoint & LosslessStringConvertible>(_ type: Float.Type) throws -> Float {
        guard let number = Float(try number("a number")) else { throw mismatch(type, "a number") }
        return number
    }

    func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) throws -> Integer {
        let text = try number("a whole number")
        if let integer = Integer(text) { return integer }
        // CouchDB writes 5.0 for 5.0, other servers write 5.
        if text.utf8.contains(where: { [0x2E, 0x45, 0x65].contains($0) }), let double = Double(text),
            double.magnitude < 0x1p53, let integer = Integer(exactly: double)
        {
            return integer
        }
        throw corrupted("a whole number from \(Integer.min) to \(Integer.max)")
    }

    private func number(_ expected: String) throws -> String {
        guard let value, value.kind == .number else { throw mismatch(Double.self, expected) }
        return String(decoding: value.bytes, as: UTF8.self)
    }

    // MARK: - Errors

    /// The error for a value that is missing, null, or of another kind.
    func mismatch(_ type: any Any.Type, _ expected: String) -> DecodingError {
        isAbsent ? missing(expected) : .typeMismatch(type, .init(path, expected: expected))
    }

    /// The error for a value of the right kind that is not valid.
    func corrupted(_ expected: String) -> DecodingError { .dataCorrupted(.init(path, expected: expected)) }

    private func missing(_ expected: String) -> DecodingError {
        guard value == nil, let key = path.last else {
            return .valueNotFound(Any.self, .init(path, expected: expected))
        }
        return .keyNotFound(key, .init(Array(path.dropLast()), expected: expected))
    }
}
