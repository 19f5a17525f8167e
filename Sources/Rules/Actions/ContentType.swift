/// The media types of attachments.
enum ContentType {
    static let unknown = "application/octet-stream"

    /// The type for the extension of a file name.
    static func ofFile(named name: String) -> String {
        let file = name.split(separator: "/").last ?? ""
        guard let dot = file.lastIndex(of: ".") else { return unknown }
        switch file[file.index(after: dot)...].lowercased() {
        case "png": return "image/png"
        case "jpg", "jpeg": return "image/jpeg"
        case "gif": return "image/gif"
        case "webp": return "image/webp"
        case "svg": return "image/svg+xml"
        case "pdf": return "application/pdf"
        case "txt": return "text/plain"
        case "json": return "application/json"
        default: return unknown
        }
    }

    /// Whether this is `type/subtype`, optionally with parameters, in printable ASCII.
    static func isValid(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.allSatisfy({ (0x20..<0x7F).contains($0) }), let slash = bytes.firstIndex(of: UInt8(ascii: "/"))
        else { return false }
        return slash > 0 && slash + 1 < bytes.count && !bytes[..<slash].contains(0x20) && bytes[slash + 1] != 0x20
    }
}
