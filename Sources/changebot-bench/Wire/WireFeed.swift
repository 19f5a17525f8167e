internal import Glibc
internal import TestKit

/// The sending mode of an endless feed.
struct WireFeed: Sendable {
    /// The buffer size of a feed without pauses.
    private static let pieceSize = 256 << 10

    let rows = WireRows(.change)
    let rowsWithoutDocuments = WireRows(.changeWithoutDocument)
    /// Rows of `_all_docs`.
    let listed = WireRows(.listed)
    /// Nil: as fast as the client reads. Otherwise each row is a separate chunk in its own `send`, after a pause of
    /// this number of microseconds.
    let pause: Int?

    init(pause: Int? = nil) { self.pause = pause }

    /// Answers a request for `_changes`.
    func send(_ numbers: Range<Int>, lastSequence: Int, on connection: TestConnection) throws {
        let opening = Array(Self.opening.utf8)
        let closing = Array(Self.closing(lastSequence).utf8)
        guard let pause else { return try sendWhole(numbers, opening, closing, on: connection) }
        try sendPaced(numbers, opening, closing, pause: pause, on: connection)
    }

    static let opening = "{\"results\":[\r\n"
    static func closing(_ lastSequence: Int) -> String { "\n],\n\"last_seq\":\"\(lastSequence)\"}\n" }

    private func sendWhole(
        _ numbers: Range<Int>, _ opening: [UInt8], _ closing: [UInt8], on connection: TestConnection
    ) throws {
        let stride = rows.byteCount + rows.separator.count
        let length = opening.count + max(0, numbers.count * stride - rows.separator.count) + closing.count
        try connection.write(
            Array((WireDatabase.head(200) + "Content-Length: \(length)\r\n\r\n").utf8) + opening)
        guard let last = numbers.last else { return try connection.write(closing) }
        let count = Self.pieceSize / stride
        var block = rows.block(count, suffix: rows.separator)
        var next = numbers.lowerBound
        while next + count < last {
            rows.number(&block, rows: count, from: next, prefix: 0, stride: stride)
            try connection.write(block)
            next += count
        }
        try connection.write(rows.text(next..<last + 1) + closing)
    }

    private func sendPaced(
        _ numbers: Range<Int>, _ opening: [UInt8], _ closing: [UInt8], pause: Int, on connection: TestConnection
    ) throws {
        try connection.write(
            Array((WireDatabase.head(200) + "Transfer-Encoding: chunked\r\n\r\n").utf8)
                + Self.chunk(opening + rows.text(numbers.prefix(1))))
        let size = Array((String(rows.separator.count + rows.byteCount, radix: 16) + "\r\n").utf8)
        let prefix = size + rows.separator
        var chunk = rows.block(1, prefix: prefix, suffix: Array("\r\n".utf8))
        for number in numbers.dropFirst() {
            rows.number(&chunk, rows: 1, from: number, prefix: prefix.count, stride: chunk.count)
            let due = MonotonicTime.nanoseconds + pause * 1000
            while MonotonicTime.nanoseconds < due {}
            try connection.write(chunk)
        }
        try connection.write(Self.chunk(closing) + Array("0\r\n\r\n".utf8))
    }

    static func chunk(_ bytes: [UInt8]) -> [UInt8] {
        Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8)
    }
}

/// A clock without system calls, for pauses of a few microseconds.
enum MonotonicTime {
    static var nanoseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}
