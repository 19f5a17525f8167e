/// Collects the final head of an answer from the header lines that libcurl delivers one by one.
///
/// Interim heads (1xx) are dropped; trailers after the body are ignored.
struct HeadParser {
    enum Progress {
        case more, complete, tooLarge
    }

    private let limit: Int
    private(set) var status = 0
    private(set) var headers = HTTPHeaders()
    private(set) var isComplete = false

    init(limit: Int) {
        self.limit = limit
    }

    mutating func append(line: UnsafeRawBufferPointer) -> Progress {
        if isComplete { return .more }
        if let status = Self.status(of: line) {
            self.status = status
            headers = HTTPHeaders()
        } else if line.first == UInt8(ascii: "\r") || line.first == UInt8(ascii: "\n") {
            isComplete = status >= 200
            return isComplete ? .complete : .more
        } else {
            headers.append(line: line)
        }
        return headers.block.count > limit ? .tooLarge : .more
    }

    /// The number in `HTTP/1.1 200 OK`; nil for any other line.
    private static func status(of line: UnsafeRawBufferPointer) -> Int? {
        guard line.starts(with: "HTTP/".utf8), let blank = line.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        let digits = line[(blank + 1)...].prefix { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
        guard digits.count == 3 else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }
}
