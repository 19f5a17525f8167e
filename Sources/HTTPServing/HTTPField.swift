/// A header field; its name is compared case-insensitively.
package struct HTTPField: Equatable, Sendable {
    /// As given.
    package let name: String
    /// Without the white space around it.
    package let value: String

    /// The name and value as they are sent.
    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// Whether it has this name.
    package func isNamed(_ other: String) -> Bool {
        name.utf8.elementsEqual(other.utf8) { left, right in
            left == right
                || (left | 0x20 == right | 0x20 && (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(left | 0x20))
        }
    }

    /// Whether the value has no control characters; clients choose content types and revision ids.
    package var isSendable: Bool { value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
}
