/// The bytes of all arrays of bytes in a value and in what it contains, each as often as it is contained.
package func heldBytes(_ value: Any) -> Int {
    if let bytes = value as? [UInt8] { return bytes.count }
    return Mirror(reflecting: value).children.reduce(0) { $0 + heldBytes($1.value) }
}
