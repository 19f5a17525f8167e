internal import Encodings

/// The names of rotated files: `orders-2026-11-24T000000Z.ndjson` for `orders.ndjson`.
struct RotatedName {
    private let stem: String
    private let ending: String

    /// - Parameter name: The file's name, without its folder.
    init(of name: String) {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else {
            (stem, ending) = (name + "-", "")
            return
        }
        (stem, ending) = (name[..<dot] + "-", String(name[dot...]))
    }

    /// Sorted by their bytes, the names are in order of time.
    ///
    /// - Parameter seconds: Since 1970.
    func name(at seconds: Int) -> String {
        stem + Timestamp.text(seconds).filter { $0 != ":" } + ending
    }

    /// Whether a name has exactly this form.
    func includes(_ name: String) -> Bool {
        guard name.utf8.starts(with: stem.utf8), name.utf8.reversed().starts(with: ending.utf8.reversed()) else {
            return false
        }
        let time = Array(name.utf8.dropFirst(stem.utf8.count).dropLast(ending.utf8.count))
        let pattern = Array("0000-00-00T000000Z".utf8)
        return time.count == pattern.count
            && zip(time, pattern).allSatisfy { byte, wanted in
                wanted == UInt8(ascii: "0") ? (0x30...0x39).contains(byte) : byte == wanted
            }
    }
}
