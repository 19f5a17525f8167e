internal import CPostgreSQL

extension PostgresResult {
    /// Decodes binary fields by the type of their column.
    ///
    /// - Throws: ``PostgresError/badAnswer(reason:)`` for a type that is not supported.
    init(_ result: OpaquePointer, _ library: cpostgresql_functions) throws(PostgresError) {
        let fields = (0..<library.PQnfields(result)).map { column in
            (library.PQfname(result, column).map { String(cString: $0) } ?? "", library.PQftype(result, column))
        }
        columns = fields.map(\.0)
        affected = library.PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
        let count = library.PQntuples(result)
        var rows: [[PostgresValue]] = []
        rows.reserveCapacity(Int(count))
        for row in 0..<count {
            var values: [PostgresValue] = []
            values.reserveCapacity(fields.count)
            for (column, (name, type)) in fields.enumerated() {
                let column = Int32(column)
                guard library.PQgetisnull(result, row, column) == 0 else {
                    values.append(.null)
                    continue
                }
                let bytes = UnsafeRawBufferPointer(
                    start: library.PQgetvalue(result, row, column), count: Int(library.PQgetlength(result, row, column))
                )
                guard let value = PostgresValue(bytes, type: type) else { throw .undecodable(name, type) }
                values.append(value)
            }
            rows.append(values)
        }
        self.rows = rows
    }
}

extension PostgresError {
    fileprivate static func undecodable(_ column: String, _ type: Oid) -> PostgresError {
        .badAnswer(
            reason: "the column \(line(column)) has a value of the type with OID \(type) that can't be read: "
                + "cast it to text, bigint, bytea or double precision")
    }
}

extension PostgresValue {
    /// Nil if the type is not supported, or the bytes are not valid for it.
    ///
    /// - Note: Source: the OIDs are those of PostgreSQL 15, `src/include/catalog/pg_type.dat`; the formats are those of
    ///   its send functions.
    init?(_ bytes: UnsafeRawBufferPointer, type: Oid) {
        switch type {
        // bool
        case 16 where bytes.count == 1: self = .int(bytes[0] == 0 ? 0 : 1)
        // bytea
        case 17: self = .bytes(Array(bytes))
        // "char", name, text, json, unknown, bpchar, varchar
        case 18, 19, 25, 114, 705, 1042, 1043:
            guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
            self = .text(text)
        // int8, int2, int4
        case 20 where bytes.count == 8: self = .int(Int(bytes.bigEndian(Int64.self)))
        case 21 where bytes.count == 2: self = .int(Int(bytes.bigEndian(Int16.self)))
        case 23 where bytes.count == 4: self = .int(Int(bytes.bigEndian(Int32.self)))
        // oid
        case 26 where bytes.count == 4: self = .int(Int(bytes.bigEndian(UInt32.self)))
        // float4, float8
        case 700 where bytes.count == 4:
            self = .double(Double(Float(bitPattern: bytes.bigEndian(UInt32.self))))
        case 701 where bytes.count == 8: self = .double(Double(bitPattern: bytes.bigEndian(UInt64.self)))
        // void
        case 2278: self = .null
        default: return nil
        }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func bigEndian<Number: FixedWidthInteger & BitwiseCopyable>(_ type: Number.Type) -> Number {
        Number(bigEndian: loadUnaligned(as: type))
    }
}
