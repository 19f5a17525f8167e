internal import LosslessJSON

/// The rules of one file, as far as they could be read.
struct RuleFile {
    private static let keys = ["version", "rules"]
    private static let version = "1"

    struct Entry {
        let rule: Rule
        let path: String
        /// Where the rule begins.
        let position: SourcePosition
    }

    let path: String
    private(set) var entries: [Entry] = []
    private(set) var faults: [RuleFileFault] = []

    /// - Parameters:
    ///   - path: As people know the file; faults begin with it. `.json` is read as JSON, everything else as YAML.
    ///   - bytes: The file's content.
    init(path: String, bytes: [UInt8], shared: AttachmentFiles.Shared = AttachmentFiles.Shared()) {
        self.path = path
        let faults = SourceFaults(path: path)
        if let root = Self.read(path: path, bytes, faults) {
            readRules(root, faults, AttachmentFiles(folder: RulePath.folder(of: path), shared: shared))
        }
        self.faults = faults.faults
    }

    private static func read(path: String, _ bytes: [UInt8], _ faults: SourceFaults) -> SourceNode? {
        let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let bytes = bytes.starts(with: byteOrderMark) ? Array(bytes.dropFirst(byteOrderMark.count)) : bytes
        if path.hasSuffix(".json") { return JSONSource.read(bytes, faults: faults) }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            faults.report(at: invalidUTF8(in: bytes), "invalid UTF-8; save the file as UTF-8")
            return nil
        }
        return YAMLSource.read(text, faults: faults)
    }

    /// The line is that of the first byte which is not UTF-8.
    private static func invalidUTF8(in bytes: [UInt8]) -> SourcePosition {
        var line = 1
        for part in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            guard String(validating: part, as: UTF8.self) != nil else { break }
            line += 1
        }
        return SourcePosition(line: line, column: 1)
    }

    private mutating func readRules(_ root: SourceNode, _ faults: SourceFaults, _ files: AttachmentFiles) {
        guard let object = SourceObject(root, "a rule file", known: Self.keys, faults: faults) else { return }
        if let node = object.required("version", "begin the file with 'version: 1'") {
            if case .number(Self.version) = node.content {
            } else {
                faults.report(at: node.position, "this version of changebot reads rule files of 'version: 1' only")
            }
        }
        guard let node = object.required("rules", "add 'rules:' with a list of rules") else { return }
        guard case .list(let elements) = node.content else {
            faults.report(
                at: node.position, "'rules' must be a list of rules, not \(node.kindName); begin each with '- name:'")
            return
        }
        for element in elements {
            guard let rule = Rule(element, faults, files) else { continue }
            entries.append(Entry(rule: rule, path: path, position: element.position))
        }
    }
}
