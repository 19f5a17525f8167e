internal import Encodings
internal import LosslessJSON

extension RuleExpectation {
    typealias Mismatch = RuleTestResult.Mismatch

    func mismatches(with report: DecisionReport) -> [Mismatch] {
        var found = [
            firedMismatch(report), documentMismatch(report), patchMismatch(report), attachmentsMismatch(report),
            blobsMismatch(report),
            documentsMismatch(report), effectsMismatch(report), errorMismatch(report),
        ].compactMap { $0 }
        if let isDeleted, isDeleted != report.decision.isDeletion {
            found.append(Mismatch(what: "deleted", expected: ["\(isDeleted)"], actual: ["\(!isDeleted)"]))
        }
        return found
    }

    private func firedMismatch(_ report: DecisionReport) -> Mismatch? {
        guard let fired, fired != report.fired else { return nil }
        return Mismatch(what: "fired", expected: fired, actual: report.fired)
    }

    /// Ignores `_rev`, and `_attachments` unless they are expected, because authors can't predict digests.
    private func documentMismatch(_ report: DecisionReport) -> Mismatch? {
        guard let document else { return nil }
        var left: Set = ["_rev"]
        if document.root["_attachments"] == nil { left.insert("_attachments") }
        let expected = document.without(left)
        let actual = report.decision.document.without(left)
        return Self.mismatch("document", expected, actual)
    }

    /// Compares whole documents. Ignores `_attachments` unless they are expected.
    private func documentsMismatch(_ report: DecisionReport) -> Mismatch? {
        guard let documents else { return nil }
        let expected = Array(documents.root.elements)
        let mapped = report.decision.mapped.map(\.document)
        let actual = mapped.enumerated().map { index, document in
            let isExpected = index < expected.count && expected[index]["_attachments"] != nil
            return isExpected ? document : document.without(["_attachments"])
        }
        let areAsExpected =
            expected.count == actual.count && zip(expected, actual).allSatisfy { $0.isEquivalent(to: $1.root) }
        return areAsExpected
            ? nil
            : Mismatch(
                what: "documents", expected: expected.flatMap { $0.indentedLines() },
                actual: actual.flatMap { $0.root.indentedLines() })
    }

    private func patchMismatch(_ report: DecisionReport) -> Mismatch? {
        guard let patch, let actual = try? JSONText(report.patch.json) else { return nil }
        return Self.mismatch("patch", patch, actual)
    }

    private func effectsMismatch(_ report: DecisionReport) -> Mismatch? {
        guard let effects else { return nil }
        var writer = JSONWriter()
        report.writeEffects(to: &writer, withSkips: expectsSkip)
        guard let actual = try? JSONText(writer.bytes) else { return nil }
        let expected = Array(effects.root.elements)
        let found = Array(actual.root.elements)
        let areAsExpected =
            expected.count == found.count && zip(expected, found).allSatisfy { $0.isSubset(of: $1) }
        return areAsExpected
            ? nil
            : Mismatch(
                what: "effects", expected: effects.root.indentedLines(),
                actual: actual.limited(to: effects.root).root.indentedLines(), isPartial: true)
    }

    private func attachmentsMismatch(_ report: DecisionReport) -> Mismatch? {
        guard let attachments else { return nil }
        let expected = attachments.sorted { $0.key < $1.key }.map { $1.line(named: $0.text) }
        let actual = report.decision.attachments.sorted { $0.key < $1.key }.map { name, attachment in
            attachments[name].map { $0.line(named: name.text, of: attachment) }
                ?? "\(name): \(attachment.contentType), "
                + (attachment.url ?? attachment.content.length.counted("byte"))
        }
        return expected == actual ? nil : Mismatch(what: "attachments", expected: expected, actual: actual)
    }

    /// Checks that the members of expected blobs describe their attachments.
    private func blobsMismatch(_ report: DecisionReport) -> Mismatch? {
        let wrong = blobs.filter { place in
            guard let attachment = report.decision.attachments[ExactString(place.attachmentName)] else { return false }
            let document = report.decision.mapped.first?.document ?? report.decision.document
            return place.description(in: document.root)?.describes(attachment) != true
        }
        guard !wrong.isEmpty else { return nil }
        return Mismatch(
            what: "blobs", expected: wrong.map { "\($0.pointer): a blob that describes its attachment" },
            actual: wrong.map { "\($0.pointer): another value" })
    }

    /// Unless an error or a skip is expected, a test fails if a rule failed, even if it was skipped.
    private func errorMismatch(_ report: DecisionReport) -> Mismatch? {
        let skips = report.decision.skipped.map(\.description)
        let errors = report.decision.error.map { [$0.description] } ?? skips
        if let error {
            if errors.contains(where: { error.isEmpty || $0.contains(error) }) { return nil }
            return Mismatch(
                what: "error",
                expected: [error.isEmpty ? "a failure" : "a failure whose message contains: \(error)"],
                actual: errors.isEmpty ? ["no failure"] : errors)
        }
        if report.decision.error == nil, errors.isEmpty || expectsSkip { return nil }
        return Mismatch(what: "error", expected: ["no failure"], actual: errors)
    }

    /// Whether the expected effects include a skipped rule. If so, all effects are compared.
    private var expectsSkip: Bool {
        effects?.root.elements.contains { $0["action"]?.string == DecisionReport.skip } ?? false
    }

    private static func mismatch(_ what: String, _ expected: JSONText, _ actual: JSONText) -> Mismatch? {
        guard !expected.root.isEquivalent(to: actual.root) else { return nil }
        return Mismatch(
            what: what, expected: expected.root.indentedLines(), actual: actual.root.indentedLines())
    }
}

extension RuleExpectation.File {
    /// The expectation on one line.
    fileprivate func line(named name: String) -> String {
        Self.line(name, type: contentType, url: url, length: length, sha256: sha256)
    }

    /// The line for an actual attachment, without values that the test does not expect.
    fileprivate func line(named name: String, of attachment: Attachment) -> String {
        Self.line(
            name, type: contentType == nil ? nil : attachment.contentType,
            url: url == nil ? nil : attachment.url, length: length == nil ? nil : attachment.content.length,
            sha256: sha256 == nil ? nil : attachment.content.sha256)
    }

    private static func line(_ name: String, type: String?, url: String?, length: Int?, sha256: String?) -> String {
        let parts = [type, url, length.map { $0.counted("byte") }, sha256.map { "sha256 \($0)" }].compactMap { $0 }
        return parts.isEmpty ? name : "\(name): \(parts.joined(separator: ", "))"
    }
}

extension JSONText {
    /// The text without top-level members of these names. Unchanged if the edit would be ambiguous.
    fileprivate func without(_ names: Set<String>) -> JSONText {
        names.sorted().reduce(self) { text, name in
            text.root[name] == nil ? text : (try? text.removing(JSONPointer(tokens: [name]))) ?? text
        }
    }
}

extension JSONText {
    /// The list without the members that the element at the same place of another list does not name, at any depth.
    /// Elements without such an element stay whole.
    fileprivate func limited(to list: JSONValue) -> JSONText {
        let expected = Array(list.elements)
        var writer = JSONWriter()
        writer.array { writer in
            for (index, element) in root.elements.enumerated() {
                guard index < expected.count else {
                    writer.raw(element.bytes)
                    continue
                }
                element.write(limitedTo: expected[index], to: &writer)
            }
        }
        return (try? JSONText(writer.bytes)) ?? self
    }
}

extension JSONValue {
    /// Writes the members that the other value names.
    fileprivate func write(limitedTo expected: JSONValue, to writer: inout JSONWriter) {
        guard kind == .object, expected.kind == .object else { return writer.raw(bytes) }
        writer.object { writer in
            for member in expected.members {
                guard let name = member.name.string, let value = self[name] else { continue }
                writer.name(name)
                value.write(limitedTo: member.value, to: &writer)
            }
        }
    }

    /// Whether the other value contains each member of this object with the same value, at any depth. Recurses as deep
    /// as a rule file may be nested.
    fileprivate func isSubset(of other: JSONValue) -> Bool {
        guard kind == .object else { return isEquivalent(to: other) }
        return members.allSatisfy { member in
            guard let name = member.name.string, let value = other[name] else { return false }
            return member.value.isSubset(of: value)
        }
    }
}
