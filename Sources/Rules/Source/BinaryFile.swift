internal import Encodings

/// A file that is not UTF-8 text, where rules or a configuration belong. For messages only.
enum BinaryFile {
    case signature(FileSignature)
    case wideText(WideEncoding)

    /// Nil if the file may be UTF-8 text.
    init?(_ bytes: [UInt8]) {
        if let signature = FileSignature(bytes) {
            self = .signature(signature)
        } else if let encoding = WideEncoding(head: Array(bytes.prefix(WideEncoding.headCount))) {
            self = .wideText(encoding)
        } else {
            return nil
        }
    }

    /// What the file is, and what to do.
    func message(_ wanted: ForeignFile.Wanted?) -> String {
        let expected =
            switch wanted {
            case .rules?: "a rule file"
            case .configuration?: "a configuration file"
            case nil: "a file"
            }
        return switch self {
        case .signature(.gzip): "this is a gzip file, not YAML or JSON; decompress it with gunzip"
        case .signature(let kind): "this is \(kind.name), not YAML or JSON; name \(expected), saved as text in UTF-8"
        case .wideText(let encoding):
            "this is text in \(encoding.name); save it as UTF-8, or convert it with iconv -f \(encoding.name) -t UTF-8"
        }
    }
}
