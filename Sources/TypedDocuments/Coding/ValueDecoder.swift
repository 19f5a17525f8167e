internal import LosslessJSON

/// The decoder that one value's `init(from:)` gets.
struct ValueDecoder: Decoder {
    let reader: ValueReader

    var codingPath: [any CodingKey] { reader.path }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard let value = reader.value, value.kind == .object else {
            throw reader.mismatch([String: Any].self, "an object")
        }
        return KeyedDecodingContainer(KeyedReading(reader: reader, object: value))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard let value = reader.value, value.kind == .array else { throw reader.mismatch([Any].self, "a list") }
        return UnkeyedReading(reader: reader, elements: Array(value.elements))
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }
}

extension ValueDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { reader.isAbsent }
    func decode(_ type: Bool.Type) throws -> Bool { try reader.bool() }
    func decode(_ type: String.Type) throws -> String { try reader.text() }
    func decode(_ type: Double.Type) throws -> Double { try reader.float(type) }
    func decode(_ type: Float.Type) throws -> Float { try reader.float(type) }
    func decode(_ type: Int.Type) throws -> Int { try reader.integer(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try reader.integer(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try reader.integer(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try reader.integer(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try reader.integer(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try reader.integer(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try reader.integer(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try reader.integer(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try reader.integer(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try reader.integer(type) }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try reader.read(type) }
}
