internal import LosslessJSON
internal import RuleEditing

/// Errors and warnings as the protocol writes them.
enum Diagnostics {
    /// - Parameter version: Nil if the document is closed.
    static func message(uri: String, version: Int?, _ diagnostics: [EditorDiagnostic]) -> [UInt8] {
        ServerMessage.notification("textDocument/publishDiagnostics") { writer in
            writer.member("uri", string: uri)
            if let version { writer.member("version", integer: version) }
            writer.name("diagnostics")
            writer.array { writer in for diagnostic in diagnostics { write(diagnostic, to: &writer) } }
        }
    }

    static func write(_ diagnostic: EditorDiagnostic, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("range", diagnostic.range)
            writer.member("severity", integer: diagnostic.severity.number)
            if let code = diagnostic.code { writer.member("code", string: code) }
            writer.member("source", string: "changebot")
            writer.member("message", string: diagnostic.message)
        }
    }
}

extension EditorDiagnostic.Severity {
    /// The number of the protocol's `DiagnosticSeverity`.
    fileprivate var number: Int {
        switch self {
        case .error: 1
        case .warning: 2
        case .information: 3
        }
    }
}
