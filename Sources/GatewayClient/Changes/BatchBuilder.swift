internal import LosslessJSON

/// Gathers the rows of one batch on one tape.
struct BatchBuilder {
    private(set) var rows: [Change.Fields] = []
    private var tape: JSONTape
    private var faults: [Int32: JSONFault] = [:]

    init(expectedBytes: Int) {
        tape = JSONTape(minimumCapacity: expectedBytes / 10)
        rows.reserveCapacity(expectedBytes / 400)
    }

    func batch(of bytes: [UInt8]) -> ChangesBatch {
        ChangesBatch(text: JSONText(bytes: bytes, tape: tape), rows: rows, faults: faults)
    }

    /// Reads a row that may or may not be complete. Returns the offset behind it.
    mutating func appendRow(in bytes: [UInt8], from start: Int) throws(JSONFault) -> Int {
        let root = tape.count
        let end = try tape.scanValue(in: bytes.span, from: start)
        var fields = Change.Fields(start: Int32(start), end: Int32(end))
        tape.forEachMember(ofObjectAt: root) { name, value in
            note(name, value, of: bytes, in: &fields)
        }
        try append(fields)
        return end
    }

    /// Reads a complete row member by member. If its body is not JSON, the row is kept without it.
    mutating func appendFramedRow(in bytes: [UInt8], _ range: Range<Int>) throws(JSONFault) {
        do throws(JSONFault) {
            _ = try appendRow(in: bytes, from: range.lowerBound)
        } catch {
            try appendRowWithoutBody(in: bytes, range, bodyFault: error)
        }
    }

    private mutating func appendRowWithoutBody(
        in bytes: [UInt8], _ range: Range<Int>, bodyFault: JSONFault
    ) throws(JSONFault) {
        // The row's closing bracket ends the text: whatever is wrong in it, nothing is read beyond.
        let text = bytes.span.extracting(0..<range.upperBound)
        func byte(at offset: Int) throws(JSONFault) -> UInt8 {
            guard offset < range.upperBound else { throw bodyFault }
            return bytes[offset]
        }
        var fields = Change.Fields(start: Int32(range.lowerBound), end: Int32(range.upperBound))
        var at = skipWhitespace(text, from: range.lowerBound + 1)
        while try byte(at: at) != UInt8(ascii: "}") {
            let name = tape.count
            at = skipWhitespace(text, from: try tape.scanValue(in: text, from: at))
            guard try byte(at: at) == UInt8(ascii: ":") else { throw bodyFault }
            at = skipWhitespace(text, from: at + 1)
            let value = tape.count
            if tape.isString(name, "doc", in: bytes) {
                at = try bodyEnd(in: text, from: at, bodyFault)
                fields.flags.insert(.malformedBody)
            } else {
                at = try tape.scanValue(in: text, from: at)
                note(name, value, of: bytes, in: &fields)
            }
            at = skipWhitespace(text, from: at)
            if try byte(at: at) == UInt8(ascii: ",") { at = skipWhitespace(text, from: at + 1) }
        }
        guard fields.flags.contains(.malformedBody) else { throw bodyFault }
        faults[fields.start] = JSONFault(bodyFault.reason, at: bodyFault.offset - range.lowerBound)
        try append(fields)
    }

    private func bodyEnd(in text: Span<UInt8>, from start: Int, _ bodyFault: JSONFault) throws(JSONFault) -> Int {
        var frame = JSONFrame(start: start)
        guard start < text.count, text[start] == UInt8(ascii: "{"), let end = frame.findEnd(in: text) else {
            throw bodyFault
        }
        return end
    }

    private mutating func append(_ fields: Change.Fields) throws(JSONFault) {
        guard fields.sequence >= 0 || fields.flags.contains(.failed) else {
            throw JSONFault(.unexpectedByte(UInt8(ascii: "}"), expected: .memberName), at: Int(fields.end) - 1)
        }
        rows.append(fields)
    }

    /// Members of a row, by name. Unknown ones are left alone.
    private func note(_ name: Int, _ value: Int, of bytes: [UInt8], in fields: inout Change.Fields) {
        let kind = tape.kind(of: value)
        let index = Int32(value)
        if tape.isString(name, "seq", in: bytes) {
            if kind == .number || kind == .string { fields.sequence = index }
        } else if tape.isString(name, "id", in: bytes) {
            if kind == .string { fields.id = index }
        } else if tape.isString(name, "doc", in: bytes) {
            if kind == .object { fields.document = index }
        } else if tape.isString(name, "changes", in: bytes) {
            fields.revision = firstRevision(ofChangesAt: value, in: bytes)
        } else if tape.isString(name, "deleted", in: bytes) {
            if kind == .true { fields.flags.insert(.deleted) }
        } else if tape.isString(name, "removed", in: bytes) {
            if kind != .null { fields.flags.insert(.removed) }
        } else if tape.isString(name, "revoked", in: bytes) {
            if kind == .true { fields.flags.insert(.revoked) }
        } else if tape.isString(name, "err", in: bytes) {
            if kind != .null { fields.flags.insert(.failed) }
        }
    }

    /// `"changes":[{"rev":"3-…"},…]`: the first is the winner. -1 if there is none.
    private func firstRevision(ofChangesAt changes: Int, in bytes: [UInt8]) -> Int32 {
        guard tape.kind(of: changes) == .array, tape.hasChildren(changes) else { return -1 }
        var revision: Int32 = -1
        tape.forEachMember(ofObjectAt: changes + 1) { name, value in
            if tape.isString(name, "rev", in: bytes), tape.kind(of: value) == .string { revision = Int32(value) }
        }
        return revision
    }
}
