package import LosslessJSON

/// Decides about documents, one after the other. One for each task: what it writes to is its own.
package final class Decider {
    /// After so many passes the rules must leave the document alone.
    package static let passLimit = 5

    private let ruleSet: RuleSet
    private let scratch = MatchScratch()
    private var candidates: RuleBits

    init(_ ruleSet: RuleSet) {
        self.ruleSet = ruleSet
        candidates = ruleSet.index.makeBits()
    }

    /// Whether any rule fires for a document as it came. Where it is false, ``decide(on:isDeleted:)`` has nothing to
    /// say; where it is true, the decision may still be to leave the document as it is, or a fault.
    ///
    /// Allocates nothing for documents without escapes in what is compared.
    ///
    /// - Parameters:
    ///   - document: May lie within a larger text.
    ///   - isDeleted: Whether the change is a tombstone.
    package func mayFire(on document: JSONValue, isDeleted: Bool) -> Bool {
        ruleSet.index.find(for: document, isDeleted: isDeleted, into: &candidates)
        var at = 0
        while let rule = candidates.next(from: at) {
            do throws(MatchFault) {
                if try ruleSet.rules[rule].fires(on: document, scratch) { return true }
            } catch {
                return true
            }
            at = rule + 1
        }
        return false
    }

    /// One decision: the list of rules, each on the document as the ones before left it, repeated until a pass changes
    /// nothing.
    ///
    /// A fault is part of the decision, never thrown: nothing that a document contains stops what comes after it.
    package func decide(on document: JSONText, isDeleted: Bool) -> Decision {
        var decision = Decision(document)
        var draft = Draft(document: document)
        var changing: [[Int]] = []
        do throws(Decision.Fault) {
            repeat {
                guard changing.count < Self.passLimit else { throw loop(changing) }
                changing.append(try runPass(&draft, original: document, isDeleted: isDeleted, &decision.fired))
            } while changing.last?.isEmpty == false
        } catch {
            decision.fault = error
            return decision
        }
        decision.document = draft.document
        decision.attachments = draft.attachments
        decision.isChanged = draft.document !== document && draft.document.bytes != document.bytes
        return decision
    }

    /// Tries each rule once. Returns those that changed the document.
    private func runPass(
        _ draft: inout Draft, original: JSONText, isDeleted: Bool, _ fired: inout [Int]
    ) throws(Decision.Fault) -> [Int] {
        var changed: [Int] = []
        ruleSet.index.find(for: draft.document.root, isDeleted: isDeleted, into: &candidates)
        var at = 0
        while let index = candidates.next(from: at) {
            at = index + 1
            let before = draft.document
            guard try run(ruleSet.rules[index], &draft, original: original) else { continue }
            if !fired.contains(index) { fired.append(index) }
            guard draft.document !== before, draft.document.bytes != before.bytes else { continue }
            changed.append(index)
            ruleSet.index.find(for: draft.document.root, isDeleted: isDeleted, into: &candidates)
        }
        return changed
    }

    /// Whether the rule fired.
    private func run(_ rule: Rule, _ draft: inout Draft, original: JSONText) throws(Decision.Fault) -> Bool {
        do throws(MatchFault) {
            guard try rule.fires(on: draft.document.root, scratch) else { return false }
        } catch {
            throw Decision.Fault(rule: rule.name, reason: error.description)
        }
        let isFirstEdit = draft.document === original
        do throws(JSONEditFault) {
            for action in rule.then { try action.apply(to: &draft) }
            // Gateways keep one of two members with the same name. Writing such a document would choose for them.
            if isFirstEdit, draft.document !== original, let name = original.root.duplicateMemberName {
                throw JSONEditFault.duplicateMember(name: name)
            }
        } catch {
            throw Decision.Fault(rule: rule.name, reason: error.description)
        }
        return true
    }

    /// Names the rules that changed the document in the last two passes.
    private func loop(_ changing: [[Int]]) -> Decision.Fault {
        let rules = Set(changing.suffix(2).joined()).sorted()
        let names = rules.map { ruleSet.rules[$0].name }
        return Decision.Fault(rule: nil, reason: "rule loop: " + names.joined(separator: " ↔ "))
    }
}
