import CCurl
import Glibc

/// Addresses that are valid only on the local link, and addresses where cloud services provide data about the machine
/// and its credentials.
///
/// - Note: Source: RFC 3927 and RFC 4291, section 2.5.6; RFC 3056, RFC 4291 and RFC 6052 for IPv4 in IPv6; the
///   documentation of EC2 for `fd00:ec2::254`, and of Alibaba Cloud for `100.100.100.200`.
enum LinkLocal {
    /// Whether libcurl is about to connect to such an address.
    static func includes(_ address: UnsafePointer<curl_sockaddr>) -> Bool {
        guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return true }
        // An IPv6 address is longer than the type that libcurl declares.
        let bytes = UnsafeRawBufferPointer(
            start: UnsafeRawPointer(address) + offset, count: Int(address.pointee.addrlen))
        switch address.pointee.family {
        case AF_INET where bytes.count >= 8: return includes(Array(bytes[4..<8]))
        case AF_INET6 where bytes.count >= 24: return includes(Array(bytes[8..<24]))
        default: return false
        }
    }

    /// The prefixes of IPv4 addresses in IPv6 addresses: mapped, compatible, translated, 6to4.
    private static let embedding: [[UInt8]] = [
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0], [0x20, 0x02],
    ]

    /// - Parameter address: 4 or 16 bytes in network order.
    static func includes(_ address: [UInt8]) -> Bool {
        guard address.count == 16 else {
            return address.starts(with: [169, 254]) || address == [100, 100, 100, 200]
        }
        for prefix in embedding where address.starts(with: prefix) {
            return includes(Array(address[prefix.count..<prefix.count + 4]))
        }
        return address[0] == 0xFE && address[1] & 0xC0 == 0x80
            || address == [0xFD, 0, 0x0E, 0xC2] + [UInt8](repeating: 0, count: 10) + [0x02, 0x54]
    }
}
