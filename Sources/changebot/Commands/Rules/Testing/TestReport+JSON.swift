internal import LosslessJSON
internal import Rules

extension TestReport {
    /// One object, as the article on `rules test` describes it.
    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("passed", integer: results.count - failed.count)
            writer.member("failed", integer: failed.count)
            writer.name("tests")
            writer.array { writer in for result in results { Self.write(result, to: &writer) } }
            if let coverage {
                writer.name("coverage")
                write(coverage, to: &writer)
            }
            if let mutants {
                writer.name("mutants")
                Self.write(mutants, to: &writer)
            }
        }
        return writer.bytes
    }

    private func write(_ coverage: RuleCoverage, to writer: inout JSONWriter) {
        writer.object { writer in
            Self.write(coverage.share, to: &writer)
            if let threshold { writer.member("threshold", raw: Self.percent(threshold).dropLast().utf8) }
            writer.name("files")
            writer.array { writer in for file in coverage.files { Self.write(file, to: &writer) } }
        }
    }

    private static func write(_ mutants: MutantRun, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("count", integer: mutants.count)
            writer.name("survivors")
            writer.array { writer in
                for mutant in mutants.survivors {
                    writer.object { writer in
                        writer.member("file", string: mutant.path)
                        write(mutant.position, to: &writer)
                        writer.member("rule", string: mutant.rule)
                        writer.member("change", string: mutant.change)
                        writer.member("test", optional: mutant.difference?.test.joined(separator: "\n"))
                    }
                }
            }
        }
    }

    private static func write(_ result: RuleTestResult, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("file", string: result.path)
            write(result.position, to: &writer)
            writer.member("name", string: result.name)
            writer.member("passed", bool: result.hasPassed)
            writer.name("differences")
            writer.array { writer in
                for mismatch in result.mismatches {
                    writer.object { writer in
                        writer.member("member", string: mismatch.what)
                        write(mismatch.expected, "expected", to: &writer)
                        write(mismatch.actual, "actual", to: &writer)
                    }
                }
            }
        }
    }

    private static func write(_ lines: [String], _ name: String, to writer: inout JSONWriter) {
        writer.name(name)
        writer.array { writer in for line in lines { writer.string(line) } }
    }

    private static func write(_ position: SourcePosition, to writer: inout JSONWriter) {
        writer.member("line", integer: position.line)
        writer.member("column", integer: position.column)
    }

    private static func write(_ share: RuleCoverage.Share, to writer: inout JSONWriter) {
        writer.member("percent", raw: percent(share.permille).dropLast().utf8)
        writer.member("seen", integer: share.seen)
        writer.member("possible", integer: share.possible)
    }

    private static func write(_ file: RuleCoverage.File, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("file", string: file.path)
            write(file.share, to: &writer)
            writer.name("points")
            writer.array { writer in
                for rule in file.rules { for point in rule.points { write(point, rule.name, to: &writer) } }
                if let point = file.otherwise { write(point, nil, to: &writer) }
            }
        }
    }

    private static func write(_ point: CoveragePoint, _ rule: String?, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("rule", optional: rule)
            writer.member("key", string: point.kind.rawValue)
            write(point.position, to: &writer)
            writer.member("text", string: point.text)
            writer.name("outcomes")
            writer.array { writer in
                for outcome in point.outcomes {
                    writer.object { writer in
                        writer.member("result", string: outcome.result.rawValue)
                        writer.member("possible", bool: outcome.isPossible)
                        writer.member("tests", integer: outcome.testCount)
                    }
                }
            }
        }
    }
}
