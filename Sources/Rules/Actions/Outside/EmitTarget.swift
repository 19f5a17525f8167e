/// Where an `emit` writes its lines.
package enum EmitTarget: Hashable, Sendable {
    /// `file: "-"`.
    case standardOutput
    case file(path: String, EmitRotation?)

    /// Relative to the working folder; `-` for stdout.
    package var path: String {
        switch self {
        case .standardOutput: "-"
        case .file(let path, _): path
        }
    }
}

/// When a file of an `emit` is closed and kept under another name. Default: never.
package struct EmitRotation: Hashable, Sendable {
    /// A span of UTC.
    package enum Period: String, Sendable, CaseIterable {
        case hour, day

        /// In seconds.
        package var length: Int { self == .hour ? 3600 : 86_400 }
    }

    /// The maximum number of bytes of a file. Nil: no limit. A batch of lines that exceeds it gets a separate file.
    package var size: Int?
    /// A file holds the lines of only one hour or day.
    package var every: Period?
    /// How many rotated files are kept; nil: all.
    package var keep: Int?

    /// Checks nothing.
    package init(size: Int? = nil, every: Period? = nil, keep: Int? = nil) {
        self.size = size
        self.every = every
        self.keep = keep
    }
}

extension EmitRotation {
    private static let keys = ["size", "every", "keep"]
    private static let maxKept = 100_000

    /// Nil, with errors, if a value is wrong.
    init?(_ node: SourceNode, _ errors: SourceErrors) {
        guard let object = SourceObject(node, "'rotate'", known: Self.keys, errors: errors) else { return nil }
        let before = errors.errors.count
        self.init()
        size = object.byteCount("size")
        if let node = object.node("every") {
            every = node.text.flatMap(Period.init(rawValue:))
            if every == nil { errors.report(at: node.position, "'every' must be hour or day (UTC); write one of them") }
        }
        if let node = object.node("keep") {
            if case .number(let text) = node.content {
                keep = Int(text).flatMap { (1...Self.maxKept).contains($0) ? $0 : nil }
            }
            if keep == nil {
                errors.report(at: node.position, "'keep' must be the number of rotated files, at least 1; correct it")
            }
        }
        if object.node("size") == nil, object.node("every") == nil {
            errors.report(at: node.position, "'rotate' needs 'size', 'every' or both; write every: day")
        }
        guard errors.errors.count == before else { return nil }
    }
}
