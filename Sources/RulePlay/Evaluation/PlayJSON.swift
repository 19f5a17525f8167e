internal import Encodings
internal import LosslessJSON
internal import RuleEditing
internal import Rules

/// The lines of an evaluation. Each is a JSON object with one member that tells its kind.
enum PlayJSON {
    static let end = line { $0.member("end", bool: true) }

    static func line(_ members: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.object(members)
        return writer.bytes + [UInt8(ascii: "\n")]
    }

    static func diagnostics(_ evaluated: EvaluatedText) -> [UInt8] {
        line { writer in
            writer.name("diagnostics")
            writer.array { writer in
                for diagnostic in evaluated.diagnostics.prefix(500) { Self.write(diagnostic, to: &writer) }
            }
            writer.member("valid", bool: evaluated.rules != nil)
            writer.name("rules")
            writer.array { writer in for name in evaluated.rules?.names ?? [] { writer.string(name) } }
        }
    }

    private static func write(_ diagnostic: EditorDiagnostic, to writer: inout JSONWriter) {
        writer.object { writer in
            let severity =
                switch diagnostic.severity {
                case .error: "error"
                case .warning: "warning"
                case .information: "note"
                }
            writer.member("severity", string: severity)
            writer.member("message", string: diagnostic.message)
            writer.member("code", optional: diagnostic.code)
            write(diagnostic.range, to: &writer)
        }
    }

    static func write(_ range: TextRange, to writer: inout JSONWriter) {
        writer.member("line", integer: range.start.line)
        writer.member("column", integer: range.start.column)
        writer.member("endLine", integer: range.end.line)
        writer.member("endColumn", integer: range.end.column)
    }

    /// The numbers of documents whose results come later.
    static func deciding(_ numbers: [Int]) -> [UInt8] {
        line { writer in
            writer.name("deciding")
            writer.array { writer in for number in numbers { writer.integer(number) } }
        }
    }

    static func results(_ decisions: some Sequence<(Int, Decision)>, _ names: [String]) -> [UInt8] {
        line { writer in
            writer.name("results")
            writer.array { writer in
                for (number, decision) in decisions {
                    writer.object { writer in
                        writer.member("number", integer: number)
                        writer.name("fired")
                        writer.array { writer in for rule in decision.fired { writer.string(names[rule]) } }
                        writer.member("changed", bool: decision.isChanged)
                        writer.member("deleted", bool: decision.isDeletion)
                        writer.member("error", optional: decision.error?.description)
                    }
                }
            }
        }
    }

    static func counts(_ counts: TrialCounts, _ names: [String], total: Int) -> [UInt8] {
        line { writer in
            writer.name("counts")
            writer.object { writer in
                writer.member("decided", integer: counts.decided)
                writer.member("total", integer: total)
                writer.member("changed", integer: counts.changed)
                writer.member("failed", integer: counts.failed)
                writer.name("rules")
                writer.array { writer in
                    for (name, fired) in zip(names, counts.fired) {
                        writer.object { writer in
                            writer.member("name", string: name)
                            writer.member("fired", integer: fired)
                        }
                    }
                }
            }
        }
    }
}
