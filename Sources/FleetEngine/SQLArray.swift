internal import PostgreSQL

/// A parameter for `unnest($1::…[])`, in the server's binary form, so that nothing has to be escaped.
///
/// - Note: Source: PostgreSQL 15, `array_recv` in `src/backend/utils/adt/arrayfuncs.c`; the OIDs are those of
///   `src/include/catalog/pg_type.dat`.
enum SQLArray {
    /// `bytea[]`
    static func bytes(_ values: some Collection<[UInt8]>) -> PostgresValue { array(values, type: 17) { $0 += $1 } }

    /// `bigint[]`
    static func numbers(_ values: some Collection<Int64>) -> PostgresValue { array(values, type: 20) { $0.add($1) } }

    /// `smallint[]`, for partitions and kinds of changes. Other numbers may not fit.
    static func smallNumbers(_ values: some Collection<Int>) -> PostgresValue {
        array(values, type: 21) { $0.add(Int16(clamping: $1)) }
    }

    /// `integer[]`
    static func counts(_ values: some Collection<Int>) -> PostgresValue {
        array(values, type: 23) { $0.add(Int32(clamping: $1)) }
    }

    /// `text[]`
    static func texts(_ values: some Collection<String>) -> PostgresValue { array(values, type: 25) { $0 += $1.utf8 } }

    private static func array<Values: Collection>(
        _ values: Values, type: Int32, _ add: (inout [UInt8], Values.Element) -> Void
    ) -> PostgresValue {
        var bytes: [UInt8] = []
        // Dimensions, whether there are NULLs, the type.
        bytes.add(Int32(values.isEmpty ? 0 : 1))
        bytes.add(Int32(0))
        bytes.add(type)
        if !values.isEmpty {
            // The length, and the index of the first element.
            bytes.add(Int32(clamping: values.count))
            bytes.add(Int32(1))
        }
        for value in values {
            let start = bytes.count
            bytes.add(Int32(0))
            add(&bytes, value)
            let length = UInt32(bytes.count - start - 4)
            for place in 0..<4 { bytes[start + place] = UInt8(truncatingIfNeeded: length >> (24 - 8 * place)) }
        }
        return .bytes(bytes)
    }
}

extension [UInt8] {
    /// Appends a number, the most significant byte first.
    fileprivate mutating func add(_ number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.bigEndian) { self += $0 }
    }
}

extension String {
    /// Without U+0000, which PostgreSQL can't store.
    var storable: String {
        utf8.contains(0) ? String(String.UnicodeScalarView(unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : $0 })) : self
    }
}

extension Duration {
    /// Rounded down.
    var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        let whole = seconds.multipliedReportingOverflow(by: 1000)
        return whole.overflow ? Int.max : Int(whole.partialValue) + Int(attoseconds / 1_000_000_000_000_000)
    }
}

extension [PostgresValue] {
    /// The number in a column that is never NULL.
    func int(_ column: Int) throws(PostgresError) -> Int {
        guard let value = self[column].int else { throw .unexpected(column) }
        return value
    }

    func int64(_ column: Int) throws(PostgresError) -> Int64 { Int64(try int(column)) }
    func bool(_ column: Int) throws(PostgresError) -> Bool { try int(column) != 0 }

    /// The text in a column that is never NULL.
    func text(_ column: Int) throws(PostgresError) -> String {
        guard let value = self[column].text else { throw .unexpected(column) }
        return value
    }

    /// The bytes in a column that is never NULL.
    func bytes(_ column: Int) throws(PostgresError) -> [UInt8] {
        guard let value = self[column].bytes else { throw .unexpected(column) }
        return value
    }
}

extension PostgresError {
    fileprivate static func unexpected(_ column: Int) -> PostgresError {
        .badAnswer(reason: "column \(column + 1) has no value, or a value of another type")
    }
}
