internal import LosslessJSON
internal import Rules

extension PlayJSON {
    /// The results of the file's tests, and what they cover, by line from 0.
    static func tests(_ results: [RuleTestResult], _ coverage: RuleCoverage) -> [UInt8] {
        line { writer in
            writer.name("tests")
            writer.array { writer in for result in results { write(result, to: &writer) } }
            writer.name("coverage")
            writer.object { writer in
                writer.member("permille", integer: coverage.share.permille)
                writer.member("possible", integer: coverage.share.possible)
                writer.name("lines")
                writer.array { writer in
                    let points = Dictionary(grouping: coverage.files.flatMap(\.points)) { $0.position.line }
                    for (number, points) in points.sorted(by: { $0.key < $1.key }) {
                        write(number, points, to: &writer)
                    }
                }
            }
        }
    }

    private static func write(_ result: RuleTestResult, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("name", string: result.name)
            writer.member("line", integer: result.position.line - 1)
            writer.member("passed", bool: result.hasPassed)
            writer.name("differences")
            writer.array { writer in
                for mismatch in result.mismatches {
                    writer.object { writer in
                        writer.member("what", string: mismatch.what)
                        writer.name("expected")
                        writer.array { writer in for line in mismatch.expected { writer.string(line) } }
                        writer.name("actual")
                        writer.array { writer in for line in mismatch.actual { writer.string(line) } }
                    }
                }
            }
        }
    }

    private static func write(_ number: Int, _ points: [CoveragePoint], to writer: inout JSONWriter) {
        let isComplete = points.allSatisfy(\.missing.isEmpty)
        let isSeen = points.contains { point in point.outcomes.contains { $0.testCount > 0 } }
        let missing = points.compactMap { point in point.complaint.map { "\(point.text): \($0)" } }
        writer.object { writer in
            writer.member("line", integer: number - 1)
            writer.member("state", string: isComplete ? "covered" : isSeen ? "partly" : "uncovered")
            writer.member("missing", string: missing.joined(separator: "; "))
        }
    }
}
