internal import LosslessJSON

/// The input of a sync function.
package struct SyncFunctionCall: Sendable {
    /// The new revision, as JSON.
    package var document: [UInt8]
    /// The parent revision, as JSON. Nil if there is none.
    package var parent: [UInt8]?
    /// The user who writes. Nil for an administrator.
    package var user: Writer?

    package struct Writer: Sendable {
        /// Empty for GUEST.
        package var name: String
        package var roles: [String]
        package var channels: [String]

        package init(name: String, roles: [String], channels: [String]) {
            self.name = name
            self.roles = roles
            self.channels = channels
        }
    }

    package init(document: [UInt8], parent: [UInt8]?, user: Writer?) {
        self.document = document
        self.parent = parent
        self.user = user
    }

    /// The argument of the prelude's `call`.
    var text: [UInt8] {
        var text = JSONWriter(minimumCapacity: document.count + (parent?.count ?? 0) + 256)
        text.object { text in
            text.member("doc", raw: Self.readable(document))
            text.name("oldDoc")
            if let parent { text.raw(Self.readable(parent)) } else { text.null() }
            text.name("user")
            guard let user else { return text.null() }
            text.object { text in
                text.member("name", string: user.name)
                text.name("channels")
                text.array { list in for name in user.channels { list.string(name) } }
                text.name("roles")
                text.object { roles in for name in user.roles { roles.member(name, bool: true) } }
            }
        }
        return Self.readable(text.bytes, numbers: false)
    }

    /// JSON in a form that the engine reads correctly.
    ///
    /// Numbers that a double can't represent become strings, as in otto. Characters beyond U+FFFF are escaped, because
    /// Duktape would read each as a single unit.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1: `9007199254740993` and `1e400` are strings, `1e-400` is 0.
    static func readable(_ json: [UInt8], numbers: Bool = true) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(json.count)
        var at = 0
        var isInString = false
        while at < json.count {
            let byte = json[at]
            switch byte {
            case UInt8(ascii: "\\") where isInString && at + 1 < json.count:
                result += json[at...at + 1]
                at += 2
            case UInt8(ascii: "\""):
                isInString.toggle()
                result.append(byte)
                at += 1
            case 0xF0...0xF4 where at + 3 < json.count:
                result += escaped(json[at...at + 3])
                at += 4
            case UInt8(ascii: "-") where !isInString, UInt8(ascii: "0")...UInt8(ascii: "9") where !isInString:
                let end = json[at...].firstIndex { !isPartOfNumber($0) } ?? json.count
                let number = json[at..<end]
                if numbers, !fits(number) {
                    result += [UInt8(ascii: "\"")] + number + [UInt8(ascii: "\"")]
                } else if numbers, number.count > 15, let value = Double(String(decoding: number, as: UTF8.self)) {
                    // Duktape rounds halves up.
                    result += Array("\(value)".utf8)
                } else {
                    result += number
                }
                at = end
            default:
                result.append(byte)
                at += 1
            }
        }
        return result
    }

    private static func escaped(_ character: ArraySlice<UInt8>) -> [UInt8] {
        String(decoding: character, as: UTF8.self).utf16.flatMap { unit in
            Array("\\u\(String(unit + 0, radix: 16))".utf8)
        }
    }

    private static func isPartOfNumber(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."),
            UInt8(ascii: "e"), UInt8(ascii: "E"):
            true
        default: false
        }
    }

    /// Whether JavaScript can represent a number: an integer up to 2^53, or any other number in the range of a double.
    private static func fits(_ number: ArraySlice<UInt8>) -> Bool {
        let text = String(decoding: number, as: UTF8.self)
        guard number.contains(where: { ![UInt8(ascii: "-")].contains($0) && !(48...57 ~= $0) }) else {
            return Int(text).map { $0.magnitude < 1 << 53 } ?? false
        }
        return Double(text)?.isFinite ?? false
    }
}
