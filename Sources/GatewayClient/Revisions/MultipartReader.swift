internal import HTTPTransport

/// Parses a multipart body as it arrives, in pieces of any size. Holds only recent bytes, never a whole part.
///
/// A part may itself be a multipart body: its data goes to another reader.
///
/// - Note: Source: RFC 2046, section 5.1.1.
struct MultipartReader {
    enum Piece {
        case part(HTTPHeaders)
        /// Some of the part's bytes; never empty.
        case data([UInt8])
        case partEnd
    }

    enum FormatError: Error, Equatable {
        case headerTooLong
    }

    private enum State {
        case preamble, delimiter, header, body, end
    }

    static let headerLimit = 64 << 10

    /// The line break before the boundary belongs to the delimiter, not to the part.
    private let delimiter: [UInt8]
    private var state = State.preamble
    /// Begins with a line break, since the first delimiter may have none before it.
    private var buffer: [UInt8] = [0x0D, 0x0A]
    private var position = 0
    private var isInPart = false

    init(boundary: String) { delimiter = Array("\r\n--\(boundary)".utf8) }

    /// Nil unless `contentType` is multipart with a boundary, such as `multipart/mixed; boundary="…"`.
    init?(contentType: String?) {
        guard let contentType, contentType.lowercased().hasPrefix("multipart/"),
            let boundary = Self.boundary(in: contentType), !boundary.isEmpty
        else { return nil }
        self.init(boundary: boundary)
    }

    /// Whether the closing delimiter has arrived, so that the body is complete.
    var isComplete: Bool { state == .end }

    mutating func append(_ bytes: [UInt8]) {
        // Bytes after the end do not belong to a part.
        guard state != .end else { return }
        buffer.removeFirst(position)
        position = 0
        buffer += bytes
    }

    /// The next piece that has arrived; nil if there is none.
    mutating func next() throws(FormatError) -> Piece? {
        while true {
            switch state {
            case .preamble:
                guard skipToDelimiter() else { return nil }
            case .delimiter:
                guard let found = readDelimiter() else { return nil }
                if let piece = found { return piece }
            case .header:
                guard let headers = try readHeader() else { return nil }
                return .part(headers)
            case .body:
                if let data = takeData() { return .data(data) }
                guard state == .delimiter else { return nil }
            case .end: return nil
            }
        }
    }

    private mutating func skipToDelimiter() -> Bool {
        let (end, isFound) = delimiterStart()
        position = end
        if isFound { state = .delimiter }
        return isFound
    }

    /// The part's bytes up to the next delimiter, or to where one may start; nil if there are none.
    private mutating func takeData() -> [UInt8]? {
        let (end, isFound) = delimiterStart()
        if isFound { state = .delimiter }
        defer { position = end }
        return end > position ? Array(buffer[position..<end]) : nil
    }

    /// The bytes after the delimiter decide whether it is one. Outer nil: they have not all arrived. Inner nil: there
    /// is no piece.
    private mutating func readDelimiter() -> Piece?? {
        var at = position + delimiter.count
        guard at < buffer.count else { return nil }
        if buffer[at] == UInt8(ascii: "-") {
            guard at + 1 < buffer.count else { return nil }
            if buffer[at + 1] == UInt8(ascii: "-") { return .some(endPart(next: .end, at: buffer.count)) }
        }
        while at < buffer.count, buffer[at] == 0x20 || buffer[at] == 0x09 { at += 1 }
        // Endless padding would otherwise be kept forever.
        if at < buffer.count, buffer[at] == 0x0D, at - position < delimiter.count + 1024 {
            guard at + 1 < buffer.count else { return nil }
            // The line break stays in the buffer: with the next one it ends an empty header.
            if buffer[at + 1] == 0x0A { return .some(endPart(next: .header, at: at)) }
        } else if at == buffer.count, at - position < delimiter.count + 1024 {
            return nil
        }
        return .some(notADelimiter())
    }

    private mutating func endPart(next: State, at position: Int) -> Piece? {
        defer { isInPart = next == .header }
        self.position = position
        state = next
        return isInPart ? .partEnd : nil
    }

    /// Treats a different boundary with the same beginning as data.
    private mutating func notADelimiter() -> Piece? {
        let start = position
        position += delimiter.count
        state = isInPart ? .body : .preamble
        return isInPart ? .data(Array(buffer[start..<position])) : nil
    }

    private mutating func readHeader() throws(FormatError) -> HTTPHeaders? {
        let mark: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A]
        let (end, isFound) = Self.find(mark, in: buffer, from: position)
        guard end - position <= Self.headerLimit else { throw .headerTooLong }
        guard isFound else { return nil }
        let lines = String(decoding: buffer[position..<end], as: UTF8.self).split(separator: "\r\n")
        position = end + mark.count
        state = .body
        return HTTPHeaders(
            lines.compactMap { line in
                guard let colon = line.firstIndex(of: ":") else { return nil }
                return (String(line[..<colon]), String(line[line.index(after: colon)...].drop { $0 == " " }))
            })
    }

    private func delimiterStart() -> (end: Int, isFound: Bool) { Self.find(delimiter, in: buffer, from: position) }

    /// Where `mark` begins, or where its beginning may be cut off by the end of the text.
    private static func find(_ mark: [UInt8], in text: [UInt8], from start: Int) -> (end: Int, isFound: Bool) {
        var at = start
        while let next = text[at...].firstIndex(of: mark[0]) {
            let count = min(mark.count, text.count - next)
            if text[next..<(next + count)].elementsEqual(mark[..<count]) { return (next, count == mark.count) }
            at = next + 1
        }
        return (text.count, false)
    }

    private static func boundary(in contentType: String) -> String? {
        for parameter in contentType.split(separator: ";").dropFirst() {
            let text = parameter.drop { $0 == " " || $0 == "\t" }
            guard let equals = text.firstIndex(of: "="), text[..<equals].lowercased() == "boundary" else { continue }
            let value = text[text.index(after: equals)...]
            guard value.first == "\"" else { return String(value.prefix { $0 != " " && $0 != "\t" }) }
            return String(value.dropFirst().prefix { $0 != "\"" })
        }
        return nil
    }
}
