internal import Encodings
internal import LosslessJSON

/// What a test can see of a decision: the members of `expect` with their values, in YAML's flow style.
struct DecisionSummary {
    struct Member: Equatable {
        let name: String
        let value: String
    }

    let members: [Member]
    /// The names of the rules that fired.
    let fired: [String]
    /// Whether the decision failed, or a rule was skipped.
    var isFailure: Bool { members[0].name == "error" }

    init(_ report: DecisionReport) {
        fired = report.fired
        guard report.decision.error == nil, report.decision.skipped.isEmpty else {
            members = [Member(name: "error", value: "true")]
            return
        }
        var members = [Member(name: "fired", value: Self.list(report.fired))]
        if report.decision.isMapping {
            members.append(Member(name: "documents", value: Self.documents(report)))
            members.append(Member(name: "deleted", value: "\(report.decision.isDeletion)"))
        } else {
            members.append(Member(name: "deleted", value: "\(report.decision.isDeletion)"))
            members.append(Member(name: "patch", value: Self.flow(report.patch.json)))
            members.append(Member(name: "attachments", value: Self.attachments(report)))
            var writer = JSONWriter()
            report.writeEffects(to: &writer)
            members.append(Member(name: "effects", value: Self.flow(writer.bytes)))
        }
        self.members = members
    }

    /// The first member that differs, with both values. Nil if a test can't tell the decisions apart.
    func difference(from other: DecisionSummary) -> (member: String, expected: String, actual: String)? {
        if members == other.members { return nil }
        for member in members {
            guard let counterpart = other.members.first(where: { $0.name == member.name }) else { continue }
            if member != counterpart { return (member.name, member.value, counterpart.value) }
        }
        // One of them failed.
        guard let own = members.first, let actual = other.members.first else { return nil }
        return (own.name, own.value, "\(actual.name): \(actual.value)")
    }

    /// The `expect` of a test that shows the member.
    func expectation(showing name: String) -> String {
        let shown = members.filter { ["fired", "error", name].contains($0.name) }
        return "{ " + shown.map { "\($0.name): \($0.value)" }.joined(separator: ", ") + " }"
    }

    // MARK: - Values

    private static func flow(_ json: [UInt8]) -> String {
        (try? JSONText(json)).map { FlowText.text($0.root) } ?? "[]"
    }

    private static func list(_ names: [String]) -> String {
        var writer = JSONWriter()
        writer.array { writer in for name in names { writer.string(name) } }
        return flow(writer.bytes)
    }

    private static func documents(_ report: DecisionReport) -> String {
        var writer = JSONWriter()
        writer.array { writer in
            for output in report.decision.mapped {
                let document = (try? output.document.removing(JSONPointer(tokens: ["_attachments"]))) ?? output.document
                writer.raw(document.bytes)
            }
        }
        return flow(writer.bytes)
    }

    private static func attachments(_ report: DecisionReport) -> String {
        var writer = JSONWriter()
        writer.object { writer in
            for (name, attachment) in report.decision.attachments.sorted(by: { $0.key < $1.key }) {
                writer.name(name.text)
                writer.object { writer in
                    if let url = attachment.url {
                        writer.member("url", string: url)
                    } else {
                        writer.member("sha256", string: attachment.content.sha256)
                    }
                    writer.member("content_type", string: attachment.contentType)
                }
            }
        }
        return flow(writer.bytes)
    }
}
