internal import LosslessJSON

extension DecisionReport {
    /// Whether the rules would write or delete the document, or have another effect because of it. False if the
    /// decision failed.
    package var touches: Bool {
        guard decision.error == nil else { return false }
        return decision.isChanged || decision.isDeletion || effectsWithoutRules != Array("[]".utf8)
    }

    /// Whether both decisions have the same result, by whatever rules.
    package func hasSameResult(as other: DecisionReport) -> Bool {
        guard decision.error?.reason == other.decision.error?.reason,
            decision.isDeletion == other.decision.isDeletion, attached == other.attached,
            effectsWithoutRules == other.effectsWithoutRules
        else { return false }
        let (document, otherDocument) = (decision.document, other.decision.document)
        guard
            document.bytes == otherDocument.bytes
                || document.root.isEquivalent(to: otherDocument.root, numbersAsWritten: true)
        else {
            return false
        }
        return attached.allSatisfy { name in
            guard let first = decision.attachments[name], let second = other.decision.attachments[name] else {
                return false
            }
            return first.url == second.url && first.contentType == second.contentType
                && (first.url != nil || first.content.sha256 == second.content.sha256)
        }
    }

    /// The effects as JSON, without the names of the rules and without skipped rules.
    private var effectsWithoutRules: [UInt8] {
        var writer = JSONWriter()
        writeEffects(to: &writer, withSkips: false, withRules: false)
        return writer.bytes
    }
}
