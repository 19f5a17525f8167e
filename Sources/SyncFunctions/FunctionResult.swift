internal import LosslessJSON

/// The result of a sync function.
package struct SyncFunctionResult: Sendable, Equatable {
    /// The arguments of one call of `access` or `role`.
    package struct Grant: Sendable, Equatable {
        package var users: [String]
        package var names: [String]

        package init(users: [String], names: [String]) {
            self.users = users
            self.names = names
        }
    }

    /// The arguments of `channel`, in order.
    package var channels: [String] = []
    package var access: [Grant] = []
    package var roles: [Grant] = []
    /// The arguments of `expiry`: numbers and strings as JSON.
    package var expiry: [[UInt8]] = []
    /// The first refusal.
    package var rejection: (status: Int, reason: String)?
    /// Whether it ended with an exception that does not refuse the write.
    package var hasFailed = false
    /// Its log output, and its exception.
    package var log: [String] = []

    /// - Parameter text: The result of the prelude's `call`, in Duktape's UTF-8.
    init?(_ text: [UInt8]) {
        guard let root = try? JSONText(SurrogatePairs.joined(text)).root else { return nil }
        channels = Self.texts(root["channels"])
        access = Self.grants(root["access"])
        roles = Self.grants(root["roles"])
        expiry = root["expiry"]?.elements.map { Array($0.bytes) } ?? []
        if let status = root["rejected"]?.element(0)?.integer {
            rejection = (status, root["rejected"]?.element(1)?.string ?? "")
        }
        hasFailed = root["failed"]?.bool == true
        log = Self.texts(root["log"])
    }

    private static func texts(_ list: JSONValue?) -> [String] { list?.elements.compactMap(\.string) ?? [] }

    private static func grants(_ list: JSONValue?) -> [Grant] {
        list?.elements.map { Grant(users: texts($0.element(0)), names: texts($0.element(1))) } ?? []
    }

    package static func == (left: SyncFunctionResult, right: SyncFunctionResult) -> Bool {
        left.channels == right.channels && left.access == right.access && left.roles == right.roles
            && left.expiry == right.expiry && left.hasFailed == right.hasFailed && left.log == right.log
            && left.rejection?.status == right.rejection?.status && left.rejection?.reason == right.rejection?.reason
    }
}

/// Duktape writes a character beyond U+FFFF as two surrogates of three bytes each.
enum SurrogatePairs {
    /// Converts to valid UTF-8: pairs become the character, single surrogates U+FFFD.
    static func joined(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.contains(0xED) else { return bytes }
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var at = 0
        while at < bytes.count {
            guard let first = surrogate(bytes, at) else {
                result.append(bytes[at])
                at += 1
                continue
            }
            if first < 0xDC00, let second = surrogate(bytes, at + 3), second >= 0xDC00,
                let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
            {
                result += String(Character(scalar)).utf8
                at += 6
            } else {
                result += "\u{FFFD}".utf8
                at += 3
            }
        }
        return result
    }

    private static func surrogate(_ bytes: [UInt8], _ at: Int) -> UInt32? {
        guard at + 2 < bytes.count, bytes[at] == 0xED, bytes[at + 1] >= 0xA0 else { return nil }
        return 0xD000 | UInt32(bytes[at + 1] & 0x3F) << 6 | UInt32(bytes[at + 2] & 0x3F)
    }
}
