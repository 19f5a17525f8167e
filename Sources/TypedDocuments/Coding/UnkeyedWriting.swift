internal import LosslessJSON

/// The elements of a list.
struct UnkeyedWriting: UnkeyedEncodingContainer {
    let writer: ValueWriter

    var codingPath: [any CodingKey] { writer.path }
    var count: Int { writer.node.count }

    private func next() -> ValueEncoder { ValueEncoder(writer: writer.writerOfElement()) }

    func encodeNil() { next().encodeNil() }
    func encode(_ value: Bool) { next().encode(value) }
    func encode(_ value: String) { next().encode(value) }
    func encode(_ value: Double) throws { try next().encode(value) }
    func encode(_ value: Float) throws { try next().encode(value) }
    func encode(_ value: Int) { next().encode(value) }
    func encode(_ value: Int8) { next().encode(value) }
    func encode(_ value: Int16) { next().encode(value) }
    func encode(_ value: Int32) { next().encode(value) }
    func encode(_ value: Int64) { next().encode(value) }
    func encode(_ value: UInt) { next().encode(value) }
    func encode(_ value: UInt8) { next().encode(value) }
    func encode(_ value: UInt16) { next().encode(value) }
    func encode(_ value: UInt32) { next().encode(value) }
    func encode(_ value: UInt64) { next().encode(value) }
    func encode<Value: Encodable>(_ value: Value) throws { try next().encode(value) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        next().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { next().unkeyedContainer() }
    func superEncoder() -> any Encoder { next() }
}
