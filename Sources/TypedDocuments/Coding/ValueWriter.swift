internal import Encodings
internal import FoundationEssentials
internal import LosslessJSON

/// Writes one value of a document.
struct ValueWriter {
    let node: EncodedNode
    let path: [any CodingKey]
    let context: EncodingContext

    /// The writer of a member.
    func writer(ofMember key: some CodingKey) -> ValueWriter {
        ValueWriter(node: node.member(key.stringValue), path: path + [key], context: context)
    }

    /// The writer of a further element.
    func writerOfElement() -> ValueWriter {
        let key = PathKey(intValue: node.count)
        return ValueWriter(node: node.appendElement(), path: path + [key], context: context)
    }

    func write(_ value: some Encodable) throws {
        switch value {
        case let date as Date: try write(date: date)
        case let data as Data: write(text: Base64.text(Array(data)))
        case let decimal as Decimal:
            guard decimal.isFinite else { throw invalid(value, "JSON can't represent this number") }
            node.set("\(decimal)".utf8)
        case let url as URL: write(text: url.absoluteString)
        default: try value.encode(to: ValueEncoder(writer: self))
        }
    }

    /// - Returns: False if the part is not a member here.
    func write(part: any DocumentPart) throws -> Bool {
        context.parts.append(EncodedPart(path: path, part: part))
        let place = DocumentPlace(document: context.document, path: path)
        guard let json = try part.json(at: place) else { return false }
        node.set(json)
        return true
    }

    private func write(date: Date) throws {
        let rounded = (date.timeIntervalSince1970 * 1000).rounded()
        guard let milliseconds = Int(exactly: rounded), let written = UTCDate(milliseconds: milliseconds) else {
            throw invalid(date, "the time is out of range")
        }
        write(text: written.text)
    }

    // MARK: - Scalars

    func write(text: String) {
        var json: [UInt8] = []
        json.appendJSONString(text.utf8)
        node.set(json)
    }

    func write(bool: Bool) { node.set(bool ? "true".utf8 : "false".utf8) }
    func write(integer: some FixedWidthInteger) { node.set(String(integer).utf8) }
    func writeNull() { node.set("null".utf8) }

    func write(float number: some BinaryFloatingPoint & LosslessStringConvertible & Encodable) throws {
        guard number.isFinite else { throw invalid(number, "JSON can't represent this number") }
        node.set(number.description.utf8)
    }

    func invalid(_ value: Any, _ message: String) -> EncodingError {
        .invalidValue(value, .init(codingPath: path, debugDescription: "\(path.text): \(message)"))
    }
}
