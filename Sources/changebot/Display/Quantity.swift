internal import Encodings

/// Formats numbers for people. Avoids Foundation's formatters, which load megabytes of tables.
enum Quantity {
    /// `1,234,567`.
    static func count(_ number: Int) -> String {
        let digits = String(number.magnitude)
        var text = number < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text += "," }
            text.append(digit)
        }
        return text
    }

    /// `1 document`, `1,234 documents`.
    static func count(_ number: Int, _ noun: String) -> String { "\(count(number)) \(number.inflected(noun))" }

    /// `512 bytes`, `1.5 KiB`, `29.8 MiB`, `1,024.0 GiB`: one decimal, rounded down.
    static func size(_ bytes: Int) -> String {
        switch bytes.magnitude {
        case ..<(1 << 10): return count(bytes, "byte")
        case ..<(1 << 20): return tenths(of: bytes, shift: 10) + " KiB"
        case ..<(1 << 30): return tenths(of: bytes, shift: 20) + " MiB"
        default: return tenths(of: bytes, shift: 30) + " GiB"
        }
    }

    private static func tenths(of bytes: Int, shift: Int) -> String {
        let size = Int(bytes.magnitude >> shift)
        let tenth = ((bytes.magnitude & ((1 << shift) - 1)) * 10) >> shift
        return "\(bytes < 0 ? "-" : "")\(count(size)).\(tenth)"
    }

    /// `7s`, `1m 05s`, `2h 00m`, `3d 04h`: the two largest units, rounded down.
    static func duration(_ duration: Duration) -> String {
        let seconds = max(0, duration.components.seconds)
        switch seconds {
        case ..<60: return "\(seconds)s"
        case ..<3600: return "\(seconds / 60)m \(twoDigits(seconds % 60))s"
        case ..<86400: return "\(seconds / 3600)h \(twoDigits(seconds / 60 % 60))m"
        default: return "\(count(Int(seconds / 86400)))d \(twoDigits(seconds / 3600 % 24))h"
        }
    }

    private static func twoDigits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
