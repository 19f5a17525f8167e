/// A YAML or JSON file that people write.
package enum SourceFile {
    /// Reads a file from disk. Blocks.
    ///
    /// - Parameters:
    ///   - path: `.json` is read as JSON, everything else as YAML.
    ///   - beginning: What to do about an empty file, for its error.
    ///   - wanted: The kind of file, to recognise another kind. Nil: any.
    /// - Throws: ``RuleFilesError`` with all syntax errors. Its kind is `.missing` if the file can't be read.
    package static func read(
        path: String, beginning: String, as wanted: ForeignFile.Wanted? = nil
    ) throws(RuleFilesError) -> SourceNode {
        let errors = SourceErrors(path: path)
        do throws(FileError) {
            let bytes = try FileBytes.read(path, limit: RuleFile.lengthLimit)
            let node = read(path: path, bytes, errors, beginning: beginning, as: wanted)
            if let node, errors.errors.isEmpty { return node }
        } catch {
            let missing = RuleFileError(path: path, position: nil, message: error.message)
            throw RuleFilesError(kind: .missing, errors: [missing])
        }
        throw RuleFilesError(kind: .invalid, errors: errors.errors)
    }

    /// Nil, with errors, if the file can't be read, or is of another kind than `wanted`.
    static func read(
        path: String, _ bytes: [UInt8], _ errors: SourceErrors, beginning: String = SourceErrors.beginningOfRules,
        as wanted: ForeignFile.Wanted? = .rules
    ) -> SourceNode? {
        if let binary = BinaryFile(bytes) {
            errors.report(at: .start, binary.message(wanted))
            return nil
        }
        let syntax = SourceErrors(path: path)
        let root = content(path: path, bytes, syntax, beginning)
        errors.oddCharacters = syntax.oddCharacters
        let text = { String(decoding: bytes.prefix(100_000), as: UTF8.self) }
        if let wanted,
            let foreign = root.flatMap({ ForeignFile($0, in: wanted) })
                ?? (root?.hasContent == true ? nil : ForeignFile(path: path, text: text()))
        {
            errors.report(at: .start, foreign.message(path: path, in: wanted))
            return nil
        }
        errors.add(syntax.errors)
        return root
    }

    private static func content(
        path: String, _ bytes: [UInt8], _ errors: SourceErrors, _ beginning: String
    ) -> SourceNode? {
        let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let bytes = bytes.starts(with: byteOrderMark) ? Array(bytes.dropFirst(byteOrderMark.count)) : bytes
        if bytes.allSatisfy({ [0x20, 0x09, 0x0A, 0x0D].contains($0) }) {
            errors.reportEmpty(beginning)
            return nil
        }
        if path.hasSuffix(".json") {
            errors.oddCharacters = OddCharacters(in: String(decoding: bytes, as: UTF8.self))
            return JSONSource.read(bytes, errors: errors)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            errors.report(
                at: invalidUTF8(in: bytes),
                "invalid UTF-8; save the file as UTF-8, or convert it with iconv -f WINDOWS-1252 -t UTF-8")
            return nil
        }
        errors.oddCharacters = OddCharacters(in: text)
        return YAMLSource.read(text, errors: errors, beginning: beginning)
    }

    /// The position of the first byte that is not UTF-8.
    private static func invalidUTF8(in bytes: [UInt8]) -> SourcePosition {
        var line = 1
        for part in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            guard String(validating: part, as: UTF8.self) != nil else {
                let valid = String(decoding: part, as: UTF8.self).unicodeScalars.prefix { $0 != "\u{FFFD}" }
                return SourcePosition(line: line, column: valid.count + 1)
            }
            line += 1
        }
        return SourcePosition(line: line, column: 1)
    }
}

extension SourceNode {
    /// Whether it is an object or a list.
    fileprivate var hasContent: Bool {
        switch content {
        case .object, .list: true
        default: false
        }
    }
}
