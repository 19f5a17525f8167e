/// Something in a rule that is legal but probably wrong.
package struct RuleWarning: Hashable, Sendable, CustomStringConvertible {
    /// The kind of warning, as a rule's `allow` names it.
    package enum Code: String, CaseIterable, Sendable {
        case neverFires = "never-fires"
        case uselessUnless = "useless-unless"
        case missingMember = "missing-member"
        case tombstoneField = "tombstone-field"
        case duplicateRule = "duplicate-rule"
        case firesAgain = "fires-again"
        case neverRests = "never-rests"
        case endsOwnMatch = "ends-at-once"
        case nothingRemembered = "nothing-remembered"
        case changingID = "changing-id"
        case noTimer = "no-timer"
        case fixedTime = "fixed-time"
        case ruleLoop = "rule-loop"
        case undoneEffect = "undone-effect"
        case fieldName = "field-name"
        case unknownType = "unknown-type"
        case whiteSpace = "white-space"
        case quotes = "quotes"
        case duplicateValue = "duplicate-value"
        case mixedTypes = "mixed-types"
        case regex = "regex"
        case largeAttachment = "large-attachment"
        case lostAttachment = "lost-attachment"
        case halfBlob = "half-blob"
        case writesDeleted = "writes-deleted"
        case notAProgram = "not-a-program"
        case notAnOperator = "not-an-operator"
        case program = "program"
        case assignment = "assignment"
        case unknownGroup = "unknown-group"
        case firstLook = "first-look"
        case noIndex = "no-index"
        case noExpiry = "no-expiry"
        case noPartition = "no-partition"
        case noKeyspace = "no-keyspace"
        case emitFile = "emit-file"
        case unusedAllow = "unused-allow"
        case noRules = "no-rules"

        /// Whether the warning is about a rule, which can accept it.
        var isAboutRule: Bool { self != .noRules }

        /// Whether the warning is about the database, which is looked at only on request, or about files of this machine.
        var isAboutPlace: Bool {
            [.firstLook, .noIndex, .noExpiry, .noPartition, .noKeyspace, .emitFile].contains(self)
        }

        /// Whether other rules can cause the warning, so that it depends on which files are checked together.
        var dependsOnOtherRules: Bool {
            [.duplicateRule, .neverFires, .ruleLoop, .undoneEffect, .halfBlob].contains(self)
        }
    }

    /// The path of the rule file, as passed to `rules check`.
    package let path: String
    /// The place in the file that the warning is about.
    package let position: SourcePosition
    /// The rule's name. Nil if the warning is about the file.
    package let rule: String?
    /// The code that the rule's `allow` may list.
    package let code: Code
    /// What is wrong and what to do, on one line.
    package let message: String

    /// Whether a name is probably misspelt or missing, so that the rules do not do what their author intended.
    var isLikelyTypo: Bool { [.fieldName, .notAProgram, .notAnOperator, .noRules].contains(code) }

    /// The warning without its code: `PATH:LINE:COLUMN: rule 'NAME': MESSAGE`.
    package var finding: String {
        let subject = rule.map { "rule '\($0)': " } ?? ""
        return "\(path):\(position.line):\(position.column): \(subject)\(message)"
    }

    /// `PATH:LINE:COLUMN: warning: rule 'NAME': MESSAGE [CODE]`; without the name if the warning is about the file.
    package var description: String {
        let subject = rule.map { "rule '\($0)': " } ?? ""
        return "\(path):\(position.line):\(position.column): warning: \(subject)\(message) [\(code.rawValue)]"
    }
}

/// A code of a rule's `allow` list: its warnings are accepted for this rule.
struct AllowedWarning: Sendable {
    let code: RuleWarning.Code
    let position: SourcePosition
}

extension AllowedWarning {
    private static var codes: [String] { RuleWarning.Code.allCases.filter(\.isAboutRule).map(\.rawValue) }

    /// Reads the codes of an `allow` list. Reports errors if the value is not a list or contains an unknown code.
    static func read(_ object: SourceObject) -> [AllowedWarning] {
        guard let node = object.node("allow") else { return [] }
        guard case .list(let elements) = node.content else {
            object.errors.reportKind(
                of: node, "'allow' must be a list of codes",
                remedy: node.text.flatMap(RuleWarning.Code.init).map { "write allow: [\($0.rawValue)]" }
                    ?? "write allow: [CODE] with codes that `changebot rules check` prints")
            return []
        }
        return elements.compactMap { element in
            guard let text = element.text, let code = RuleWarning.Code(rawValue: text), code.isAboutRule else {
                let text = element.text ?? element.kindName
                object.errors.report(
                    at: element.position,
                    "'\(DisplayText.plain(text))' is not a warning code"
                        + NearestName.advice(NearestName.of(text, among: codes), among: codes, as: "codes"))
                return nil
            }
            return AllowedWarning(code: code, position: element.position)
        }
    }
}

extension Rule {
    /// The warnings that the rule does not accept, and a warning for each unused `allow` code. Codes that depend on
    /// other rules are never reported as unused.
    func unaccepted(_ warnings: [RuleWarning]) -> [RuleWarning] {
        let codes = Set(warnings.map(\.code))
        let unused = definition.allow.filter { allowed in
            !codes.contains(allowed.code) && allowed.code != .unusedAllow && !allowed.code.dependsOnOtherRules
                && !allowed.code.isAboutPlace
        }.map { allowed in
            RuleWarning(
                path: definition.path, position: allowed.position, rule: name, code: .unusedAllow,
                message: "there is no warning '\(allowed.code.rawValue)' to accept; remove it from `allow`")
        }
        let accepted = Set(definition.allow.map(\.code))
        return (warnings + unused).filter { !accepted.contains($0.code) }
    }
}
