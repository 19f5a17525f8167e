/// The random numbers of the system. Nothing else in the code that the simulation runs asks for them.
package enum SystemRandom {
    /// From 0 to 1, without 1.
    package static func fraction() -> Double { .random(in: 0..<1) }

    package static func number() -> UInt64 { .random(in: .min ... .max) }

    /// A random UUID (version 4), in upper case.
    package static func identifier() -> String {
        let version = number() & ~0xF000 | 0x4000
        let variant = number() & ~(0b11 << 62) | 0b10 << 62
        let digits = [version, variant].map { number in
            let text = String(number, radix: 16, uppercase: true)
            return String(repeating: "0", count: 16 - text.count) + text
        }.joined()
        var parts: [Substring] = []
        var rest = digits[...]
        for length in [8, 4, 4, 4, 12] {
            parts.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        return parts.joined(separator: "-")
    }
}
