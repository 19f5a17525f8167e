internal import LosslessJSON

/// Collects the rows of one batch on one tape.
struct BatchBuilder<Fields: RowFields> {
    private(set) var rows: [Fields] = []
    private var tape: JSONTape
    private var damages: [Int32: RowDamage] = [:]

    init(expectedBytes: Int) {
        tape = JSONTape(minimumCapacity: expectedBytes / 10)
        rows.reserveCapacity(expectedBytes / 400)
    }

    func batch(of bytes: [UInt8]) -> GatheredRows<Fields> {
        GatheredRows(text: JSONText(bytes: bytes, tape: tape), rows: rows, damages: damages)
    }

    /// Reads a row that may be incomplete. Returns the offset after it.
    mutating func appendRow(in bytes: [UInt8], from start: Int) throws(JSONError) -> Int {
        let root = tape.count
        let end = try tape.scanValue(in: bytes.span, from: start)
        var fields = Fields(start: Int32(start), end: Int32(end))
        tape.forEachMember(ofObjectAt: root) { name, value in
            fields.note(name, value, on: tape, in: bytes)
        }
        try append(fields, in: bytes)
        return end
    }

    /// Reads a complete row. If something in it is not JSON, keeps the row without the unreadable members.
    mutating func appendFramedRow(in bytes: [UInt8], _ range: Range<Int>) throws(JSONError) {
        do throws(JSONError) {
            _ = try appendRow(in: bytes, from: range.lowerBound)
        } catch {
            try appendDamagedRow(in: bytes, range, error: error)
        }
    }

    private mutating func appendDamagedRow(
        in bytes: [UInt8], _ range: Range<Int>, error: JSONError
    ) throws(JSONError) {
        // The text ends with the row's closing bracket: whatever is wrong in the row, nothing after it is read.
        let text = bytes.span.extracting(0..<range.upperBound)
        func byte(at offset: Int) throws(JSONError) -> UInt8 {
            guard offset < range.upperBound else { throw error }
            return bytes[offset]
        }
        var fields = Fields(start: Int32(range.lowerBound), end: Int32(range.upperBound))
        var damage: RowDamage?
        var at = skipWhitespace(text, from: range.lowerBound + 1)
        while try byte(at: at) != UInt8(ascii: "}") {
            let name = tape.count
            at = skipWhitespace(text, from: try tape.scanValue(in: text, from: at))
            guard try byte(at: at) == UInt8(ascii: ":") else { throw error }
            at = skipWhitespace(text, from: at + 1)
            let value = tape.count
            if let end = try? tape.scanValue(in: text, from: at) {
                fields.note(name, value, on: tape, in: bytes)
                at = end
            } else {
                guard let end = Self.damagedEnd(in: text, from: at) else { throw error }
                let id = isIdentity(name, in: bytes) ? Self.repairedID(bytes[at..<end]) : nil
                damage = RowDamage(
                    error: JSONError(error.reason, at: error.offset - range.lowerBound), id: id ?? damage?.id)
                at = end
            }
            at = skipWhitespace(text, from: at)
            if try byte(at: at) == UInt8(ascii: ",") { at = skipWhitespace(text, from: at + 1) }
        }
        guard let damage else { throw error }
        fields.markMalformed()
        damages[fields.start] = damage
        try append(fields, in: bytes)
    }

    /// Where a value ends that contains invalid JSON; nil if that can't be determined.
    private static func damagedEnd(in text: Span<UInt8>, from start: Int) -> Int? {
        guard start < text.count, JSONFrame.canStart(with: text[start]) else { return nil }
        var frame = JSONFrame(start: start)
        return frame.findEnd(in: text)
    }

    /// - Throws: `JSONError` if a required member is missing: without a sequence, a feed can't be continued.
    private mutating func append(_ fields: Fields, in bytes: [UInt8]) throws(JSONError) {
        guard fields.isComplete else {
            let start = Int(fields.start)
            throw JSONError(.unexpectedByte(bytes[start], expected: .completeRow), at: start)
        }
        var fields = fields
        fields.complete(after: rows.last)
        rows.append(fields)
    }

    private func isIdentity(_ name: Int, in bytes: [UInt8]) -> Bool {
        tape.isString(name, "id", in: bytes) || tape.isString(name, "key", in: bytes)
    }

    /// The readable part of a string literal, possibly with its escapes; nil if it is not a string.
    private static func repairedID(_ literal: ArraySlice<UInt8>) -> DocumentID? {
        guard literal.first == UInt8(ascii: "\""), literal.count >= 2 else { return nil }
        let text = String(decoding: literal, as: UTF8.self)
        return DocumentID(
            (try? JSONText(text))?.root.string ?? String(decoding: literal.dropFirst().dropLast(), as: UTF8.self))
    }
}
