/// Where an `emit` writes its lines.
package enum EmitTarget: Hashable, Sendable {
    /// `file: "-"`.
    case standardOutput
    case file(path: String, EmitRotation?)

    /// As the rule file has it, relative to the working folder; `-` for stdout.
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

    /// The most bytes of a file; nil: any number. A batch of lines that is longer alone has a file of its own.
    package var size: Int?
    /// A file holds the lines of one hour or day only.
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
