internal import LosslessJSON

/// The encoder that one value's `encode(to:)` gets.
struct ValueEncoder: Encoder {
    let writer: ValueWriter

    var codingPath: [any CodingKey] { writer.path }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        writer.node.becomeObject()
        return KeyedEncodingContainer(KeyedWriting(writer: writer))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        writer.node.becomeArray()
        return UnkeyedWriting(writer: writer)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }
}

extension ValueEncoder: SingleValueEncodingContainer {
    func encodeNil() { writer.writeNull() }
    func encode(_ value: Bool) { writer.write(bool: value) }
    func encode(_ value: String) { writer.write(text: value) }
    func encode(_ value: Double) throws { try writer.write(float: value) }
    func encode(_ value: Float) throws { try writer.write(float: value) }
    func encode(_ value: Int) { writer.write(integer: value) }
    func encode(_ value: Int8) { writer.write(integer: value) }
    func encode(_ value: Int16) { writer.write(integer: value) }
    func encode(_ value: Int32) { writer.write(integer: value) }
    func encode(_ value: Int64) { writer.write(integer: value) }
    func encode(_ value: UInt) { writer.write(integer: value) }
    func encode(_ value: UInt8) { writer.write(integer: value) }
    func encode(_ value: UInt16) { writer.write(integer: value) }
    func encode(_ value: UInt32) { writer.write(integer: value) }
    func encode(_ value: UInt64) { writer.write(integer: value) }

    func encode<Value: Encodable>(_ value: Value) throws {
        guard let part = value as? any DocumentPart else { return try writer.write(value) }
        guard try writer.write(part: part) else { throw writer.invalid(value, "can only be a property of an object") }
    }
}
