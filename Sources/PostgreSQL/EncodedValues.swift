internal import Glibc

/// Parameters in the form for libpq: numbers and texts as text, whose SQL type the statement determines; bytes in
/// binary form.
struct EncodedValues {
    private var bytes: [UInt8] = []
    /// Where each value begins; nil for NULL.
    private var offsets: [Int?] = []
    private var lengths: [Int32] = []
    private var formats: [Int32] = []

    /// How many bytes they need.
    var size: Int { bytes.count }

    /// - Throws: ``PostgresError/refused(reason:sqlState:)`` for a text with U+0000.
    init(_ values: [PostgresValue]) throws(PostgresError) {
        try Self.check(values)
        for value in values {
            switch value {
            case .null: append([UInt8]?.none)
            case .int(let number): append("\(number)".utf8)
            case .double(let number): append("\(number)".utf8)
            case .text(let text): append(text.utf8)
            case .bytes(let data): append(data, isBinary: true)
            }
        }
    }

    /// - Throws: The same errors as ``init(_:)``.
    static func check(_ values: [PostgresValue]) throws(PostgresError) {
        for case .text(var text) in values {
            let hasZero = text.withUTF8 { text in
                text.baseAddress.map { memchr($0, 0, text.count) != nil } ?? false
            }
            guard !hasZero else {
                throw .refused(reason: "a string contains U+0000, which PostgreSQL can't store")
            }
        }
    }

    private mutating func append(_ value: (some Collection<UInt8>)?, isBinary: Bool = false) {
        offsets.append(value == nil ? nil : bytes.count)
        lengths.append(Int32(clamping: value?.count ?? 0))
        formats.append(isBinary ? 1 : 0)
        guard let value else { return }
        bytes += value
        // Ends a text.
        bytes.append(0)
    }

    /// Calls `body` with the parameter arguments of libpq's functions.
    func withArguments<Result>(
        _ body: (
            _ count: Int32, _ values: UnsafePointer<UnsafePointer<CChar>?>?, _ lengths: UnsafePointer<Int32>?,
            _ formats: UnsafePointer<Int32>?
        ) -> Result
    ) -> Result {
        bytes.withUnsafeBytes { bytes in
            let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            return offsets.map { offset in offset.flatMap { start?.advanced(by: $0) } }
                .withUnsafeBufferPointer { values in
                    body(Int32(values.count), values.baseAddress, lengths, formats)
                }
        }
    }
}
