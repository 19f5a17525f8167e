internal import Glibc

/// A numeric IP address.
struct NumericAddress {
    let isLoopback: Bool

    /// Nil for anything else, such as a name.
    init?(_ text: String) {
        var old = in_addr()
        var new = in6_addr()
        if inet_pton(AF_INET, text, &old) == 1 {
            isLoopback = UInt32(bigEndian: old.s_addr) >> 24 == 127
        } else if inet_pton(AF_INET6, text, &new) == 1 {
            isLoopback = withUnsafeBytes(of: new) { $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 }
        } else {
            return nil
        }
    }
}
